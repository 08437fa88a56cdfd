// SPDX-License-Identifier: Apache-2.0
// ray.io RayCluster. Names in comments are from KubeRay's raycluster_controller.go.
#include "ray.h"

#define CONDITIONS "/status/conditions"
#define GROUPS "/spec/workerGroupSpecs"

static wharf_result phase(const wharf_call *call, const wharf_value *cluster, wharf_phase *out) {
    const char *reason = host->string(host->find(cluster, "/status/reason"));
    if (reason && *reason && ray_is(cluster, "/status/state", "failed"))
        out->reason = reason;
    return ray_phase(call, cluster, out);
}

// Where it has one, the worker's autoscaler sets how many workers a group has, and which of them go.
static bool leave_to_autoscaler(const wharf_call *call, const wharf_value *mirror, wharf_value *desired) {
    static const char *const fields[] = {"replicas", "scaleStrategy"};
    bool ok = true;
    size_t count = host->count(host->find(mirror, GROUPS));
    for (size_t i = 0; i < 2 * count && ok; i++) {
        const char *at = host->format(call, GROUPS "/%zu/%s", i / 2, fields[i % 2]);
        const wharf_value *value = host->find(mirror, at);
        if (value || !at)
            ok = host->set(desired, at, value);
        else
            host->remove(desired, at);
    }
    return ok;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    bool ok = true;
    // Only suspend: false resumes a suspended RayCluster, its absence does not (calculateStatus).
    if (host->find(mirror, "/spec/suspend") && !host->find(desired, "/spec/suspend"))
        ok = host->set_boolean(desired, "/spec/suspend", 0);
    if (host->boolean(host->find(mirror, "/spec/enableInTreeAutoscaling"), 0))
        ok = leave_to_autoscaler(call, mirror, desired) && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

static bool write_suspended(const wharf_call *call, wharf_value *status) {
    static const char *const gone[] = {"/readyWorkerReplicas", "/availableWorkerReplicas", "/head/podIP",
                                       "/head/podName", NULL};
    ray_remove(status, gone);
    bool ok = host->set_condition(call, status, "HeadPodReady", "False", "HeadPodNotFound", "Head Pod not found") &&
              host->set_condition(call, status, "RayClusterProvisioned", "False", "RayClusterPodsProvisioning",
                                  "RayCluster has been suspended") &&
              host->set_condition(call, status, "RayClusterSuspending", "False", "RayClusterSuspending", "") &&
              host->set_condition(call, status, "RayClusterSuspended", "True", "RayClusterSuspended", "");
    if (!ray_is(status, "/state", "suspended"))
        ok = host->set_string(status, "/state", "suspended") &&
             host->set_string(status, "/stateTransitionTimes/suspended", call->now) &&
             host->set_string(status, "/lastUpdateTime", call->now) && ok;
    return ok;
}

// Without a mirror: what the operator writes once the pods of a suspended RayCluster are deleted, and when it is
// resumed.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    bool ok = true;
    if (!mirror && ray_is_suspended(workload))
        ok = write_suspended(call, status);
    else if (!mirror && host->condition(workload, "RayClusterSuspended", "True"))
        ok = host->set_condition(call, status, "RayClusterSuspended", "False", "RayClusterSuspended", "");
    return ok ? WHARF_OK : WHARF_RETRY;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = GROUPS "/*/replicas", .key = "groupName"},
    {.pointer = GROUPS "/*/minReplicas", .key = "groupName"},
    {.pointer = GROUPS "/*/maxReplicas", .key = "groupName"},
    {.pointer = GROUPS "/*/suspend", .key = "groupName"},
    {.pointer = GROUPS "/*/scaleStrategy", .key = "groupName"},
    RAY_GROUPS("/spec"),
    {.pointer = NULL},
};

const wharf_kind raycluster = {
    .size = sizeof raycluster,
    RAY_KIND,
    .kind = "RayCluster",
    .plural = "rayclusters",
    .flags = WHARF_KIND_NEVER_FINISHES,
    .carried = carried,
    .pods = (const wharf_pods[]){RAY_PODS("/spec"), {NULL, {NULL}}},
    .observed_generation = "/status/observedGeneration",
    .phases = (const wharf_phase_rule[]){{CONDITIONS, "RayClusterSuspended", NULL, WHARF_SUSPENDED},
                                         {CONDITIONS, "RayClusterSuspending", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "ReplicaFailure", NULL, WHARF_ACTIVE},
                                         {"/status/state", "ready", NULL, WHARF_ACTIVE},
                                         {"/status/state", "failed", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "RayClusterProvisioned", "False", WHARF_ACTIVE},
                                         {"/status/state", "suspended", NULL, WHARF_SUSPENDED},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .phase = phase,
    .update = update,
    .status = status,
};
