// SPDX-License-Identifier: Apache-2.0
// jobset.x-k8s.io JobSet. What may change is in its webhook (ValidateUpdate) and in the rules of its CRD.
#include <wharf/adapter.h>

#include <string.h>

static const wharf_host *host;

#define JOB "/spec/replicatedJobs/*/template/spec"
#define POD JOB "/template"

static int is_text(const wharf_value *value, const char *text) {
    const char *string = host->string(value);
    return string && strcmp(string, text) == 0;
}

static int is_finished(const wharf_value *jobset) {
    return host->condition(jobset, "Completed", "True") || host->condition(jobset, "Failed", "True");
}

// Elastic JobSets: an Indexed job may be scaled if its completions stay equal to its parallelism.
static int may_scale(const wharf_value *mirror, const wharf_value *job) {
    const wharf_value *mode = host->find(job, "/completionMode"), *pods = host->find(job, "/parallelism");
    return !is_finished(mirror) && (!mode || is_text(mode, "Indexed")) && host->integer(pods, 1) >= 1 &&
           host->equal(pods, host->find(job, "/completions"));
}

static int take(wharf_value *to, const wharf_value *from, const char *pointer) {
    const wharf_value *value = host->find(from, pointer);
    return value ? host->set(to, pointer, value) : (host->remove(to, pointer), 1);
}

// A worker would refuse the whole patch, a suspend in it too: what it does not take is left out.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    int ok = 1, index = 0;
    const wharf_value *job = host->first(host->find(mirror, "/spec/replicatedJobs"));
    for (; job; job = host->next(job), index++) {
        const char *at = host->format(call, "/spec/replicatedJobs/%d/template/spec", index);
        const wharf_value *before = host->find(mirror, at), *after = host->find(desired, at);
        const char *parallelism = host->format(call, "%s/parallelism", at);
        const char *completions = host->format(call, "%s/completions", at);
        if (!at || !parallelism || !completions)
            return WHARF_RETRY;
        int same = host->equal(host->find(before, "/parallelism"), host->find(after, "/parallelism")) &&
                   host->equal(host->find(before, "/completions"), host->find(after, "/completions"));
        if (same || may_scale(mirror, after))
            continue;
        ok = take(desired, mirror, parallelism) && take(desired, mirror, completions) && ok;
        call->answer->reason = "NotCarried";
        call->answer->message =
            host->format(call,
                         "%s: parallelism and completions can only be changed in an Indexed job, to the same "
                         "number of at least 1, and not once the JobSet is finished",
                         at);
    }
    return ok ? WHARF_OK : WHARF_RETRY;
}

static int clear(const wharf_call *call, wharf_value *status, size_t index, const char *count) {
    const char *at = host->format(call, "/replicatedJobsStatus/%zu/%s", index, count);
    return !host->find(status, at) || host->set_integer(status, at, 0);
}

// Without a mirror nobody else says that a JobSet is suspended, or not any more, as the JobSet controller does.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    if (mirror || is_finished(workload))
        return WHARF_OK;
    const char *message = "jobset is suspended";
    int ok = 1;
    if (!host->boolean(host->find(workload, "/spec/suspend"), 0)) {
        if (host->condition(workload, "Suspended", "True"))
            ok = host->set_condition(call, status, "Suspended", "False", "ResumeJobs", "jobset is resumed");
        return ok ? WHARF_OK : WHARF_RETRY;
    }
    ok = host->set_condition(call, status, "Suspended", "True", "SuspendedJobs", message);
    if (host->condition(workload, "RestartingJobSet", "True"))
        ok = host->set_condition(call, status, "RestartingJobSet", "False", "JobSetSuspended", message) && ok;
    size_t count = host->count(host->find(status, "/replicatedJobsStatus"));
    for (size_t i = 0; i < count; i++)
        ok = clear(call, status, i, "active") && clear(call, status, i, "ready") && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/coordinator"},
    {.pointer = JOB "/parallelism"},
    {.pointer = JOB "/completions"},
    {.pointer = POD "/metadata/labels", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/metadata/annotations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/spec/nodeSelector", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/spec/tolerations", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/spec/schedulingGates", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = NULL},
};

#define CONDITIONS "/status/conditions"

static const wharf_kind kind = {
    .size = sizeof kind,
    .group = "jobset.x-k8s.io",
    .versions = (const char *const[]){"v1alpha2", NULL},
    .kind = "JobSet",
    .plural = "jobsets",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "jobset.sigs.k8s.io/jobset-controller",
    .suspend = "/spec/suspend",
    .carried = carried,
    // The Jobs that a worker's JobSet controller makes have their own managedBy.
    .removed = (const char *const[]){"/spec/ttlSecondsAfterFinished", JOB "/managedBy", NULL},
    .pods = (const wharf_pods[]){{POD, {"/spec/replicatedJobs/*/replicas", JOB "/parallelism"}}, {NULL, {NULL}}},
    .status_removed = (const char *const[]){CONDITIONS "/*/observedGeneration", NULL},
    .phases = (const wharf_phase_rule[]){{CONDITIONS, "Completed", NULL, WHARF_SUCCEEDED},
                                         {CONDITIONS, "Failed", NULL, WHARF_FAILED},
                                         {CONDITIONS, "Suspended", NULL, WHARF_SUSPENDED},
                                         {CONDITIONS, "RestartingJobSet", NULL, WHARF_ACTIVE},
                                         {CONDITIONS, "StartupPolicyInProgress", NULL, WHARF_ACTIVE},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .update = update,
    .status = status,
};

WHARF_MODULE(host, "jobset", "0.1.0", &kind)
