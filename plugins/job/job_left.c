// SPDX-License-Identifier: Apache-2.0
// The remaining work of a Job for a further attempt. A mirror with indexes that goes on has the counts of earlier
// attempts in its own status (job_progress.c), and the limits of the workload. Two things do not follow from the
// status:
//   - activeDeadlineSeconds: the controller counts from the mirror's start, so the adapter subtracts the time since the
//     workload's startTime, which stays across attempts. A resumed Job has the whole deadline again (syncJob), and so
//     has the mirror;
//   - the gang: one of more pods than are left would wait for ever, so the adapter lowers minCount.
// Any other mirror counts from zero: one without indexes, or one that starts from nothing (progress is off, or the
// worker refused it). So that the workload's failures stay bounded by backoffLimit, the adapter subtracts those of
// earlier attempts there, and adds them to the mirror's in the status. A mirror without indexes has only the rest of
// the completions. Indexes run again.
#include "job.h"

#include <stdlib.h>

#define DEADLINE "/spec/activeDeadlineSeconds"
#define PARALLELISM "/spec/parallelism"

int64_t job_earlier(const wharf_value *mirror, const char *annotation) {
    const char *text = host->string(host->find(mirror, annotation));
    int64_t count = text ? strtol(text, NULL, 10) : 0;
    return count < 0 ? 0 : count < INT32_MAX ? count : INT32_MAX;
}

static void set_count(const wharf_call *call, wharf_value *mirror, const char *annotation, int64_t count) {
    if (count > 0)
        host->set_string(call, mirror, annotation, host->format(call, "%lld", (long long)count));
}

static int64_t seconds_since_start(const wharf_call *call, const wharf_value *workload) {
    int64_t start_ns = 0;
    if (host->is(workload, SUSPEND, "true") ||
        !host->parse_time(host->string(host->find(workload, "/status/startTime")), &start_ns))
        return 0;
    return (call->now_ns - start_ns) / 1000000000;
}

// Sets the field of `object` to the workload's value minus `used`, at least `least`. An absent limit stays absent.
static void lower(const wharf_call *call, const wharf_value *workload, wharf_value *object, const char *pointer,
                  int64_t used, int64_t least) {
    int64_t whole = host->integer(host->find(workload, pointer), -1);
    if (used <= 0 || whole < 0 || whole >= INT32_MAX ||
        !host->equal(host->find(object, pointer), host->find(workload, pointer)))
        return;
    host->set_integer(call, object, pointer, whole - used > least ? whole - used : least);
}

// The mirror has or gets the workload's progress.
static bool goes_on(const wharf_value *mirror) {
    return host->is(mirror, PROGRESS, "owed") || host->is(mirror, PROGRESS, "given");
}

// Notes the failures of earlier attempts, but for those that the mirror counts.
static void note_failed(const wharf_call *call, const wharf_value *workload, wharf_value *mirror, int64_t counted) {
    if (!host->find(workload, RETRIED))
        set_count(call, mirror, EARLIER_FAILED, job_count(workload, FAILED) - counted);
}

void job_note_earlier(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    if (host->integer(host->find(workload, DEADLINE), -1) > 0)
        set_count(call, mirror, EARLIER_SECONDS, seconds_since_start(call, workload));
    lower(call, workload, mirror, DEADLINE, job_earlier(mirror, EARLIER_SECONDS), 1);
    if (goes_on(mirror))
        return;
    note_failed(call, workload, mirror, 0);
    lower(call, workload, mirror, BACKOFF_LIMIT, job_earlier(mirror, EARLIER_FAILED), 0);
    if (!host->is(workload, COMPLETION_MODE, "Indexed"))
        lower(call, workload, mirror, COMPLETIONS, job_count(workload, SUCCEEDED), 0);
}

int64_t job_earlier_succeeded(const wharf_value *workload, const wharf_value *mirror) {
    int64_t less = job_count(workload, COMPLETIONS) - job_count(mirror, COMPLETIONS);
    return host->find(mirror, COMPLETIONS) && less > 0 ? less : 0;
}

// How many of the completions need no pod any more. After a failure of a worker, a new mirror tries the failed indexes
// again, except for its own. `mirror` is NULL before the create.
static int64_t count_ended(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror) {
    const wharf_value *failed = host->find(workload, RETRIED) ? mirror : workload;
    int64_t ended = job_count(workload, SUCCEEDED);
    if (host->is(workload, COMPLETION_MODE, "Indexed"))
        job_indexes(call, host->string(host->find(workload, COMPLETED_INDEXES)), INDEXES_OR,
                    host->string(host->find(failed, FAILED_INDEXES)), job_count(workload, COMPLETIONS), &ended);
    return ended;
}

// Without minCount the gang has parallelism pods (defaultMinCountForJob). The gang of a running mirror is scheduled,
// and needs no change while less and less is left.
void job_fit_gang(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror, wharf_value *object) {
    int64_t most = host->integer(host->find(object, PARALLELISM), 1);
    int64_t wanted = host->integer(host->find(object, MIN_COUNT), most);
    int64_t left = host->integer(host->find(object, COMPLETIONS), most);
    left -= goes_on(object) ? count_ended(call, workload, mirror) : 0;
    bool is_rest = left < host->integer(host->find(workload, COMPLETIONS), left);
    bool runs = mirror && !host->is(mirror, SUSPEND, "true");
    int64_t present = host->integer(host->find(mirror, MIN_COUNT), host->integer(host->find(mirror, PARALLELISM), 1));
    left = runs && left < present ? present : left;
    most = is_rest && left < most ? left : most;
    if (host->find(object, GANG) && wanted > most)
        host->set_integer(call, object, MIN_COUNT, most > 1 ? most : 1);
}

wharf_result job_pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    int64_t pods = host->integer(host->find(sets, "/0/count"), 0);
    int64_t left = host->integer(host->find(workload, COMPLETIONS), -1);
    if (left < 0 || host->count(sets) == 0)
        return WHARF_OK;
    left -= count_ended(call, workload, NULL);
    if (left < pods)
        host->set_integer(call, sets, "/0/count", left > 0 ? left : 0);
    return WHARF_OK;
}

void job_keep_left(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                   wharf_value *desired) {
    if (host->is(workload, SUSPEND, "true"))
        host->remove(call, desired, EARLIER_SECONDS);
    if (host->is(mirror, PROGRESS, "owed")) { // the last patch before the mirror runs
        int64_t succeeded = job_count(mirror, SUCCEEDED), failed = job_count(mirror, FAILED);
        set_count(call, desired, GIVEN_PODS, host->is(mirror, SUSPEND, "true") ? succeeded + failed : 0);
        if (!goes_on(desired))
            note_failed(call, workload, desired, failed);
    }
    lower(call, workload, desired, BACKOFF_LIMIT, job_earlier(desired, EARLIER_FAILED), 0);
    lower(call, workload, desired, DEADLINE, job_earlier(desired, EARLIER_SECONDS), 1);
}
