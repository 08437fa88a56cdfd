// SPDX-License-Identifier: Apache-2.0
// The remaining work of a Job for a further attempt. The Job controller of a worker counts a mirror's pods from zero,
// and the deadline from the mirror's start, so that a mirror with the workload's limits would have the whole limits
// once more:
//   - from backoffLimit the adapter subtracts the failures of earlier attempts;
//   - from activeDeadlineSeconds the time since the workload's startTime, which stays across attempts. A resumed Job
//     has the whole deadline again (syncJob), and so has the mirror;
//   - from completions without indexes the successes. A gang of more pods than are left would wait for ever, so the
//     adapter lowers minCount too.
// Indexes run again: no field of a Job marks an index as completed. Annotations of the mirror record the results of
// earlier attempts at the creation of the mirror: limits of the workload may change later.
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

void job_note_earlier(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    bool indexed = host->is(workload, "/spec/completionMode", "Indexed");
    bool counted = !indexed && host->find(workload, COMPLETIONS);
    int64_t deadline = host->integer(host->find(workload, DEADLINE), -1);
    set_count(call, mirror, EARLIER_FAILED, job_count(workload, "/status/failed"));
    set_count(call, mirror, EARLIER_SUCCEEDED, counted ? job_count(workload, "/status/succeeded") : 0);
    set_count(call, mirror, EARLIER_SECONDS, deadline > 0 ? seconds_since_start(call, workload) : 0);
    lower(call, workload, mirror, COMPLETIONS, job_earlier(mirror, EARLIER_SUCCEEDED), 0);
    lower(call, workload, mirror, BACKOFF_LIMIT, job_earlier(mirror, EARLIER_FAILED), 0);
    lower(call, workload, mirror, DEADLINE, job_earlier(mirror, EARLIER_SECONDS), 1);
}

// Without minCount the gang has parallelism pods (defaultMinCountForJob).
void job_fit_gang(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t most = host->integer(host->find(mirror, PARALLELISM), 1);
    int64_t left = host->integer(host->find(mirror, COMPLETIONS), most);
    bool lowered = left < most && !host->equal(host->find(mirror, COMPLETIONS), host->find(workload, COMPLETIONS));
    int64_t gang = host->integer(host->find(mirror, MIN_COUNT), lowered ? most : 0);
    most = lowered ? left : most;
    if (host->find(mirror, GANG) && gang > most)
        host->set_integer(call, mirror, MIN_COUNT, most > 1 ? most : 1);
}

wharf_result job_pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    int64_t pods = host->integer(host->find(sets, "/0/count"), 0);
    int64_t left = host->integer(host->find(workload, COMPLETIONS), -1);
    if (left < 0 || host->count(sets) == 0)
        return WHARF_OK;
    if (!host->is(workload, "/spec/completionMode", "Indexed"))
        left -= job_count(workload, "/status/succeeded");
    if (left < pods)
        host->set_integer(call, sets, "/0/count", left > 0 ? left : 0);
    return WHARF_OK;
}

void job_keep_left(const wharf_call *call, const wharf_value *workload, wharf_value *desired) {
    if (host->is(workload, SUSPEND, "true"))
        host->remove(call, desired, EARLIER_SECONDS);
    lower(call, workload, desired, BACKOFF_LIMIT, job_earlier(desired, EARLIER_FAILED), 0);
    lower(call, workload, desired, DEADLINE, job_earlier(desired, EARLIER_SECONDS), 1);
}
