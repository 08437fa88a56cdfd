// SPDX-License-Identifier: Apache-2.0
// ray.io RayCluster. Names in comments are from KubeRay's raycluster_controller.go.
#include "ray.h"

#define CONDITIONS "/status/conditions"
#define STATE "/status/state"
#define GROUPS "/spec/workerGroupSpecs/*"

static wharf_result phase(const wharf_call *call, const wharf_value *cluster, wharf_phase *out) {
    (void)call;
    const char *reason = host->string(host->find(cluster, "/status/reason"));
    if (reason && *reason && host->is(cluster, STATE, "failed"))
        out->reason = reason;
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    // Only suspend: false resumes a suspended RayCluster, an absent field does not (calculateStatus).
    if (host->find(mirror, "/spec/suspend") && !host->find(desired, "/spec/suspend"))
        host->set_boolean(call, desired, "/spec/suspend", 0);
    ray_leave_empty(call, mirror, desired);
    // The worker's autoscaler, if any, sets the size of a group and selects the workers to delete.
    if (host->is(mirror, "/spec/enableInTreeAutoscaling", "true")) {
        host->take(call, desired, mirror, GROUPS "/replicas");
        host->take(call, desired, mirror, GROUPS "/scaleStrategy");
    }
    return WHARF_OK;
}

// GetWorkerGroupDesiredReplicas
static int64_t workers(const wharf_value *group) {
    int64_t least = host->integer(host->find(group, "/minReplicas"), 0);
    int64_t most = host->integer(host->find(group, "/maxReplicas"), INT32_MAX);
    int64_t replicas = host->integer(host->find(group, "/replicas"), least);
    int64_t hosts = host->integer(host->find(group, "/numOfHosts"), 1);
    replicas = replicas < least ? least : replicas > most ? most : replicas;
    if (host->is(group, "/suspend", "true") || replicas < 0 || hosts < 0)
        return 0;
    return (replicas < INT32_MAX ? replicas : INT32_MAX) * (hosts < INT32_MAX ? hosts : INT32_MAX);
}

size_t ray_count_workers(const wharf_call *call, const wharf_value *spec, wharf_value *sets) {
    size_t at = host->type(host->find(spec, "/headGroupSpec/template")) == WHARF_OBJECT ? 1 : 0;
    for (const wharf_value *g = host->first(host->find(spec, "/workerGroupSpecs")); g; g = host->next(g))
        if (host->type(host->find(g, "/template")) == WHARF_OBJECT)
            host->set_integer(call, sets, host->format(call, "/%zu/count", at++), workers(g));
    return at;
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    ray_count_workers(call, host->find(workload, "/spec"), sets);
    return WHARF_OK;
}

// The times of a change by suspended_status.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    if (mirror || host->is(workload, STATE, "suspended") || !host->is(workload, "/spec/suspend", "true"))
        return WHARF_OK;
    host->set_string(call, object, "/status/stateTransitionTimes/suspended", call->now);
    host->set_string(call, object, "/status/lastUpdateTime", call->now);
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = GROUPS "/replicas", .key = "groupName"},
    {.pointer = GROUPS "/minReplicas", .key = "groupName"},
    {.pointer = GROUPS "/maxReplicas", .key = "groupName"},
    {.pointer = GROUPS "/suspend", .key = "groupName"},
    {.pointer = GROUPS "/scaleStrategy", .key = "groupName"},
    RAY_CARRIED_PODS("/spec"),
    {.pointer = NULL},
};

// The operator's changes after the deletion of all pods.
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_REMOVE("/status/readyWorkerReplicas"),
    WHARF_CHANGE_REMOVE("/status/availableWorkerReplicas"),
    WHARF_CHANGE_REMOVE("/status/head/podIP"),
    WHARF_CHANGE_REMOVE("/status/head/podName"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "HeadPodReady", "False", "HeadPodNotFound", "Head Pod not found"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "RayClusterProvisioned", "False", "RayClusterPodsProvisioning",
                           "RayCluster has been suspended"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "RayClusterSuspending", "False", "RayClusterSuspending", ""),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "RayClusterSuspended", "True", "RayClusterSuspended", ""),
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, STATE, "suspended"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    RAY_SUSPENDED(CONDITIONS, "RayClusterSuspended"),
    {CONDITIONS, "RayClusterSuspending", .phase = WHARF_ACTIVE},
    {CONDITIONS, "ReplicaFailure", .phase = WHARF_ACTIVE},
    {STATE, "ready", .phase = WHARF_ACTIVE},
    {STATE, "failed", .phase = WHARF_ACTIVE},
    {CONDITIONS, "RayClusterProvisioned", "False", .phase = WHARF_ACTIVE},
    RAY_SUSPENDED(STATE, "suspended"),
    {.pointer = NULL},
};

const wharf_kind raycluster = {
    WHARF_KIND_SIZES,
    RAY_KIND,
    .kind = "RayCluster",
    .plural = "rayclusters",
    .flags = WHARF_KIND_NEVER_FINISHES,
    .carried = carried,
    .pods = (const wharf_pods[]){RAY_PODS("/spec"), {.templates = NULL}},
    .observed_generation = "/status/observedGeneration",
    .suspended_status = suspended,
    .resumed_status = (const wharf_status_change[]){WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "RayClusterSuspended",
                                                                           "False", "RayClusterSuspended", ""),
                                                    {.name = NULL}},
    .phases = phases,
    .phase = phase,
    .update = update,
    .status = status,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(RAY_REFERENCES("/spec")),
};
