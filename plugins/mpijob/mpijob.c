// SPDX-License-Identifier: Apache-2.0
// kubeflow.org MPIJob: v2beta1 of the MPI Operator, and v1 of the Training Operator, which has the same fields here.
#include <wharf/adapter.h>

#include <string.h>

static const wharf_host *host;

#define REPLICAS "/spec/mpiReplicaSpecs"
#define CONDITIONS "/status/conditions"

// In v2beta1 a job of which workers are evicted is called Failed while its launcher goes on, and may still succeed. It
// has failed once there is a completionTime.
static int has_failed(const wharf_call *call, const wharf_value *job) {
    return host->condition(job, "Failed", "True") &&
           (strcmp(call->version, "v2beta1") != 0 || host->find(job, "/status/completionTime"));
}

static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    if (out->phase == WHARF_FAILED && !has_failed(call, job))
        out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

// Writes one of the operator's conditions, which have a lastUpdateTime too.
static int say(const wharf_call *call, wharf_value *status, const char *type, const char *value, const char *reason,
               const char *message) {
    int ok = host->set_condition(call, status, type, value, reason, message);
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
    if (mirror || host->condition(workload, "Succeeded", "True") || has_failed(call, workload))
        return WHARF_OK;
    int ok = 1;
    if (!host->boolean(host->find(workload, call->kind->suspend), 0)) {
        if (host->condition(workload, "Suspended", "True"))
            ok = say(call, status, "Suspended", "False", "MPIJobResumed", "MPIJob resumed");
        return ok ? WHARF_OK : WHARF_RETRY;
    }
    const char *name = host->string(host->find(workload, "/metadata/name"));
    const char *space = host->string(host->find(workload, "/metadata/namespace"));
    const char *job = host->format(call, "MPIJob %s/%s", space ? space : "", name ? name : "");
    ok = host->count(host->find(status, "/conditions")) > 0 ||
         say(call, status, "Created", "True", "MPIJobCreated", host->format(call, "%s is created.", job));
    ok = say(call, status, "Suspended", "True", "MPIJobSuspended", "MPIJob suspended") &&
         say(call, status, "Running", "False", "MPIJobSuspended", host->format(call, "%s is suspended.", job)) && ok;
    for (const wharf_value *r = host->first(host->find(status, "/replicaStatuses")); r; r = host->next(r))
        host->remove(status, host->format(call, "/replicaStatuses/%s/active", host->name(r)));
    return ok ? WHARF_OK : WHARF_RETRY;
}

#define TEMPLATE REPLICAS "/*/template"

static const wharf_carried carried[] = {
    {.pointer = "/spec/runPolicy/suspend"},
    {.pointer = "/spec/runPolicy/activeDeadlineSeconds"},
    {.pointer = "/spec/runPolicy/backoffLimit"},
    {.pointer = "/spec/runPolicy/cleanPodPolicy"},
    {.pointer = REPLICAS "/*/replicas"},
    {.pointer = TEMPLATE "/metadata/labels", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = TEMPLATE "/metadata/annotations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = TEMPLATE "/spec/nodeSelector", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = TEMPLATE "/spec/tolerations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = TEMPLATE "/spec/schedulingGates", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = NULL},
};

static const wharf_kind kind = {
    .size = sizeof kind,
    .group = "kubeflow.org",
    .versions = (const char *const[]){"v2beta1", "v1", NULL},
    .kind = "MPIJob",
    .plural = "mpijobs",
    .managed_by = "/spec/runPolicy/managedBy",
    .managed_by_builtin = "kubeflow.org/mpi-operator",
    .managed_by_allowed = (const char *const[]){"kueue.x-k8s.io/multikueue", NULL},
    .suspend = "/spec/runPolicy/suspend",
    .carried = carried,
    .removed = (const char *const[]){"/spec/runPolicy/ttlSecondsAfterFinished", NULL},
    .pods = (const wharf_pods[]){{TEMPLATE, {REPLICAS "/*/replicas"}}, {NULL, {NULL}}},
    .status_removed =
        (const char *const[]){"/status/replicaStatuses/*/selector", "/status/replicaStatuses/*/labelSelector", NULL},
    .phases = (const wharf_phase_rule[]){{CONDITIONS, "Succeeded", NULL, WHARF_SUCCEEDED},
                                         {CONDITIONS, "Failed", NULL, WHARF_FAILED},
                                         {CONDITIONS, "Suspended", NULL, WHARF_SUSPENDED},
                                         {CONDITIONS, "Restarting", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "Running", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "Created", NULL, WHARF_PENDING},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .finished_at = "/status/completionTime",
    .phase = phase,
    .status = status,
};

WHARF_MODULE(host, "mpijob", "0.1.0", &kind)
