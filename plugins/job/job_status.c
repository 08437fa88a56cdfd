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

#include <stdlib.h>

#define CONDITIONS "/status/conditions"
#define START "/status/startTime"
#define COMPLETION "/status/completionTime"

static const char *const decided_type[] = {[SUCCESS] = "SuccessCriteriaMet", [FAILURE] = "FailureTarget"};
static const char *const finished_type[] = {[SUCCESS] = "Complete", [FAILURE] = "Failed"};

// What is known before anything is written.
struct view {
    const wharf_call *call;
    const wharf_value *workload, *mirror;
    enum outcome outcome;
    bool finished;
    bool in_vain;
};

static void put_count(const struct view *v, wharf_value *object, const char *pointer, int64_t count) {
    host->remove(v->call, object, pointer);
    if (count > 0)
        host->set_integer(v->call, object, pointer, count);
}

static void put_text(const struct view *v, wharf_value *object, const char *pointer, const char *text) {
    host->remove(v->call, object, pointer);
    if (text && *text)
        host->set_string(v->call, object, pointer, text);
}

// The text there if it is a time.
static const char *time_of(const wharf_value *value, const char *pointer) {
    const char *text = host->string(host->find(value, pointer));
    int64_t ns = 0;
    return host->parse_time(text, &ns) ? text : NULL;
}

// The mirror's conditions except for those that are dealt with one by one.
static void copy_conditions(const struct view *v, wharf_value *object) {
    static const char *const others[] = {"Suspended", "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"};
    wharf_value *conditions = host->new_array(v->call);
    for (const wharf_value *c = host->first(host->find(v->mirror, CONDITIONS)); c; c = host->next(c)) {
        bool is_other = !host->string(host->find(c, "/type"));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            is_other = is_other || host->is(c, "/type", others[i]);
        if (!is_other)
            host->set(v->call, conditions, "/-", c);
    }
    host->set(v->call, object, CONDITIONS, conditions);
}

static void append(const struct view *v, wharf_value *object, const wharf_value *condition) {
    host->set(v->call, object, CONDITIONS "/-", condition);
}

// A mirror that was never suspended has no condition Suspended. Where the workload has one, it goes to False, as it
// does when a Job is resumed, in the write that brings the new startTime (which the API server allows only so).
static void add_suspended(const struct view *v, wharf_value *object) {
    const wharf_value *there = host->condition(v->mirror, "Suspended", NULL);
    const wharf_value *before = host->condition(v->workload, "Suspended", NULL);
    if (there && !v->in_vain)
        append(v, object, there);
    else if (host->condition(v->workload, "Suspended", "True") && !job_is_suspended(v->workload) &&
             !job_is_suspended(v->mirror) && time_of(v->mirror, START))
        host->set_condition(v->call, object, "Suspended", "False", "JobResumed", "Job resumed");
    else if (before)
        append(v, object, before);
}

// Complete comes with SuccessCriteriaMet and Failed with FailureTarget, which workers before Kubernetes 1.31 do not
// write.
static void add_outcome(const struct view *v, wharf_value *object) {
    const char *decided = decided_type[v->outcome], *finished = finished_type[v->outcome];
    const wharf_value *end = host->condition(v->mirror, finished, "True");
    const wharf_value *decision = host->condition(v->mirror, decided, "True");
    if (!decision)
        decision = host->condition(v->workload, decided, "True");
    if (!decision) {
        wharf_value *like = host->copy(v->call, end);
        host->set_string(v->call, like, "/type", decided);
        decision = like;
    }
    append(v, object, decision);
    if (v->finished && end)
        append(v, object, end);
    else if (v->finished)
        host->set_condition(v->call, object, finished, "True", host->string(host->find(decision, "/reason")),
                            host->string(host->find(decision, "/message")));
}

static void write_conditions(const struct view *v, wharf_value *object) {
    copy_conditions(v, object);
    add_suspended(v, object);
    if (v->outcome != UNDECIDED)
        add_outcome(v, object);
    if (host->count(host->find(object, CONDITIONS)) == 0)
        host->remove(v->call, object, CONDITIONS);
}

// startTime is fixed unless the workload is suspended or has just been resumed. After write_conditions.
static const char *start_time(const struct view *v, const wharf_value *object, const char *completion) {
    const char *start = time_of(v->mirror, START), *before = time_of(v->workload, START);
    bool resumed = host->condition(v->workload, "Suspended", "True") && host->condition(object, "Suspended", "False");
    if (before && !job_is_suspended(v->workload) && !resumed)
        start = before;
    if (start || !v->finished)
        return start;
    // A finished Job has one; a worker may have taken it away when it was suspended.
    const char *ended = time_of(host->condition(object, finished_type[v->outcome], "True"), "/lastTransitionTime");
    if (before)
        return before;
    return completion ? completion : ended ? ended : v->call->now;
}

