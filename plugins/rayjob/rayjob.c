// SPDX-License-Identifier: Apache-2.0
// ray.io RayJob. Names in comments are from KubeRay's rayjob_controller.go and validation.go.
//
// An operator that runs with DELETE_RAYJOB_CR_AFTER_JOB_FINISHES=true deletes a RayJob that has
// shutdownAfterJobFinishes. No field of the object prevents that: suspending needs shutdownAfterJobFinishes
// (ValidateRayJobSpec). A worker's operator should run without it.
#include "ray.h"

#define RULES "/spec/deletionStrategy/deletionRules"

static bool is_finished(const wharf_value *job) {
    return ray_is(job, "/status/jobDeploymentStatus", "Complete") ||
           ray_is(job, "/status/jobDeploymentStatus", "Failed") ||
           ray_is(job, "/status/jobDeploymentStatus", "ValidationFailed");
}

static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    const char *outcome = host->string(host->find(job, "/status/jobStatus"));
    const char *reason = host->string(host->find(job, "/status/reason"));
    out->message = host->string(host->find(job, "/status/message"));
    // A Ray job that was stopped is Complete, too.
    if (out->phase == WHARF_SUCCEEDED && !ray_is(job, "/status/jobStatus", "SUCCEEDED")) {
        out->phase = WHARF_FAILED;
        out->reason = outcome ? outcome : out->reason;
    }
    if (out->phase != WHARF_SUCCEEDED && reason)
        out->reason = reason;
    if (out->phase == WHARF_ACTIVE && !host->find(job, "/status/jobDeploymentStatus"))
        out->phase = WHARF_PENDING; // JobDeploymentStatusNew
    return ray_phase(call, job, out);
}

// Two rules of one condition may not have the same policy (validateDeletionRules).
static bool deletes_cluster(const wharf_value *job, const wharf_value *condition) {
    for (const wharf_value *rule = host->first(host->find(job, RULES)); rule; rule = host->next(rule))
        if (ray_is(rule, "/policy", "DeleteCluster") &&
            host->equal(host->find(rule, "/condition/jobStatus"), host->find(condition, "/jobStatus")) &&
            host->equal(host->find(rule, "/condition/jobDeploymentStatus"),
                        host->find(condition, "/jobDeploymentStatus")))
            return true;
    return false;
}

// DeleteSelf of a mirror would take the result away, or make it run twice. Its RayCluster goes at that time all the
// same: DeleteCluster is the nearest policy, and the CRD's rules hold as before (both of onSuccess and onFailure,
// or at least one rule).
static bool keep_self(const wharf_call *call, wharf_value *job) {
    static const char *const legacy[] = {"/spec/deletionStrategy/onSuccess/policy",
                                         "/spec/deletionStrategy/onFailure/policy"};
    bool ok = true;
    for (size_t i = 0; i < sizeof legacy / sizeof *legacy; i++)
        if (ray_is(job, legacy[i], "DeleteSelf"))
            ok = host->set_string(job, legacy[i], "DeleteCluster") && ok;
    for (size_t i = host->count(host->find(job, RULES)); i > 0; i--) {
        const char *at = host->format(call, RULES "/%zu", i - 1), *policy = host->format(call, "%s/policy", at);
        if (!at || !policy)
            return false;
        if (!ray_is(job, policy, "DeleteSelf"))
            continue;
        if (deletes_cluster(job, host->find(host->find(job, at), "/condition")))
            ok = host->remove(job, at) && ok;
        else
            ok = host->set_string(job, policy, "DeleteCluster") && ok;
    }
    return ok;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    if (host->count(host->find(workload, "/spec/clusterSelector")) > 0) {
        call->answer->reason = "ClusterSelector";
        call->answer->message =
            "spec.clusterSelector names a RayCluster that exists: only a RayJob that brings its own "
            "(spec.rayClusterSpec) can run in another cluster";
        return WHARF_REFUSED;
    }
    return keep_self(call, mirror) ? WHARF_OK : WHARF_RETRY;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    (void)mirror;
    return keep_self(call, desired) ? WHARF_OK : WHARF_RETRY;
}

// Without a mirror: what the operator writes once all of a suspended RayJob is deleted, and when it is resumed.
static bool write_suspended(const wharf_value *workload, wharf_value *status) {
    static const char *const reset[] = {
        "/jobStatus", "/jobId",      "/rayClusterName",   "/dashboardURL", "/message",
        "/reason",    "/rayJobInfo", "/rayClusterStatus", "/endTime",      "/jobStatusCheckFailureStartTime",
        NULL};
    if (ray_is_suspended(workload)) {
        ray_remove(status, reset);
        return host->set_string(status, "/jobDeploymentStatus", "Suspended");
    }
    if (ray_is(status, "/jobDeploymentStatus", "Suspended"))
        host->remove(status, "/jobDeploymentStatus");
    return true;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    (void)call;
    static const char *const counts[] = {"/failed", "/succeeded"};
    bool ok = mirror || is_finished(workload) || write_suspended(workload, status);
    // The CRD has a default for these: a server adds them to every status.
    bool is_written = host->count(status) > 0 || host->find(workload, "/status");
    for (size_t i = 0; i < sizeof counts / sizeof *counts && is_written; i++)
        if (!host->find(status, counts[i]))
            ok = host->set_integer(status, counts[i], 0) && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

// What the operator looks at after the start. A new rayClusterSpec it disregards (getOrCreateRayClusterInstance), but
// after a suspension, when its RayCluster is made anew.
static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/jobId"}, // InteractiveMode waits for it
    {.pointer = "/spec/activeDeadlineSeconds"},
    {.pointer = "/spec/backoffLimit"},
    {.pointer = "/spec/shutdownAfterJobFinishes"},
    {.pointer = "/spec/ttlSecondsAfterFinished"}, // of the RayCluster
    {.pointer = "/spec/deletionStrategy"},
    RAY_GROUPS("/spec/rayClusterSpec"),
    RAY_POD("/spec/submitterPodTemplate", NULL),
    {.pointer = NULL},
};

#define DEPLOYMENT "/status/jobDeploymentStatus"

const wharf_kind rayjob = {
    .size = sizeof rayjob,
    RAY_KIND,
    .kind = "RayJob",
    .plural = "rayjobs",
    .flags = WHARF_KIND_MAY_REFUSE,
    .carried = carried,
    .removed = (const char *const[]){"/spec/rayClusterSpec/managedBy", NULL},
    .pods =
        (const wharf_pods[]){RAY_PODS("/spec/rayClusterSpec"), {"/spec/submitterPodTemplate", {NULL}}, {NULL, {NULL}}},
    .observed_generation = "/status/observedGeneration",
    .phases = (const wharf_phase_rule[]){{DEPLOYMENT, "Complete", NULL, WHARF_SUCCEEDED},
                                         {DEPLOYMENT, "Failed", NULL, WHARF_FAILED},
                                         {DEPLOYMENT, "ValidationFailed", NULL, WHARF_FAILED},
                                         {DEPLOYMENT, "Suspended", NULL, WHARF_SUSPENDED},
                                         {DEPLOYMENT, "Suspending", NULL, WHARF_ACTIVE},
                                         {DEPLOYMENT, "Initializing", NULL, WHARF_ACTIVE},
                                         {DEPLOYMENT, "Waiting", NULL, WHARF_ACTIVE},
                                         {DEPLOYMENT, "Running", NULL, WHARF_ACTIVE},
                                         {DEPLOYMENT, "Retrying", NULL, WHARF_ACTIVE},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .finished_at = "/status/endTime",
    .phase = phase,
    .mirror = mirror,
    .update = update,
    .status = status,
};
