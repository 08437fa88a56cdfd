// SPDX-License-Identifier: Apache-2.0
// The kinds of the Kubeflow Training Operator: PyTorchJob, TFJob, XGBoostJob, JAXJob and PaddleJob. They share a
// RunPolicy and a JobStatus, and differ in what their replicas are called.
#include <wharf/adapter.h>

static const wharf_host *host;

#define CONDITIONS "/status/conditions"

// From metrics the operator creates a HorizontalPodAutoscaler that scales the mirror's workers: it keeps them.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    static const char workers[] = "/spec/pytorchReplicaSpecs/Worker/replicas";
    if (host->find(mirror, workers) && host->find(desired, "/spec/elasticPolicy/metrics"))
        host->take(call, desired, mirror, workers);
    return WHARF_OK;
}

static const wharf_status_change suspended[] = {
    {WHARF_SET_CONDITION, WHARF_IF_ABSENT, "Created", "True", "{kind}Created", "{kind} {name} is created."},
    {WHARF_SET_CONDITION, WHARF_IF_TRUE, "Running", "False", "{kind}Suspended", "{kind} {name} is suspended."},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "True", "{kind}Suspended", "{kind} {name} is suspended."},
    {WHARF_REMOVE, .name = "/status/replicaStatuses/*/active"},
    {.name = NULL},
};

static const wharf_status_change resumed[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "False", "{kind}Resumed", "{kind} {name} is resumed."},
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Succeeded", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {CONDITIONS, "Restarting", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Running", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Created", .phase = WHARF_PENDING},
    {.pointer = NULL},
};

#define RUN_POLICY "/spec/runPolicy"
#define STRINGS(...)                                                                                                   \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

// The API forbids no other changes, but they would not reach running pods. A resumed job gets new ones.
#define CARRIED(replicas)                                                                                              \
    (const wharf_carried[]) {                                                                                          \
        {.pointer = RUN_POLICY "/suspend"}, {.pointer = RUN_POLICY "/activeDeadlineSeconds"},                          \
            {.pointer = RUN_POLICY "/backoffLimit"}, {.pointer = RUN_POLICY "/cleanPodPolicy"},                        \
            {.pointer = "/spec/elasticPolicy"}, {.pointer = replicas "/replicas"},                                     \
            WHARF_CARRIED_POD_TEMPLATE(replicas "/template", NULL), {.pointer = NULL},                                 \
    }

#define KIND(kind_name, plural_name, replicas, ...)                                                                    \
    &(const wharf_kind) {                                                                                              \
        WHARF_KIND_SIZES,                                                                                              \
            .group = "kubeflow.org", .versions = STRINGS("v1"), .kind = (kind_name), .plural = (plural_name),          \
            .managed_by = RUN_POLICY "/managedBy", .managed_by_builtin = "kubeflow.org/training-operator",             \
            .managed_by_allowed = STRINGS("kueue.x-k8s.io/multikueue"), .suspend = RUN_POLICY "/suspend",              \
            .carried = CARRIED(replicas), .removed = STRINGS(RUN_POLICY "/ttlSecondsAfterFinished"),                   \
            .pods = (const wharf_pods[]){{replicas "/template", STRINGS(replicas "/replicas")}, {.templates = NULL}},  \
            .status_removed =                                                                                          \
                STRINGS("/status/replicaStatuses/*/selector", "/status/replicaStatuses/*/labelSelector"),              \
            .condition_time = "lastUpdateTime", .suspended_status = suspended, .resumed_status = resumed,              \
            .phases = phases, .finished_at = "/status/completionTime", __VA_ARGS__                                     \
    }

WHARF_MODULE(.name = "kubeflow", .version = "0.1.0", .host = &host,
             .kinds = WHARF_KINDS(KIND("PyTorchJob", "pytorchjobs", "/spec/pytorchReplicaSpecs/*", .update = update),
                                  KIND("TFJob", "tfjobs", "/spec/tfReplicaSpecs/*"),
                                  KIND("XGBoostJob", "xgboostjobs", "/spec/xgbReplicaSpecs/*"),
                                  KIND("JAXJob", "jaxjobs", "/spec/jaxReplicaSpecs/*"),
                                  KIND("PaddleJob", "paddlejobs", "/spec/paddleReplicaSpecs/*")));
