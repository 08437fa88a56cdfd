// SPDX-License-Identifier: Apache-2.0
// ray.io RayService. The status of a suspended RayService is in KubeRay's rayservice_controller.go (handleSuspend).
#include "ray.h"

#define CONDITIONS "/status/conditions"

static const wharf_carried carried[] = {
    {.pointer = "/spec/serveConfigV2"},
    {.pointer = "/spec/rayClusterConfig"},
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/upgradeStrategy"},
    {.pointer = "/spec/rayClusterDeletionDelaySeconds"},
    {.pointer = "/spec/excludeHeadPodFromServeSvc"},
    {.pointer = NULL},
};

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    ray_count_workers(call, host->find(workload, "/spec/rayClusterConfig"), sets);
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    ray_leave_omitted(call, mirror, desired, "/spec/suspend");
    ray_leave_omitted(call, mirror, desired, "/spec/excludeHeadPodFromServeSvc");
    return WHARF_OK;
}

#define CONDITION(type, value, message) WHARF_SET_CONDITION, WHARF_ALWAYS, type, value, "SuspendComplete", message
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_REMOVE("/status/activeServiceStatus"),
    WHARF_CHANGE_REMOVE("/status/pendingServiceStatus"),
    WHARF_CHANGE_REMOVE("/status/numServeEndpoints"),
    WHARF_CHANGE_REMOVE("/status/serviceStatus"),
    {CONDITION("Suspending", "False", "All owned resources have been deleted.")},
    {CONDITION("Ready", "False", "RayService is suspended.")},
    {CONDITION("UpgradeInProgress", "False", "No upgrade in progress.")},
    {CONDITION("RollbackInProgress", "False", "No rollback in progress.")},
    {CONDITION("Suspended", "True", "All owned resources have been deleted.")},
    {.name = NULL},
};

static const wharf_status_change resumed[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "False", "RayServiceResumed",
                           "Spec.Suspend is false; RayService has resumed."),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Ready", "False", "Initializing",
                           "RayService is initializing after resuming from suspend."),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    RAY_SUSPENDED(CONDITIONS, "Suspended"),
    {CONDITIONS, "Suspending", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Ready", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Ready", "False", .phase = WHARF_ACTIVE},
    {.pointer = NULL},
};

const wharf_kind rayservice = {
    WHARF_KIND_SIZES,
    RAY_KIND,
    .kind = "RayService",
    .plural = "rayservices",
    .flags = WHARF_KIND_NEVER_FINISHES,
    .carried = carried,
    .removed = (const char *const[]){"/spec/rayClusterConfig/managedBy", NULL},
    .pods = (const wharf_pods[]){RAY_PODS("/spec/rayClusterConfig"), {.templates = NULL}},
    .status_removed = (const char *const[]){CONDITIONS "/*/observedGeneration", NULL}, // of the mirror
    .observed_generation = "/status/observedGeneration",
    .suspended_status = suspended,
    .resumed_status = resumed,
    .phases = phases,
    .update = update,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(RAY_REFERENCES("/spec/rayClusterConfig")),
};
