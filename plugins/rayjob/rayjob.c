// SPDX-License-Identifier: Apache-2.0
// ray.io RayJob. Names in comments are from KubeRay's rayjob_controller.go and validation.go.
//
// An operator that runs with DELETE_RAYJOB_CR_AFTER_JOB_FINISHES=true deletes a RayJob that has
// shutdownAfterJobFinishes. No field of the object prevents that: suspending needs shutdownAfterJobFinishes
// (ValidateRayJobSpec). A worker's operator should run without that setting.
#include "ray.h"

#include <stdbool.h>

const wharf_host *host;

#define RULES "/spec/deletionStrategy/deletionRules"
#define DEPLOYMENT "/status/jobDeploymentStatus"
#define MODE "/spec/submissionMode"

static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    (void)call;
    const char *outcome = host->string(host->find(job, "/status/jobStatus"));
    const char *reason = host->string(host->find(job, "/status/reason"));
    out->message = host->string(host->find(job, "/status/message"));
    // Complete includes a stopped Ray job.
    if (out->phase == WHARF_SUCCEEDED && !host->is(job, "/status/jobStatus", "SUCCEEDED")) {
        out->phase = WHARF_FAILED;
        out->reason = outcome ? outcome : out->reason;
    }
    if (out->phase != WHARF_SUCCEEDED && reason)
        out->reason = reason;
    if (out->phase == WHARF_ACTIVE && !host->find(job, DEPLOYMENT))
        out->phase = WHARF_PENDING; // JobDeploymentStatusNew
    return WHARF_OK;
}

// Two rules of one condition may not have the same policy (validateDeletionRules).
static int deletes_cluster(const wharf_value *job, const wharf_value *condition) {
    for (const wharf_value *rule = host->first(host->find(job, RULES)); rule; rule = host->next(rule))
        if (host->is(rule, "/policy", "DeleteCluster") &&
            host->equal(host->find(rule, "/condition/jobStatus"), host->find(condition, "/jobStatus")) &&
            host->equal(host->find(rule, "/condition/jobDeploymentStatus"),
                        host->find(condition, "/jobDeploymentStatus")))
            return 1;
    return 0;
}

// DeleteSelf of a mirror would lose the result, or run the workload twice. DeleteCluster is the nearest policy: the
// RayCluster goes at the same time, and the CRD's rules hold as before (both of onSuccess and onFailure, or at least
// one rule).
static void keep_self(const wharf_call *call, wharf_value *job) {
    static const char *const legacy[] = {"/spec/deletionStrategy/onSuccess/policy",
                                         "/spec/deletionStrategy/onFailure/policy"};
    for (size_t i = 0; i < sizeof legacy / sizeof *legacy; i++)
        if (host->is(job, legacy[i], "DeleteSelf"))
            host->set_string(call, job, legacy[i], "DeleteCluster");
    for (size_t i = host->count(host->find(job, RULES)); i > 0; i--) {
        const char *at = host->format(call, RULES "/%zu", i - 1);
        wharf_value *rule = host->edit(call, job, at);
        if (!host->is(rule, "/policy", "DeleteSelf"))
            continue;
        if (deletes_cluster(job, host->find(rule, "/condition")))
            host->remove(call, job, at);
        else
            host->set_string(call, rule, "/policy", "DeleteCluster");
    }
}

static wharf_result accept(const wharf_call *call, const wharf_value *workload) {
    if (host->count(host->find(workload, "/spec/clusterSelector")) == 0)
        return WHARF_OK;
    call->answer->reason = "ClusterSelector";
    call->answer->message = "spec.clusterSelector names a RayCluster that exists: only a RayJob that brings its own "
                            "(spec.rayClusterSpec) can run in another cluster";
    return WHARF_REFUSED;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    (void)workload;
    keep_self(call, mirror);
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    keep_self(call, desired);
    ray_leave_omitted(call, mirror, desired, "/spec/suspend");
    ray_leave_omitted(call, mirror, desired, "/spec/shutdownAfterJobFinishes");
    ray_leave_omitted(call, mirror, desired, "/spec/ttlSecondsAfterFinished");
    return WHARF_OK;
}

// The CRD has defaults for both fields: a server adds them to every status.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    (void)workload;
    (void)mirror;
    static const char *const counts[] = {"/status/failed", "/status/succeeded"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts && host->find(object, "/status"); i++)
        if (!host->find(object, counts[i]))
            host->set_integer(call, object, counts[i], 0);
    return WHARF_OK;
}

