// SPDX-License-Identifier: Apache-2.0
// The kinds of the Kubeflow Training Operator: PyTorchJob, TFJob, XGBoostJob, JAXJob and PaddleJob. All share a
// RunPolicy and a JobStatus, and differ in the names of the replicas.
#define ADAPTER "kubeflow"
#include "run_policy.h"

// spec.elasticPolicy.metrics makes the operator create a HorizontalPodAutoscaler that scales the mirror's workers: an
// update keeps the autoscaler's number.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    static const char workers[] = "/spec/pytorchReplicaSpecs/Worker/replicas";
    if (host->find(mirror, workers) && host->find(desired, "/spec/elasticPolicy/metrics"))
        host->take(call, desired, mirror, workers);
    return carry_deadline(call, workload, desired);
}

static const wharf_status_change suspended[] = {
    WHARF_CHANGE_CONDITION(WHARF_IF_ABSENT, "Created", "True", "{kind}Created", "{kind} {name} is created."),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "Running", "False", "{kind}Suspended", "{kind} {name} is suspended."),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "True", "{kind}Suspended", "{kind} {name} is suspended."),
    WHARF_CHANGE_REMOVE("/status/replicaStatuses/*/active"),
    {.name = NULL},
};

static const wharf_status_change resumed[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "False", "{kind}Resumed", "{kind} {name} is resumed."),
    {.name = NULL},
};

#define KIND(kind_name, plural_name, replicas)                                                                         \
    &(const wharf_kind) {                                                                                              \
        WHARF_KIND_SIZES, RUN_POLICY_KIND(replicas),                                                                   \
            .versions = STRINGS("v1"), .kind = (kind_name), .plural = (plural_name),                                   \
            .managed_by_builtin = "kubeflow.org/training-operator",                                                    \
            .carried =                                                                                                 \
                (const wharf_carried[]){CARRIED(replicas), {.pointer = "/spec/elasticPolicy"}, {.pointer = NULL}},     \
            .suspended_status = suspended, .resumed_status = resumed,                                                  \
    }

WHARF_MODULE(.name = "kubeflow", .version = "0.1.0", .host = &host,
             .kinds = WHARF_KINDS(KIND("PyTorchJob", "pytorchjobs", "/spec/pytorchReplicaSpecs/*"),
                                  KIND("TFJob", "tfjobs", "/spec/tfReplicaSpecs/*"),
                                  KIND("XGBoostJob", "xgboostjobs", "/spec/xgbReplicaSpecs/*"),
                                  KIND("JAXJob", "jaxjobs", "/spec/jaxReplicaSpecs/*"),
                                  KIND("PaddleJob", "paddlejobs", "/spec/paddleReplicaSpecs/*")));
