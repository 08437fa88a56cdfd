// SPDX-License-Identifier: Apache-2.0
// tekton.dev PipelineRun and TaskRun. What may change is in Tekton's webhooks (pipelinerun_validation.go,
// taskrun_validation.go): spec.status until the run is done, and a TaskRun's statusMessage with it.
#include <wharf/adapter.h>

#include <stdbool.h>
#include <string.h>

static const wharf_host *host;

#define SPEC_STATUS "/spec/status"
#define SPEC_MESSAGE "/spec/statusMessage"

static bool is_text(const wharf_value *object, const char *pointer, const char *text) {
    const char *found = host->string(host->find(object, pointer));
    return found && strcmp(found, text) == 0;
}

static bool is_done(const wharf_value *run) {
    return host->condition(run, "Succeeded", "True") || host->condition(run, "Succeeded", "False");
}

static bool is_pending(const wharf_call *call, const wharf_value *run) {
    return is_text(run, SPEC_STATUS, call->kind->suspend_value);
}

// A pending run has the condition with a reason of the same name as the value that makes it pending.
static wharf_result phase(const wharf_call *call, const wharf_value *run, wharf_phase *out) {
    const char *waits = call->kind->suspend_value;
    if (out->phase == WHARF_ACTIVE && out->reason && strcmp(out->reason, waits) == 0)
        out->phase = is_pending(call, run) ? WHARF_SUSPENDED : WHARF_PENDING;
    return WHARF_OK;
}

static bool take(wharf_value *to, const wharf_value *from, const char *pointer) {
    const wharf_value *value = host->find(from, pointer);
    return value ? host->set(to, pointer, value) : (host->remove(to, pointer), true);
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    if (is_done(mirror))
        return take(desired, mirror, SPEC_STATUS) && take(desired, mirror, SPEC_MESSAGE) ? WHARF_OK : WHARF_RETRY;
    if (is_pending(call, desired) && host->find(mirror, "/status/startTime")) {
        call->answer->reason = "AlreadyStarted";
        call->answer->message =
            host->format(call, "spec.status: a %s that has started cannot be made pending any more", call->kind->kind);
        return WHARF_REFUSED;
    }
    return WHARF_OK;
}

// A status with a start time is refused while the run is pending ("cannot be Pending after it is started"), also once
// it is over. Without a mirror: what Tekton writes for a pending run. A TaskRun's status has podName, empty until there
// is one.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    if (!is_pending(call, workload))
        return WHARF_OK;
    bool done = is_done(workload);
    if (!done || !host->find(workload, "/status/startTime"))
        host->remove(status, "/startTime");
    if (mirror || done)
        return WHARF_OK;
    const char *name = host->string(host->find(workload, "/metadata/name"));
    const char *message = host->format(call, "%s \"%s\" is pending", call->kind->kind, name ? name : "");
    bool ok = message && host->set_condition(call, status, "Succeeded", "Unknown", call->kind->suspend_value, message);
    if (strcmp(call->kind->plural, "taskruns") == 0 && !host->find(status, "/podName"))
        ok = host->set_string(status, "/podName", "") && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

// Tekton's pruner deletes a run after this time, or when there are as many; Chains and Results write what they have
// done with the run of this cluster.
#define ANNOTATION(name) "/metadata/annotations/" name
static const char *const removed[] = {
    ANNOTATION("pruner.tekton.dev~1ttlSecondsAfterFinished"),
    ANNOTATION("pruner.tekton.dev~1successfulHistoryLimit"),
    ANNOTATION("pruner.tekton.dev~1failedHistoryLimit"),
    ANNOTATION("pruner.tekton.dev~1historyLimitCheckProcessed"),
    ANNOTATION("chains.tekton.dev~1signed"),
    ANNOTATION("results.tekton.dev~1record"),
    ANNOTATION("results.tekton.dev~1result"),
    ANNOTATION("results.tekton.dev~1log"),
    NULL,
};

#define CONDITIONS "/status/conditions"
static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Succeeded", "True", WHARF_SUCCEEDED},
    {CONDITIONS, "Succeeded", "False", WHARF_FAILED},
    {CONDITIONS, "Succeeded", "Unknown", WHARF_ACTIVE},
    {NULL, NULL, NULL, WHARF_PENDING},
};

#define RUN                                                                                                            \
    .group = "tekton.dev", .versions = (const char *const[]){"v1", "v1beta1", NULL}, .managed_by = "/spec/managedBy",  \
    .managed_by_builtin = "tekton.dev/pipeline", .suspend = SPEC_STATUS, .removed = removed,                           \
    .observed_generation = "/status/observedGeneration", .phases = phases, .finished_at = "/status/completionTime",    \
    .phase = phase, .update = update, .status = status

static const wharf_kind pipelinerun = {
    .size = sizeof pipelinerun,
    RUN,
    .kind = "PipelineRun",
    .plural = "pipelineruns",
    .suspend_value = "PipelineRunPending",
    .carried = (const wharf_carried[]){{.pointer = SPEC_STATUS}, {.pointer = NULL}},
};

static const wharf_kind taskrun = {
    .size = sizeof taskrun,
    RUN,
    .kind = "TaskRun",
    .plural = "taskruns",
    .suspend_value = "TaskRunPending", // older versions of Tekton refuse it
    .carried = (const wharf_carried[]){{.pointer = SPEC_STATUS}, {.pointer = SPEC_MESSAGE}, {.pointer = NULL}},
};

WHARF_MODULE(host, "pipelinerun", "0.1.0", &pipelinerun, &taskrun)
