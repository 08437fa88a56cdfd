// SPDX-License-Identifier: Apache-2.0
// ray.io RayService. What a suspended one reports is in KubeRay's rayservice_controller.go (handleSuspend).
#include "ray.h"

#define CONDITIONS "/status/conditions"

static bool write_suspended(const wharf_call *call, wharf_value *status) {
    static const char *const reset[] = {"/activeServiceStatus", "/pendingServiceStatus", "/numServeEndpoints",
                                        "/serviceStatus", NULL};
    static const struct {
        const char *type, *status, *message;
    } conditions[] = {
        {"Suspending", "False", "All owned resources have been deleted."},
        {"Ready", "False", "RayService is suspended."},
        {"UpgradeInProgress", "False", "No upgrade in progress."},
        {"RollbackInProgress", "False", "No rollback in progress."},
        {"Suspended", "True", "All owned resources have been deleted."},
    };
    ray_remove(status, reset);
    bool ok = true;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions && ok; i++)
        ok = host->set_condition(call, status, conditions[i].type, conditions[i].status, "SuspendComplete",
                                 conditions[i].message);
    return ok;
}

// Without a mirror: what the operator writes once all of a suspended RayService is deleted, and when it is resumed.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    bool ok = true;
    if (!mirror && ray_is_suspended(workload))
        ok = write_suspended(call, status);
    else if (!mirror && host->condition(workload, "Suspended", "True"))
        ok = host->set_condition(call, status, "Suspended", "False", "RayServiceResumed",
                                 "Spec.Suspend is false; RayService has resumed.") &&
             host->set_condition(call, status, "Ready", "False", "Initializing",
                                 "RayService is initializing after resuming from suspend.");
    return ok ? WHARF_OK : WHARF_RETRY;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/serveConfigV2"},
    {.pointer = "/spec/rayClusterConfig"},
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/upgradeStrategy"},
    {.pointer = "/spec/rayClusterDeletionDelaySeconds"},
    {.pointer = "/spec/excludeHeadPodFromServeSvc"},
    {.pointer = NULL},
};

const wharf_kind rayservice = {
    .size = sizeof rayservice,
    RAY_KIND,
    .kind = "RayService",
    .plural = "rayservices",
    .flags = WHARF_KIND_NEVER_FINISHES,
    .carried = carried,
    .removed = (const char *const[]){"/spec/rayClusterConfig/managedBy", NULL},
    .pods = (const wharf_pods[]){RAY_PODS("/spec/rayClusterConfig"), {NULL, {NULL}}},
    .status_removed = (const char *const[]){CONDITIONS "/*/observedGeneration", NULL}, // of the mirror
    .observed_generation = "/status/observedGeneration",
    .phases = (const wharf_phase_rule[]){{CONDITIONS, "Suspended", NULL, WHARF_SUSPENDED},
                                         {CONDITIONS, "Suspending", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "Ready", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "Ready", "False", WHARF_ACTIVE},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .phase = ray_phase,
    .status = status,
};
