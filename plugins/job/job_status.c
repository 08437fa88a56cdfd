// SPDX-License-Identifier: Apache-2.0
// The status of a workload from that of its mirror, such that the API server accepts it after the one that the workload
// has (getStatusValidationOptions, validateJobStatus, ValidateJobStatusUpdate). For a first attempt that is a copy.
// What an earlier attempt has reported stays true:
//   - failed: what earlier attempts counted is added. It never falls.
//   - succeeded, completedIndexes: an index that has completed once stays so, and succeeded is their number. Without
//     indexes the greater of both counts: a new attempt repeats what the earlier one did.
//   - failedIndexes: those of the mirror alone, since an attempt tries all of them again, but none that has completed.
//   - the outcome: SuccessCriteriaMet and FailureTarget cannot be taken back, nor followed by the other end. The one
//     that the workload has is what will be reported, whatever a later attempt comes to.
// A count of zero is absent and an empty list too, as the API server writes them: else they would differ for ever.
#include "job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONDITIONS "/status/conditions"
#define START "/status/startTime"
#define COMPLETION "/status/completionTime"
#define COMPLETED "/status/completedIndexes"
#define FAILED "/status/failedIndexes"

static const char *const decided_type[] = {[SUCCESS] = "SuccessCriteriaMet", [FAILURE] = "FailureTarget"};
static const char *const finished_type[] = {[SUCCESS] = "Complete", [FAILURE] = "Failed"};

// What is known before anything is written. `object` has the mirror's status.
struct view {
    const wharf_call *call;
    const wharf_value *workload, *mirror;
    wharf_value *object;
    enum outcome outcome;
    bool finished;
    bool in_vain; // the end was decided by an earlier attempt: this mirror has nothing to run for
};

static void put_count(const struct view *v, const char *pointer, int64_t count) {
    host->remove(v->call, v->object, pointer);
    if (count > 0)
        host->set_integer(v->call, v->object, pointer, count < INT32_MAX ? count : INT32_MAX);
}

// Leaves those of the mirror's conditions that are not dealt with one by one.
static void clear_conditions(const struct view *v) {
    static const char *const types[] = {"Suspended", "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"};
    wharf_value *kept = host->new_array(v->call);
    for (const wharf_value *c = host->first(host->find(v->mirror, CONDITIONS)); c; c = host->next(c)) {
        bool is_kept = host->string(host->find(c, "/type"));
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            is_kept = is_kept && !host->is(c, "/type", types[i]);
        if (is_kept)
            host->set(v->call, kept, "/-", c);
    }
    host->set(v->call, v->object, CONDITIONS, kept);
}

// A mirror that was never suspended has no condition Suspended. Where the workload has one, it goes to False, as it
// does when a Job is resumed, in the write that brings the new startTime (which the API server allows only so).
static void add_suspended(const struct view *v) {
    const wharf_value *there = host->condition(v->mirror, "Suspended", NULL);
    const wharf_value *before = host->condition(v->workload, "Suspended", NULL);
    if (there && !v->in_vain)
        host->set(v->call, v->object, CONDITIONS "/-", there);
    else if (host->condition(v->workload, "Suspended", "True") && !job_is_suspended(v->workload) &&
             !job_is_suspended(v->mirror) && host->find(v->mirror, START))
        host->set_condition(v->call, v->object, "Suspended", "False", "JobResumed", "Job resumed");
    else if (before)
        host->set(v->call, v->object, CONDITIONS "/-", before);
}

// Complete comes with SuccessCriteriaMet and Failed with FailureTarget, which workers before Kubernetes 1.31 do not
// write.
static void add_outcome(const struct view *v) {
    const char *decided = decided_type[v->outcome], *finished = finished_type[v->outcome];
    const wharf_value *end = host->condition(v->mirror, finished, "True");
    const wharf_value *decision = host->condition(v->mirror, decided, "True");
    if (!decision)
        decision = host->condition(v->workload, decided, "True");
    wharf_value *made = host->copy(v->call, decision ? decision : end);
    host->set_string(v->call, made, "/type", decided);
    host->set(v->call, v->object, CONDITIONS "/-", made);
    if (v->finished && end)
        host->set(v->call, v->object, CONDITIONS "/-", end);
    else if (v->finished)
        host->set_condition(v->call, v->object, finished, "True", host->string(host->find(made, "/reason")),
                            host->string(host->find(made, "/message")));
}