// Only K8sJobMode, the default, has a pod that submits: without a template the operator's own
// (GetDefaultSubmitterContainer).
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    static const char submitter[] =
        "{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-job-submitter\",\"resources\":{\"requests\":"
        "{\"cpu\":\"500m\",\"memory\":\"200Mi\"}}}]}},\"count\":1}";
    const wharf_value *spec = host->find(workload, "/spec/rayClusterSpec"), *mode = host->find(workload, MODE);
    size_t pods = ray_count_workers(call, spec, sets);
    bool submits = !mode || host->is(workload, MODE, "K8sJobMode");
    if (!submits && host->count(sets) > pods)
        host->remove(call, sets, host->format(call, "/%zu", pods));
    else if (submits && host->count(sets) == pods && spec)
        host->set(call, sets, "/-", host->parse(call, submitter, sizeof submitter - 1));
    return WHARF_OK;
}

// The fields that the operator reads after the start. The operator disregards a new rayClusterSpec
// (getOrCreateRayClusterInstance), except after a suspension, which leads to a new RayCluster.
static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/jobId"}, // InteractiveMode waits for a jobId
    {.pointer = "/spec/activeDeadlineSeconds"},
    {.pointer = "/spec/backoffLimit"},
    {.pointer = "/spec/shutdownAfterJobFinishes"},
    {.pointer = "/spec/ttlSecondsAfterFinished"}, // of the RayCluster
    {.pointer = "/spec/deletionStrategy"},
    RAY_CARRIED_PODS("/spec/rayClusterSpec"),
    WHARF_CARRIED_POD_TEMPLATE("/spec/submitterPodTemplate", NULL),
    {.pointer = NULL},
};

// The operator's changes after the deletion of all objects that the operator created.
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_REMOVE("/status/jobStatus"),
    WHARF_CHANGE_REMOVE("/status/jobId"),
    WHARF_CHANGE_REMOVE("/status/rayClusterName"),
    WHARF_CHANGE_REMOVE("/status/dashboardURL"),
    WHARF_CHANGE_REMOVE("/status/message"),
    WHARF_CHANGE_REMOVE("/status/reason"),
    WHARF_CHANGE_REMOVE("/status/rayJobInfo"),
    WHARF_CHANGE_REMOVE("/status/rayClusterStatus"),
    WHARF_CHANGE_REMOVE("/status/endTime"),
    WHARF_CHANGE_REMOVE("/status/jobStatusCheckFailureStartTime"),
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, DEPLOYMENT, "Suspended"),
    {.name = NULL},
};

// The workload failed before any pod ran. The operator's changes when a submitter is gone and the Ray job has not ended
// (checkSubmitterFinishedTimeoutAndUpdateStatusIfNeeded): clients read jobStatus, too.
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, DEPLOYMENT, "Failed"),
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, "/status/jobStatus", "FAILED"),
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, "/status/reason", "NoClusterAccepts"),
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, "/status/message", "{message}"),
    WHARF_CHANGE_TEXT(WHARF_IF_ABSENT, "/status/endTime", "{now}"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {DEPLOYMENT, "Complete", .phase = WHARF_SUCCEEDED},      {DEPLOYMENT, "Failed", .phase = WHARF_FAILED},
    {DEPLOYMENT, "ValidationFailed", .phase = WHARF_FAILED}, RAY_SUSPENDED(DEPLOYMENT, "Suspended"),
    {DEPLOYMENT, "Suspending", .phase = WHARF_ACTIVE},       {DEPLOYMENT, "Initializing", .phase = WHARF_ACTIVE},
    {DEPLOYMENT, "Waiting", .phase = WHARF_ACTIVE},          {DEPLOYMENT, "Running", .phase = WHARF_ACTIVE},
    {DEPLOYMENT, "Retrying", .phase = WHARF_ACTIVE},         {.pointer = NULL},
};

static const wharf_kind rayjob = {
    WHARF_KIND_SIZES,
    RAY_KIND,
    .kind = "RayJob",
    .plural = "rayjobs",
    .carried = carried,
    .removed = (const char *const[]){"/spec/rayClusterSpec/managedBy", NULL},
    .pods = (const wharf_pods[]){RAY_PODS("/spec/rayClusterSpec"),
                                 {.templates = "/spec/submitterPodTemplate"},
                                 {.templates = NULL}},
    .observed_generation = "/status/observedGeneration",
    .suspended_status = suspended,
    .resumed_status = (const wharf_status_change[]){WHARF_CHANGE_REMOVE(DEPLOYMENT), {.name = NULL}},
    .gave_up_status = gave_up,
    .phases = phases,
    .finished_at = "/status/endTime",
    .phase = phase,
    .accept = accept,
    .mirror = mirror,
    .update = update,
    .status = status,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(RAY_REFERENCES("/spec/rayClusterSpec")),
};

WHARF_MODULE(.name = "rayjob", .version = "0.1.0", .kinds = WHARF_KINDS(&rayjob, &raycluster, &rayservice),
             .host = &host);
