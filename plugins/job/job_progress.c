// SPDX-License-Identifier: Apache-2.0
// The progress of a Job, for the Job controller of another worker. The controller works from /status: it creates no pod
// for an index in completedIndexes or failedIndexes, creates succeeded pods less, and counts failed against
// backoffLimit. A mirror without indexes is given nothing: its spec says what is left (job_left.c), which no worker can
// refuse. A JobSet's Jobs have the spec that their controller writes. Not given:
//   - startTime: the controller sets the time of the resume, see job_left.c for activeDeadlineSeconds;
//   - succeeded of a running work queue, a Job without completions: the controller would start no further pod;
//   - uncountedTerminatedPods: pods of the former worker.
// Also compiled into the JobSet adapter: depends on nothing but job_indexes.c.
#include "job.h"

#include <string.h>

bool job_is_finished(const wharf_value *job) {
    return host->condition(job, "Complete", "True") || host->condition(job, "Failed", "True");
}

enum outcome job_outcome(const wharf_value *job) {
    if (host->condition(job, "Complete", "True"))
        return SUCCESS;
    if (host->condition(job, "Failed", "True"))
        return FAILURE;
    if (host->condition(job, "SuccessCriteriaMet", "True"))
        return SUCCESS;
    return host->condition(job, "FailureTarget", "True") ? FAILURE : UNDECIDED;
}

int64_t job_count(const wharf_value *value, const char *pointer) {
    int64_t count = host->integer(host->find(value, pointer), 0);
    return count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
}

// `spec` has the new Job, or the former one while there is no new one.
struct giving {
    const wharf_call *call;
    const wharf_value *former, *new, *spec;
    wharf_value *object;
};

// The lower limit of both Jobs: the other one may have been changed since. A former Job may have no spec any more.
static int64_t limit_of(const struct giving *g, const char *pointer, int64_t absent) {
    int64_t former = host->integer(host->find(g->former, pointer), absent);
    int64_t limit = host->integer(host->find(g->spec, pointer), absent);
    return host->find(g->former, pointer) && former < limit ? former : limit;
}

static void give_count(const struct giving *g, const char *pointer, int64_t count, int64_t limit) {
    count = count < limit ? count : limit;
    if (count > job_count(g->new, pointer))
        host->set_integer(g->call, g->object, pointer, count);
}

// Gives the indexes of the former Job. Returns all that the new one then has, without those of `except`.
static const char *give_list(const struct giving *g, const char *pointer, const char *except, int64_t *total) {
    int64_t limit = limit_of(g, COMPLETIONS, 0), ignored = 0;
    const char *former = host->string(host->find(g->former, pointer));
    const char *there = host->string(host->find(g->new, pointer));
    const char *all = job_indexes(g->call, former, INDEXES_OR, there, limit, total);
    all = job_indexes(g->call, all, INDEXES_WITHOUT, except, limit, total);
    there = job_indexes(g->call, there, INDEXES_OR, NULL, limit, &ignored);
    if (all && there && strcmp(all, there) != 0)
        host->set_string(g->call, g->object, pointer, all);
    return all;
}

static void give_indexes(const struct giving *g) {
    int64_t completed = 0, failed = 0;
    const char *done = give_list(g, COMPLETED_INDEXES, NULL, &completed);
    give_count(g, SUCCEEDED, completed, INT32_MAX);
    if (host->integer(host->find(g->spec, LIMIT_PER_INDEX), -1) >= 0 && !host->find(g->former, RETRIED))
        give_list(g, FAILED_INDEXES, done, &failed);
}

// A work queue that is complete stays so. What is kept of a Job has no spec.
static void give_succeeded(const struct giving *g) {
    if (host->find(g->spec, COMPLETIONS) || !host->find(g->former, "/spec") || job_outcome(g->former) == SUCCESS)
        give_count(g, SUCCEEDED, job_count(g->former, SUCCEEDED), limit_of(g, COMPLETIONS, INT32_MAX));
}

// The API server accepts more failures than backoffLimit, and the controller then ends the Job before a pod runs. The
// defaults are those of SetDefaults_Job.
static void give_all(const struct giving *g) {
    if (host->is(g->spec, COMPLETION_MODE, "Indexed"))
        give_indexes(g);
    else
        give_succeeded(g);
    int64_t unset = host->find(g->spec, LIMIT_PER_INDEX) ? INT32_MAX : 6;
    if (!host->find(g->new, EARLIER_FAILED) && !host->find(g->former, RETRIED))
        give_count(g, FAILED, job_count(g->former, FAILED), limit_of(g, BACKOFF_LIMIT, unset));
}

// A worker's controller makes the scheduling objects of a gang only for a Job without counts (isNewJob), before it sets
// the condition. A Job that another writer resumes first never gets the condition.
static bool awaits_gang(const wharf_value *mirror) {
    return host->is(mirror, PROGRESS, "owed") && host->is(mirror, SUSPEND, "true") && host->find(mirror, GANG) &&
           !host->condition(mirror, "Suspended", NULL);
}

wharf_result job_progress(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                          wharf_value *object) {
    if (job_outcome(workload) != UNDECIDED || !host->is(workload, COMPLETION_MODE, "Indexed"))
        return WHARF_OK;
    if (awaits_gang(mirror)) {
        call->answer->message =
            "the worker's Job controller has not seen the suspended mirror, whose gang it schedules";
        return WHARF_RETRY;
    }
    give_all(&(struct giving){call, workload, mirror, mirror ? mirror : workload, object});
    return WHARF_OK;
}

wharf_result job_child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                wharf_value *object) {
    if (job_outcome(former) != FAILURE)
        give_all(&(struct giving){call, former, child, child ? child : former, object});
    return WHARF_OK;
}