// startTime is fixed unless the workload is suspended or has just been resumed. After the conditions.
static void write_times(const struct view *v) {
    bool resumed =
        host->condition(v->workload, "Suspended", "True") && host->condition(v->object, "Suspended", "False");
    if (host->find(v->workload, START) && !job_is_suspended(v->workload) && !resumed)
        host->take(v->call, v->object, v->workload, START);
    if (!v->finished || v->outcome != SUCCESS)
        host->remove(v->call, v->object, COMPLETION);
    else if (!host->find(v->object, COMPLETION))
        host->set_string(v->call, v->object, COMPLETION, v->call->now);
    if (v->finished && !host->find(v->object, START)) { // taken away by a worker that suspended it
        const wharf_value *ended = host->condition(v->object, finished_type[v->outcome], "True");
        const wharf_value *start = host->find(v->workload, START);
        start = start ? start : host->find(v->object, COMPLETION);
        start = start ? start : host->find(ended, "/lastTransitionTime");
        host->set(v->call, v->object, START, start ? start : host->new_string(v->call, v->call->now));
    }
    int64_t start_ns = 0, completion_ns = 0;
    if (host->parse_time(host->string(host->find(v->object, START)), &start_ns) &&
        host->parse_time(host->string(host->find(v->object, COMPLETION)), &completion_ns) && completion_ns < start_ns)
        host->set(v->call, v->object, COMPLETION, host->find(v->object, START)); // the clocks of two workers differ
}

