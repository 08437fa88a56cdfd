// SPDX-License-Identifier: Apache-2.0
// batch/v1 Job. What the API server allows is in kubernetes pkg/registry/batch/job/strategy.go and
// pkg/apis/batch/validation/validation.go; function names in comments are from there.
#include "job.h"

#include <string.h>

const wharf_host *host;

// What the API server puts into the pod template of a Job without manualSelector (generateSelector): uid and name of
// the object itself, so a mirror has its own.
#define TEMPLATE_LABELS "/spec/template/metadata/labels/"
static const char *const generated_labels[] = {
    TEMPLATE_LABELS "controller-uid",
    TEMPLATE_LABELS "job-name",
    TEMPLATE_LABELS "batch.kubernetes.io~1controller-uid",
    TEMPLATE_LABELS "batch.kubernetes.io~1job-name",
    NULL,
};

const wharf_value *job_condition(const wharf_value *status, const char *type, const char *value) {
    for (const wharf_value *c = host->first(host->find(status, "/conditions")); c; c = host->next(c)) {
        const char *type_here = host->string(host->find(c, "/type"));
        const char *value_here = host->string(host->find(c, "/status"));
        if (type_here && value_here && strcmp(type_here, type) == 0 && strcmp(value_here, value) == 0)
            return c;
    }
    return NULL;
}

static const wharf_value *is_true(const wharf_value *job, const char *type) {
    return job_condition(host->find(job, "/status"), type, "True");
}

bool job_is_finished(const wharf_value *job) {
    return is_true(job, "Complete") || is_true(job, "Failed");
}

enum outcome job_outcome(const wharf_value *job) {
    if (job_is_finished(job))
        return is_true(job, "Complete") ? SUCCESS : FAILURE;
    if (is_true(job, "SuccessCriteriaMet"))
        return SUCCESS;
    return is_true(job, "FailureTarget") ? FAILURE : UNDECIDED;
}

int64_t job_count(const wharf_value *value, const char *pointer) {
    int64_t count = host->integer(host->find(value, pointer), 0);
    if (count < 0)
        return 0;
    return count > INT32_MAX ? INT32_MAX : count;
}

bool job_is_suspended(const wharf_value *job) {
    return host->boolean(host->find(job, "/spec/suspend"), 0);
}

bool job_is_quiet(const wharf_value *job) {
    return job_is_suspended(job) && is_true(job, "Suspended") && job_count(job, "/status/active") == 0 &&
           job_count(job, "/status/terminating") == 0;
}

bool job_runs_in_vain(const wharf_value *workload, const wharf_value *mirror) {
    return job_outcome(workload) != UNDECIDED && job_outcome(mirror) == UNDECIDED;
}

static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    (void)call;
    bool runs = job_count(job, "/status/active") > 0 || job_count(job, "/status/terminating") > 0;
    const wharf_value *why = NULL;
    const char *since = NULL;
    if ((why = is_true(job, "Complete"))) {
        out->phase = WHARF_SUCCEEDED;
        since = host->string(host->find(job, "/status/completionTime"));
    } else if ((why = is_true(job, "Failed"))) {
        out->phase = WHARF_FAILED;
        since = host->string(host->find(why, "/lastTransitionTime"));
    } else if (job_is_suspended(job) && !runs) {
        out->phase = WHARF_SUSPENDED;
        why = is_true(job, "Suspended");
    } else {
        runs = runs || host->string(host->find(job, "/status/startTime"));
        out->phase = runs ? WHARF_ACTIVE : WHARF_PENDING;
    }
    out->reason = host->string(host->find(why, "/reason"));
    out->message = host->string(host->find(why, "/message"));
    if (since && !host->parse_time(since, &out->since_ns))
        out->since_ns = 0;
    return WHARF_OK;
}

