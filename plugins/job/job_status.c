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
        host->set_integer(v->call, v->object, pointer, count);
}

static void append(const struct view *v, const wharf_value *condition) {
    host->set(v->call, v->object, CONDITIONS "/-", condition);
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
        append(v, there);
    else if (host->condition(v->workload, "Suspended", "True") && !job_is_suspended(v->workload) &&
             !job_is_suspended(v->mirror) && host->find(v->mirror, START))
        host->set_condition(v->call, v->object, "Suspended", "False", "JobResumed", "Job resumed");
    else if (before)
        append(v, before);
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
    append(v, made);
    if (v->finished && end)
        append(v, end);
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
        const wharf_value *times[] = {host->find(v->workload, START), host->find(v->object, COMPLETION),
                                      host->find(ended, "/lastTransitionTime")};
        const wharf_value *start = times[0] ? times[0] : times[1] ? times[1] : times[2];
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

// `keep`: what the workload has reported as completed is kept. Returns how many are completed.
static int64_t write_indexes(const struct view *v, bool keep) {
    const char *before = keep ? host->string(host->find(v->workload, "/status/completedIndexes")) : NULL;
    const char *failed = host->string(host->find(v->mirror, "/status/failedIndexes"));
    int64_t limit = job_count(v->workload, "/spec/completions"), completed = 0, n_failed = 0;
    const char *list =
        job_indexes(v->call, INDEXES_OF_BOTH, host->string(host->find(v->mirror, "/status/completedIndexes")), before,
                    limit, &completed);
    if (completed > 0)
        host->set_string(v->call, v->object, "/status/completedIndexes", list);
    else
        host->remove(v->call, v->object, "/status/completedIndexes");
    if (failed && host->integer(host->find(v->workload, "/spec/backoffLimitPerIndex"), -1) >= 0)
        host->set_string(v->call, v->object, "/status/failedIndexes",
                         job_indexes(v->call, INDEXES_WITHOUT, failed, list, limit, &n_failed));
    else
        host->remove(v->call, v->object, "/status/failedIndexes");
    return completed;
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void write_counts(const struct view *v) {
    bool indexed = host->is(v->workload, "/spec/completionMode", "Indexed");
    // Such a Job may be scaled down, and then counts only the indexes that it still has.
    bool may_fall = indexed && host->equal(host->find(v->workload, "/spec/completions"),
                                           host->find(v->workload, "/spec/parallelism"));
    int64_t succeeded = job_count(v->mirror, "/status/succeeded");
    if (indexed) {
        succeeded = write_indexes(v, !may_fall || v->call->attempt > 1);
    } else {
        host->remove(v->call, v->object, "/status/completedIndexes");
        host->remove(v->call, v->object, "/status/failedIndexes");
    }
    put_count(v, "/status/succeeded",
              may_fall ? succeeded : greater(succeeded, job_count(v->workload, "/status/succeeded")));
    const char *text = host->string(host->find(v->mirror, EARLIER_FAILED));
    int64_t earlier = text ? strtol(text, NULL, 10) : 0, failed = job_count(v->mirror, "/status/failed");
    failed = earlier > 0 && earlier < INT32_MAX - failed ? earlier + failed : earlier > 0 ? INT32_MAX : failed;
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
    if (v.outcome == UNDECIDED)
        v.outcome = job_outcome(mirror);
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