// ready and terminating tell zero from unknown: they stay absent if they are.
static void write_pods(const struct view *v) {
    int64_t active = v->finished ? 0 : job_count(v->mirror, "/status/active");
    int64_t ready = job_count(v->mirror, "/status/ready");
    put_count(v, "/status/active", active);
    if (host->find(v->object, "/status/ready"))
        host->set_integer(v->call, v->object, "/status/ready", ready < active ? ready : active);
    if (host->find(v->object, "/status/terminating"))
        host->set_integer(v->call, v->object, "/status/terminating",
                          v->finished ? 0 : job_count(v->mirror, "/status/terminating"));
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

enum operation { UNION, DIFFERENCE };

// Reads along a list. At its end, first is INT64_MAX.
struct cursor {
    const char *text;
    int64_t first, last;
};

// Goes on to the next interval. One that does not begin with a number is empty.
static void next_interval(struct cursor *cursor) {
    const char *text = cursor->text;
    char *end = NULL;
    cursor->first = cursor->last = *text ? strtol(text, &end, 10) : INT64_MAX;
    if (end == text)
        cursor->last = -1;
    else if (end && *end == '-')
        cursor->last = strtol(end + 1, &end, 10);
    cursor->last = cursor->last > INT32_MAX && end ? INT32_MAX : cursor->last;
    cursor->text += strcspn(text, ",");
    cursor->text += *cursor->text == ',';
}

// Whether `at` is in the list; *until is lowered to where that changes.
static bool contains(struct cursor *cursor, int64_t at, int64_t *until) {
    while (cursor->last < at)
        next_interval(cursor);
    bool in = cursor->first <= at;
    int64_t change = in ? cursor->last + 1 : cursor->first;
    *until = change < *until ? change : *until;
    return in;
}

// The notation of the Job controller: an interval of two is written as two indexes.
static size_t write_interval(char *out, size_t len, size_t size, int64_t first, int64_t last) {
    len += (size_t)snprintf(out + len, size - len, "%s%" PRId64, len ? "," : "", first);
    if (last > first)
        len += (size_t)snprintf(out + len, size - len, "%c%" PRId64, last == first + 1 ? ',' : '-', last);
    return len;
}

// Lists of indexes as in /status/completedIndexes ("0-2,4,5"). What is malformed in them is skipped, as is all from
// `limit` on; NULL is an empty list. *total is the length of the result, which is NULL when out of memory.
static const char *combine_indexes(const wharf_call *call, enum operation operation, const char *a, const char *b,
                                   int64_t limit, int64_t *total) {
    struct cursor of_a = {a ? a : "", 0, -1}, of_b = {b ? b : "", 0, -1};
    // A number of d digits begins and ends at most one interval each, which takes 2 * (d + 2) bytes.
    size_t size = 4 * (strlen(of_a.text) + strlen(of_b.text)) + 64, len = 0;
    char *out = host->memory(call, size);
    int64_t open = -1; // where the interval that is not yet written begins
    *total = 0;
    for (int64_t at = 0, until = limit; out && at < limit; at = until, until = limit) {
        bool in_a = contains(&of_a, at, &until), in_b = contains(&of_b, at, &until);
        bool in = operation == UNION ? in_a || in_b : in_a && !in_b;
        *total += in ? until - at : 0;
        if (in && open < 0)
            open = at;
        if (open >= 0 && (!in || until == limit)) {
            len = write_interval(out, len, size, open, in ? limit - 1 : at - 1);
            open = -1;
        }
    }
    return out;
}

// `keep`: what the workload has reported as completed is kept. Returns how many are completed.
static int64_t write_indexes(const struct view *v, bool keep) {
    const char *before = keep ? host->string(host->find(v->workload, COMPLETED)) : NULL;
    const char *there = host->string(host->find(v->mirror, COMPLETED));
    const char *failed = host->string(host->find(v->mirror, FAILED));
    int64_t limit = job_count(v->workload, "/spec/completions"), completed = 0, n_failed = 0;
    const char *list = combine_indexes(v->call, UNION, there, before, limit, &completed);
    if (completed > 0)
        host->set_string(v->call, v->object, COMPLETED, list);
    if (failed && host->integer(host->find(v->workload, "/spec/backoffLimitPerIndex"), -1) >= 0)
        host->set_string(v->call, v->object, FAILED,
                         combine_indexes(v->call, DIFFERENCE, failed, list, limit, &n_failed));
    return completed;
}

static void write_counts(const struct view *v) {
    bool indexed = host->is(v->workload, "/spec/completionMode", "Indexed");
    // Such a Job may be scaled down, and then counts only the indexes that it still has.
    bool may_fall = indexed && host->equal(host->find(v->workload, "/spec/completions"),
                                           host->find(v->workload, "/spec/parallelism"));
    host->remove(v->call, v->object, COMPLETED);
    host->remove(v->call, v->object, FAILED);
    int64_t succeeded =
        indexed ? write_indexes(v, !may_fall || v->call->attempt > 1) : job_count(v->mirror, "/status/succeeded");
    put_count(v, "/status/succeeded",
              may_fall ? succeeded : greater(succeeded, job_count(v->workload, "/status/succeeded")));
    const char *text = host->string(host->find(v->mirror, EARLIER_FAILED));
    int64_t earlier = text ? strtol(text, NULL, 10) : 0;
    earlier = earlier < 0 ? 0 : earlier < INT32_MAX ? earlier : INT32_MAX;
    int64_t failed = earlier + job_count(v->mirror, "/status/failed");
    put_count(v, "/status/failed", greater(failed, job_count(v->workload, "/status/failed")));
}

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *object) {
    if (job_is_finished(workload))
        host->take(call, object, workload, "/status");
    if (!mirror || job_is_finished(workload))
        return WHARF_OK;
    struct view v = {call, workload, mirror, object, job_outcome(workload), job_is_finished(mirror), false};
    v.in_vain = v.outcome != UNDECIDED && job_outcome(mirror) == UNDECIDED;
    v.outcome = v.outcome != UNDECIDED ? v.outcome : job_outcome(mirror);
    // A mirror that runs in vain is suspended: it is over once its controller says that no pod is left.
    if (v.in_vain && job_is_suspended(mirror) && host->condition(mirror, "Suspended", "True") &&
        job_count(mirror, "/status/active") == 0 && job_count(mirror, "/status/terminating") == 0)
        v.finished = true;
    if (!host->find(mirror, "/status"))
        host->remove(call, object, "/status"); // it is the workload's
    clear_conditions(&v);
    add_suspended(&v);
    if (v.outcome != UNDECIDED)
        add_outcome(&v);
    if (host->count(host->find(object, CONDITIONS)) == 0)
        host->remove(call, object, CONDITIONS);
    write_times(&v);
    write_pods(&v);
    write_counts(&v);
    return WHARF_OK;
}
