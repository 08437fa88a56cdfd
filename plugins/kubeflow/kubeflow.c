// SPDX-License-Identifier: Apache-2.0
// The kinds of the Kubeflow Training Operator: PyTorchJob, TFJob, XGBoostJob, JAXJob and PaddleJob. They share a
// RunPolicy and a JobStatus, and differ in what their replicas are called.
#include <wharf/adapter.h>

static const wharf_host *host;

// Writes one of the operator's conditions, which have a lastUpdateTime too.
static int say(const wharf_call *call, const wharf_value *workload, wharf_value *status, const char *type,
               const char *value, const char *what, const char *sentence) {
    const char *kind = call->kind->kind, *name = host->string(host->find(workload, "/metadata/name"));
    const char *message = host->format(call, "%s %s is %s.", kind, name ? name : "", sentence);
    int ok = host->set_condition(call, status, type, value, host->format(call, "%s%s", kind, what), message);
    const wharf_value *said = host->find_where(status, "/conditions", "type", type);
    const char *time = host->string(host->find(said, "/lastTransitionTime"));
    for (size_t i = 0; ok && time; i++) {
        const char *at = host->format(call, "/conditions/%zu", i);
        if (host->find(status, at) == said)
            return host->set_string(status, host->format(call, "%s/lastUpdateTime", at), time);
    }
    return ok;
}

// Without a mirror nobody else says that a job is suspended, or not any more, as the operator does.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    if (mirror || host->condition(workload, "Succeeded", "True") || host->condition(workload, "Failed", "True"))
        return WHARF_OK;
    int ok = 1;
    if (!host->boolean(host->find(workload, call->kind->suspend), 0)) {
        if (host->condition(workload, "Suspended", "True"))
            ok = say(call, workload, status, "Suspended", "False", "Resumed", "resumed");
        return ok ? WHARF_OK : WHARF_RETRY;
    }
    ok = host->count(host->find(status, "/conditions")) > 0 ||
         say(call, workload, status, "Created", "True", "Created", "created");
    if (host->condition(workload, "Running", "True"))
        ok = say(call, workload, status, "Running", "False", "Suspended", "suspended") && ok;
    ok = say(call, workload, status, "Suspended", "True", "Suspended", "suspended") && ok;
    for (const wharf_value *r = host->first(host->find(status, "/replicaStatuses")); r; r = host->next(r))
        host->remove(status, host->format(call, "/replicaStatuses/%s/active", host->name(r)));
    return ok ? WHARF_OK : WHARF_RETRY;
}

// From metrics the operator makes a HorizontalPodAutoscaler that scales the mirror's workers: not fought.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)call;
    (void)workload;
    static const char workers[] = "/spec/pytorchReplicaSpecs/Worker/replicas";
    const wharf_value *replicas = host->find(mirror, workers);
    if (!replicas || !host->find(desired, "/spec/elasticPolicy/metrics"))
        return WHARF_OK;
    return host->set(desired, workers, replicas) ? WHARF_OK : WHARF_RETRY;
}

// Nothing in the API forbids other changes, but they would not reach what runs. Pods are made anew after a suspension.
#define SUSPENDED(field)                                                                                               \
    { .pointer = (field), .when = WHARF_CARRY_WHILE_SUSPENDED }
#define CARRIED(replicas)                                                                                              \
    (const wharf_carried[]) {                                                                                          \
        {.pointer = "/spec/runPolicy/suspend"}, {.pointer = "/spec/runPolicy/activeDeadlineSeconds"},                  \
            {.pointer = "/spec/runPolicy/backoffLimit"}, {.pointer = "/spec/runPolicy/cleanPodPolicy"},                \
            {.pointer = "/spec/elasticPolicy"}, {.pointer = replicas "/*/replicas"},                                   \
            SUSPENDED(replicas "/*/template/metadata/labels"), SUSPENDED(replicas "/*/template/metadata/annotations"), \
            SUSPENDED(replicas "/*/template/spec/nodeSelector"), SUSPENDED(replicas "/*/template/spec/tolerations"),   \
            SUSPENDED(replicas "/*/template/spec/schedulingGates"), {.pointer = NULL},                                 \
    }

#define CONDITIONS "/status/conditions"

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Succeeded", NULL, WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", NULL, WHARF_FAILED},
    {CONDITIONS, "Suspended", NULL, WHARF_SUSPENDED},
    {CONDITIONS, "Restarting", NULL, WHARF_ACTIVE},
    {CONDITIONS, "Running", NULL, WHARF_ACTIVE},
    {CONDITIONS, "Created", NULL, WHARF_PENDING},
    {NULL, NULL, NULL, WHARF_PENDING},
};

#define KIND(kind_name, plural_name, replicas, update_function)                                                        \
    &(const wharf_kind) {                                                                                              \
        .size = sizeof(wharf_kind), .group = "kubeflow.org", .versions = (const char *const[]){"v1", NULL},            \
        .kind = (kind_name), .plural = (plural_name), .managed_by = "/spec/runPolicy/managedBy",                       \
        .managed_by_builtin = "kubeflow.org/training-operator",                                                        \
        .managed_by_allowed = (const char *const[]){"kueue.x-k8s.io/multikueue", NULL},                                \
        .suspend = "/spec/runPolicy/suspend", .carried = CARRIED(replicas),                                            \
        .removed = (const char *const[]){"/spec/runPolicy/ttlSecondsAfterFinished", NULL},                             \
        .pods = (const wharf_pods[]){{replicas "/*/template", {replicas "/*/replicas"}}, {NULL, {NULL}}},              \
        .status_removed = (const char *const[]){"/status/replicaStatuses/*/selector",                                  \
                                                "/status/replicaStatuses/*/labelSelector", NULL},                      \
        .phases = phases, .finished_at = "/status/completionTime", .update = (update_function), .status = status,      \
    }

WHARF_MODULE(host, "kubeflow", "0.1.0", KIND("PyTorchJob", "pytorchjobs", "/spec/pytorchReplicaSpecs", update),
             KIND("TFJob", "tfjobs", "/spec/tfReplicaSpecs", NULL),
             KIND("XGBoostJob", "xgboostjobs", "/spec/xgbReplicaSpecs", NULL),
             KIND("JAXJob", "jaxjobs", "/spec/jaxReplicaSpecs", NULL),
             KIND("PaddleJob", "paddlejobs", "/spec/paddleReplicaSpecs", NULL))
