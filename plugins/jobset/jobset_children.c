// SPDX-License-Identifier: Apache-2.0
// The progress of a JobSet: that of its Jobs, which have the same names in each attempt. A restart by failurePolicy
// replaces the Jobs by new ones, whose work begins anew: what was kept of Jobs before a restart is no progress any
// more. So the workload's status counts the restarts of all attempts, and what is kept of a Job has the number at that
// time.
#include "jobset.h"

#include <stdlib.h>

// Annotation of a mirror: /status/restarts of the workload at the creation of the mirror.
#define EARLIER_RESTARTS "/metadata/annotations/jobset.wharf.dev~1earlier-restarts"
#define RESTARTS "/status/restarts"
// Of what is kept of a Job; absent: 0.
#define KEPT_RESTARTS "/restarts"
#define KEPT_JOB_RESTARTS "/jobRestarts"
#define START_TIME "/status/startTime"
#define JOBS_STATUS "/status/replicatedJobsStatus"
#define LABEL(name) "/metadata/labels/jobset.sigs.k8s.io~1" name

static int64_t number_in(const wharf_value *object, const char *pointer) {
    const char *text = host->string(host->find(object, pointer));
    int64_t number = text ? strtol(text, NULL, 10) : 0;
    return number < 0 || number > INT32_MAX ? 0 : number;
}

wharf_result jobset_note_restarts(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t restarts = job_count(workload, RESTARTS);
    if (restarts > 0)
        host->set_string(call, mirror, EARLIER_RESTARTS, host->format(call, "%lld", (long long)restarts));
    return WHARF_OK;
}

// Complete Jobs of a mirror that was given progress: they get their condition after the resume, and until then their
// controller does not count them. No restart takes them back.
static void keep_complete(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                          wharf_value *object) {
    size_t at = 0;
    if (!host->is(mirror, "/metadata/annotations/wharf.dev~1progress", "given") || job_count(mirror, RESTARTS) > 0)
        return;
    for (const wharf_value *s = host->first(host->find(mirror, JOBS_STATUS)); s; s = host->next(s), at++) {
        const char *name = host->string(host->find(s, "/name"));
        const wharf_value *job = host->find_where(workload, "/spec/replicatedJobs", "name", name);
        int64_t most =
            host->integer(host->find(job, "/replicas"), 1) - job_count(s, "/active") - job_count(s, "/failed");
        int64_t before = job_count(host->find_where(workload, JOBS_STATUS, "name", name), "/succeeded");
        before = before < most ? before : most;
        if (before > job_count(s, "/succeeded"))
            host->set_integer(call, object, host->format(call, JOBS_STATUS "/%zu/succeeded", at), before);
    }
}

wharf_result jobset_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    keep_complete(call, workload, mirror, object);
    int64_t earlier = number_in(mirror, EARLIER_RESTARTS);
    if (earlier > 0 && host->find(mirror, RESTARTS))
        host->set_integer(call, object, RESTARTS, earlier + job_count(mirror, RESTARTS));
    return WHARF_OK;
}

// Keeping -----------------------------------------------------------------------------------------------------------

// Restarts of one Job alone, by the status of its JobSet.
static int64_t job_restarts(const wharf_call *call, const wharf_value *jobset, const wharf_value *job) {
    const char *name = host->string(host->find(job, LABEL("replicatedjob-name")));
    const char *index = host->format(call, "/jobRestarts/%lld", (long long)number_in(job, LABEL("job-index")));
    return job_count(host->find_where(jobset, JOBS_STATUS, "name", name), index);
}

// The controller is about to replace the Job, after a restart of all or of this one (getChildJobs).
static bool is_replaced(const wharf_call *call, const wharf_value *job, const wharf_value *mirror) {
    return number_in(job, LABEL("restart-attempt")) != job_count(mirror, RESTARTS) ||
           (host->find(job, LABEL("job-restart-attempt")) &&
            number_in(job, LABEL("job-restart-attempt")) != job_restarts(call, mirror, job));
}

static wharf_result keep(const wharf_call *call, const wharf_value *job, const wharf_value *mirror,
                         wharf_value *object) {
    int64_t restarts = number_in(mirror, EARLIER_RESTARTS) + job_count(mirror, RESTARTS);
    if (is_replaced(call, job, mirror))
        return WHARF_OK;
    wharf_result result = job_child_progress(call, job, NULL, object);
    if (restarts > 0 && host->find(object, "/status"))
        host->set_integer(call, object, KEPT_RESTARTS, restarts);
    if (job_restarts(call, mirror, job) > 0 && host->find(object, "/status"))
        host->set_integer(call, object, KEPT_JOB_RESTARTS, job_restarts(call, mirror, job));
    return result;
}

// Giving ------------------------------------------------------------------------------------------------------------

static bool is_whole(const wharf_value *workload, const wharf_value *status) {
    const wharf_value *job =
        host->find_where(workload, "/spec/replicatedJobs", "name", host->string(host->find(status, "/name")));
    int64_t replicas = host->integer(host->find(job, "/replicas"), 1);
    return job && replicas > 0 && job_count(status, "/succeeded") == replicas;
}

// The status says that all Jobs of the replicated job `name`, NULL: of any, are complete. The status that tells a
// restart still counts the Jobs before it, among them a failed one.
static bool all_are_complete(const wharf_value *workload, const char *name) {
    bool complete = false;
    for (const wharf_value *s = host->first(host->find(workload, JOBS_STATUS)); s; s = host->next(s)) {
        if (job_count(s, "/failed") > 0)
            return false;
        complete |= (!name || host->is(s, "/name", name)) && is_whole(workload, s);
    }
    return complete;
}

// The progress of a complete Job; of a work queue, that one pod has succeeded.
static wharf_value *complete_job(const wharf_call *call, const wharf_value *child) {
    wharf_value *job = host->new_object(call);
    int64_t completions = host->integer(host->find(child, COMPLETIONS), 1);
    host->set_integer(call, job, SUCCEEDED, completions);
    if (host->is(child, "/spec/completionMode", "Indexed"))
        host->set_string(call, job, COMPLETED_INDEXES, host->format(call, "0-%lld", (long long)completions - 1));
    return job;
}

// Jobs that depend on a complete one are made while the JobSet is suspended, as soon as that one has its condition. The
// API server accepts this condition with a startTime only, which the Job controller sets at a resume.
static void start_complete(const wharf_call *call, const wharf_value *child, wharf_value *object) {
    int64_t completions = host->integer(host->find(child, COMPLETIONS), INT32_MAX);
    if (job_count(object, SUCCEEDED) >= completions && !host->find(child, START_TIME))
        host->set_string(call, object, START_TIME, call->now);
}

// There was a restart since.
static bool is_void(const wharf_call *call, const wharf_value *kept, const wharf_value *workload,
                    const wharf_value *child) {
    return job_count(kept, KEPT_RESTARTS) != job_count(workload, RESTARTS) ||
           (child && job_count(kept, KEPT_JOB_RESTARTS) != job_restarts(call, workload, child));
}

wharf_result jobset_child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                   wharf_value *object) {
    const wharf_value *workload = host->find(former, "/workload");
    if (!workload)
        return keep(call, former, child, object);
    const char *name = host->string(host->find(child, LABEL("replicatedjob-name")));
    // With a successPolicy a Job may be complete without all indexes.
    if (all_are_complete(workload, name) && !host->find(child, "/spec/successPolicy"))
        former = complete_job(call, child);
    else if (is_void(call, former, workload, child))
        return WHARF_OK;
    wharf_result result = job_child_progress(call, former, child, object);
    if (child)
        start_complete(call, child, object);
    return result;
}