static bool has_manual_selector(const wharf_value *job) {
    return host->boolean(host->find(job, "/spec/manualSelector"), 0);
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    bool ok = true;
    if (!has_manual_selector(workload)) {
        host->remove(mirror, "/spec/selector");
        for (const char *const *label = generated_labels; *label; label++)
            host->remove(mirror, *label);
    }
    int64_t failed = job_count(workload, "/status/failed");
    if (failed > 0)
        ok = host->set_string(mirror, EARLIER_FAILED, host->format(call, "%lld", (long long)failed));
    // The worker was lost between SuccessCriteriaMet or FailureTarget and the end: nothing has to run again for an
    // outcome that cannot change any more. The mirror only closes the books (see job_status).
    if (job_outcome(workload) != UNDECIDED)
        ok = host->set_boolean(mirror, "/spec/suspend", 1) && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

static bool take(wharf_value *to, const wharf_value *from, const char *pointer) {
    const wharf_value *value = host->find(from, pointer);
    if (value)
        return host->set(to, pointer, value);
    host->remove(to, pointer);
    return true;
}

// validateCompletions: fixed, or for an Indexed Job to be changed so that it equals parallelism. A workload that was
// scaled twice may need two steps to get there.
static bool fix_completions(const wharf_value *mirror, wharf_value *desired) {
    const wharf_value *completions = host->find(desired, "/spec/completions");
    if (host->equal(completions, host->find(mirror, "/spec/completions")))
        return true;
    const char *mode = host->string(host->find(mirror, "/spec/completionMode"));
    if (!completions || !mode || strcmp(mode, "Indexed") != 0)
        return take(desired, mirror, "/spec/completions");
    return host->set(desired, "/spec/parallelism", completions);
}

// shouldAllowMutablePodTemplate: a mirror that has just been suspended takes a new template only once its pods are
// gone. Until then it keeps the old one, and is not resumed either: it would run what the workload no longer says.
static bool fix_template(const wharf_value *mirror, wharf_value *desired) {
    if (!job_is_suspended(mirror))
        return true; // the host has not touched the template
    bool ok = true;
    for (const char *const *label = generated_labels; *label && !has_manual_selector(mirror); label++)
        ok = take(desired, mirror, *label) && ok;
    bool may_change = job_count(mirror, "/status/active") == 0 &&
                      (!host->find(mirror, "/status/startTime") || is_true(mirror, "Suspended"));
    if (may_change || host->equal(host->find(mirror, "/spec/template"), host->find(desired, "/spec/template")))
        return ok;
    return take(desired, mirror, "/spec/template") && host->set_boolean(desired, "/spec/suspend", 1) && ok;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)call;
    bool ok = fix_completions(mirror, desired) && fix_template(mirror, desired);
    // Every server that knows the field fills it in; one that does not would drop it again and again.
    if (!host->find(mirror, "/spec/podReplacementPolicy"))
        host->remove(desired, "/spec/podReplacementPolicy");
    if (job_runs_in_vain(workload, mirror))
        ok = host->set_boolean(desired, "/spec/suspend", 1) && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/parallelism"},
    {.pointer = "/spec/completions"},
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/activeDeadlineSeconds"},
    {.pointer = "/spec/backoffLimit"},
    {.pointer = "/spec/maxFailedIndexes"},
    {.pointer = "/spec/podReplacementPolicy"},
    {.pointer = "/spec/template/metadata/labels", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/metadata/annotations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/nodeSelector", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/tolerations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/affinity/nodeAffinity", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/schedulingGates", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/containers/*/resources", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = "/spec/template/spec/initContainers/*/resources", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = NULL},
};

// A Job without labels of its own is given those of its template (SetDefaults_Job), generated ones included.
static const char *const removed[] = {
    "/spec/ttlSecondsAfterFinished",
    "/metadata/labels/controller-uid",
    "/metadata/labels/job-name",
    "/metadata/labels/batch.kubernetes.io~1controller-uid",
    "/metadata/labels/batch.kubernetes.io~1job-name",
    NULL,
};

static const wharf_kind kind = {
    .size = sizeof kind,
    .group = "batch",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Job",
    .plural = "jobs",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "kubernetes.io/job-controller",
    .suspend = "/spec/suspend",
    .carried = carried,
    .removed = removed,
    .pods = (const wharf_pods[]){{"/spec/template", {"/spec/parallelism"}}, {NULL, {NULL}}},
    .status_removed = (const char *const[]){"/status/uncountedTerminatedPods", NULL}, // uids of the worker's pods
    .phase = phase,
    .mirror = mirror,
    .update = update,
    .status = job_status,
};

WHARF_MODULE(host, "job", "0.1.0", &kind)