static void write_times(const struct view *v, wharf_value *object) {
    const char *completion = NULL;
    if (v->finished && v->outcome == SUCCESS)
        completion = time_of(v->mirror, COMPLETION) ? time_of(v->mirror, COMPLETION) : v->call->now;
    const char *start = start_time(v, object, completion);
    int64_t start_ns = 0, completion_ns = 0;
    if (host->parse_time(start, &start_ns) && host->parse_time(completion, &completion_ns) && completion_ns < start_ns)
        completion = start; // the clocks of two workers differ
    put_text(v, object, START, start);
    put_text(v, object, COMPLETION, completion);
}

// ready and terminating tell zero from unknown: they stay absent if they are.
static void write_pods(const struct view *v, wharf_value *object) {
    int64_t active = v->finished ? 0 : job_count(v->mirror, "/status/active");
    int64_t ready = job_count(v->mirror, "/status/ready");
    put_count(v, object, "/status/active", active);
    if (host->find(object, "/status/ready"))
        host->set_integer(v->call, object, "/status/ready", ready < active ? ready : active);
    if (host->find(object, "/status/terminating"))
        host->set_integer(v->call, object, "/status/terminating",
                          v->finished ? 0 : job_count(v->mirror, "/status/terminating"));
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t failed_in_all(const struct view *v) {
    const char *text = host->string(host->find(v->mirror, EARLIER_FAILED));
    long long earlier = text ? strtoll(text, NULL, 10) : 0;
    earlier = earlier < 0 ? 0 : earlier > INT32_MAX ? INT32_MAX : earlier;
    int64_t failed = earlier + job_count(v->mirror, "/status/failed");
    return greater(failed < INT32_MAX ? failed : INT32_MAX, job_count(v->workload, "/status/failed"));
}

// `keep`: what the workload has reported as completed is kept. False when out of memory.
static bool write_indexes(const struct view *v, wharf_value *object, bool keep, int64_t *completed) {
    const char *before = keep ? host->string(host->find(v->workload, "/status/completedIndexes")) : NULL;
    const char *there = host->string(host->find(v->mirror, "/status/completedIndexes"));
    const char *failed = host->string(host->find(v->mirror, "/status/failedIndexes"));
    int64_t limit = job_count(v->workload, "/spec/completions"), n_failed = 0;
    char *list = job_indexes(INDEXES_OF_BOTH, there, before, limit, completed);
    char *failed_list = list ? job_indexes(INDEXES_WITHOUT, failed, list, limit, &n_failed) : NULL;
    put_text(v, object, "/status/completedIndexes", list);
    if (failed && host->integer(host->find(v->workload, "/spec/backoffLimitPerIndex"), -1) >= 0)
        host->set_string(v->call, object, "/status/failedIndexes", failed_list);
    else
        host->remove(v->call, object, "/status/failedIndexes");
    bool ok = failed_list;
    free(failed_list);
    free(list);
    return ok;
}

static bool write_counts(const struct view *v, wharf_value *object) {
    bool indexed = host->is(v->workload, "/spec/completionMode", "Indexed"), ok = true;
    // Such a Job may be scaled down, and then counts only the indexes that it still has.
    bool may_fall = indexed && host->equal(host->find(v->workload, "/spec/completions"),
                                           host->find(v->workload, "/spec/parallelism"));
    int64_t succeeded = job_count(v->mirror, "/status/succeeded");
    if (indexed) {
        ok = write_indexes(v, object, !may_fall || v->call->attempt > 1, &succeeded);
    } else {
        host->remove(v->call, object, "/status/completedIndexes");
        host->remove(v->call, object, "/status/failedIndexes");
    }
    put_count(v, object, "/status/succeeded",
              may_fall ? succeeded : greater(succeeded, job_count(v->workload, "/status/succeeded")));
    put_count(v, object, "/status/failed", failed_in_all(v));
    return ok;
}

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *object) {
    if (job_is_finished(workload))
        host->take(call, object, workload, "/status");
    if (!mirror || job_is_finished(workload))
        return WHARF_OK;
    struct view v = {call, workload, mirror, job_outcome(workload), job_is_finished(mirror), false};
    v.in_vain = job_runs_in_vain(workload, mirror);
    if (v.outcome == UNDECIDED)
        v.outcome = job_outcome(mirror);
    // A mirror that runs in vain is suspended: it is over once its controller says that no pod is left.
    if (v.in_vain && job_is_suspended(mirror) && host->condition(mirror, "Suspended", "True") &&
        job_count(mirror, "/status/active") == 0 && job_count(mirror, "/status/terminating") == 0)
        v.finished = true;
    write_conditions(&v, object);
    write_times(&v, object);
    write_pods(&v, object);
    return write_counts(&v, object) ? WHARF_OK : WHARF_RETRY;
}
