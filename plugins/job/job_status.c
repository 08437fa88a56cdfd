// SPDX-License-Identifier: Apache-2.0
// The status of a workload from the mirror's status, as a successor that the API server accepts after the workload's
// status (getStatusValidationOptions, validateJobStatus, ValidateJobStatusUpdate). For a first attempt that is a copy.
// A further attempt that goes on has the counts of earlier ones (job_progress.c), so its status is a copy, too. Reports
// of earlier attempts stay true also where a mirror counts from zero (job_left.c):
//   - failed, succeeded: the greater count of workload and mirror, after the addition of the earlier counts that the
//     mirror's spec and annotations state;
//   - completedIndexes: an index that has completed once stays so, and succeeded is their number;
//   - failedIndexes: only the mirror's, since an attempt from nothing retries all indexes, but no completed index;
//   - the outcome: SuccessCriteriaMet and FailureTarget are final and exclude each other. The workload's outcome stays,
//     for any result of a later attempt.
// As in the API server's output, zero counts and empty lists are absent: else the two statuses would differ for ever.
#include "job.h"

#define START "/status/startTime"
#define COMPLETION "/status/completionTime"

static const char *const decided_type[] = {[SUCCESS] = "SuccessCriteriaMet", [FAILURE] = "FailureTarget"};
static const char *const finished_type[] = {[SUCCESS] = "Complete", [FAILURE] = "Failed"};

// The facts before the first change. `object` has the mirror's status.
struct view {
    const wharf_call *call;
    const wharf_value *workload, *mirror;
    wharf_value *object;
    enum outcome outcome;
    bool finished;
};

// A counter that may not fall is at least the workload's.
static void put_count(const struct view *v, const char *pointer, int64_t count, bool may_fall) {
    int64_t least = may_fall ? 0 : job_count(v->workload, pointer);
    count = count < least ? least : count;
    host->remove(v->call, v->object, pointer);
    if (count > 0)
        host->set_integer(v->call, v->object, pointer, count < INT32_MAX ? count : INT32_MAX);
}

// Keeps only the mirror's conditions without a rule in this file.
static void clear_conditions(const struct view *v) {
    static const char *const types[] = {"Suspended", "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed", NULL};
    host->set(v->call, v->object, CONDITIONS, host->new_array(v->call));
    for (const wharf_value *c = host->first(host->find(v->mirror, CONDITIONS)); c; c = host->next(c)) {
        const char *const *type = types;
        while (*type && !host->is(c, "/type", *type))
            type++;
        if (!*type && host->string(host->find(c, "/type")))
            host->set(v->call, v->object, CONDITIONS "/-", c);
    }
}

// The host suspends the mirror of a further attempt until it has its progress, with which it may be complete. The user
// did not suspend the workload, whose startTime stays.
static bool is_suspended_by_host(const struct view *v) {
    bool by_worker = host->is(v->mirror, SUSPEND, "true") && !host->is(v->mirror, PROGRESS, "owed");
    return host->find(v->mirror, PROGRESS) && !by_worker && !host->is(v->workload, SUSPEND, "true") &&
           !host->condition(v->workload, "Suspended", "True");
}

// A mirror that was never suspended has no condition Suspended. The workload's condition becomes False, as in a resumed
// Job, in the write with the new startTime (which the API server allows only so).
static void add_suspended(const struct view *v, bool in_vain) {
    const wharf_value *there =
        in_vain || is_suspended_by_host(v) ? NULL : host->condition(v->mirror, "Suspended", NULL);
    const wharf_value *before = host->condition(v->workload, "Suspended", NULL);
    bool resumed = host->is(before, "/status", "True") && !host->is(v->workload, SUSPEND, "true") &&
                   !host->is(v->mirror, SUSPEND, "true") && host->find(v->mirror, START);
    if (!there && resumed)
        host->set_condition(v->call, v->object, "Suspended", "False", "JobResumed", "Job resumed");
    else if (there || before)
        host->set(v->call, v->object, CONDITIONS "/-", there ? there : before);
}

// Workers before Kubernetes 1.31 write Complete without SuccessCriteriaMet, and Failed without FailureTarget.
static void add_outcome(const struct view *v) {
    const char *decided = decided_type[v->outcome], *finished = finished_type[v->outcome];
    const wharf_value *end = host->condition(v->mirror, finished, "True");
    const wharf_value *decision = host->condition(v->mirror, decided, "True");
    decision = decision ? decision : host->condition(v->workload, decided, "True");
    wharf_value *made = host->copy(v->call, decision ? decision : end);
    host->set_string(v->call, made, "/type", decided);
    host->set(v->call, v->object, CONDITIONS "/-", made);
    if (v->finished && end)
        host->set(v->call, v->object, CONDITIONS "/-", end);
    else if (v->finished)
        host->set_condition(v->call, v->object, finished, "True", host->string(host->find(made, "/reason")),
                            host->string(host->find(made, "/message")));
}

static void write_conditions(const struct view *v, bool in_vain) {
    clear_conditions(v);
    add_suspended(v, in_vain);
    if (v->outcome != UNDECIDED)
        add_outcome(v);
    if (host->count(host->find(v->object, CONDITIONS)) == 0)
        host->remove(v->call, v->object, CONDITIONS);
}

// startTime is fixed unless the workload is suspended or newly resumed. After the conditions.
static void write_times(const struct view *v) {
    bool resumed =
        host->condition(v->workload, "Suspended", "True") && host->condition(v->object, "Suspended", "False");
    if (host->find(v->workload, START) && !host->is(v->workload, SUSPEND, "true") && !resumed)
        host->take(v->call, v->object, v->workload, START);
    if (!v->finished || v->outcome != SUCCESS)
        host->remove(v->call, v->object, COMPLETION);
    else if (!host->find(v->object, COMPLETION))
        host->set_string(v->call, v->object, COMPLETION, v->call->now);
    if (v->finished && !host->find(v->object, START)) { // removed by a suspending worker
        const wharf_value *ended = host->condition(v->object, finished_type[v->outcome], "True");
        const wharf_value *start = host->find(v->workload, START);
        start = start ? start : host->find(v->object, COMPLETION);
        start = start ? start : host->find(ended, "/lastTransitionTime");
        host->set(v->call, v->object, START, start ? start : host->new_string(v->call, v->call->now));
    }
    int64_t start_ns = 0, completion_ns = 0;
    if (host->parse_time(host->string(host->find(v->object, COMPLETION)), &completion_ns) &&
        host->parse_time(host->string(host->find(v->object, START)), &start_ns) && completion_ns < start_ns)
        host->set(v->call, v->object, COMPLETION, host->find(v->object, START)); // the clocks of two workers differ
}

// An absent ready or terminating means unknown, not zero, and stays absent.
static void write_pods(const struct view *v) {
    int64_t active = v->finished ? 0 : job_count(v->mirror, "/status/active");
    int64_t ready = job_count(v->mirror, "/status/ready");
    put_count(v, "/status/active", active, true);
    if (host->find(v->object, "/status/ready"))
        host->set_integer(v->call, v->object, "/status/ready", ready < active ? ready : active);
    if (host->find(v->object, "/status/terminating"))
        host->set_integer(v->call, v->object, "/status/terminating",
                          v->finished ? 0 : job_count(v->mirror, "/status/terminating"));
}

// Writes the list, and returns how many indexes it has.
static int64_t put_indexes(const struct view *v, const char *pointer, const char *a, enum index_operation operation,
                           const char *b) {
    int64_t total = 0;
    host->set_string(v->call, v->object, pointer,
                     job_indexes(v->call, a, operation, b, job_count(v->workload, COMPLETIONS), &total));
    return total;
}

static void write_indexes(const struct view *v) {
    const char *there = host->string(host->find(v->mirror, COMPLETED_INDEXES));
    const char *failed = host->string(host->find(v->mirror, FAILED_INDEXES));
    // Such a Job may scale down, and then counts only the remaining indexes. A first attempt may have been made again.
    bool may_fall = host->equal(host->find(v->workload, COMPLETIONS), host->find(v->workload, "/spec/parallelism"));
    bool first = v->call->attempt <= 1 && !host->find(v->mirror, PROGRESS);
    const char *kept = may_fall && first ? NULL : host->string(host->find(v->workload, COMPLETED_INDEXES));
    int64_t completed = put_indexes(v, COMPLETED_INDEXES, there, INDEXES_OR, kept);
    if (failed && host->integer(host->find(v->workload, LIMIT_PER_INDEX), -1) >= 0)
        put_indexes(v, FAILED_INDEXES, failed, INDEXES_WITHOUT, host->string(host->find(v->object, COMPLETED_INDEXES)));
    if (completed == 0)
        host->remove(v->call, v->object, COMPLETED_INDEXES);
    // Skip a list that exceeds the size limit; the count stays.
    int64_t counted = there ? 0 : job_count(v->mirror, SUCCEEDED);
    int64_t completions = job_count(v->workload, COMPLETIONS);
    counted = counted < completions ? counted : completions;
    completed = completed > counted ? completed : counted;
    put_count(v, SUCCEEDED, completed, may_fall);
}

static void write_counts(const struct view *v) {
    host->remove(v->call, v->object, COMPLETED_INDEXES);
    host->remove(v->call, v->object, FAILED_INDEXES);
    if (host->is(v->workload, COMPLETION_MODE, "Indexed"))
        write_indexes(v);
    else
        put_count(v, SUCCEEDED, job_earlier_succeeded(v->workload, v->mirror) + job_count(v->mirror, SUCCEEDED), false);
    put_count(v, FAILED, job_earlier(v->mirror, EARLIER_FAILED) + job_count(v->mirror, FAILED), false);
}

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *object) {
    // An earlier outcome stays although no cluster accepts the workload.
    enum outcome decided = job_outcome(workload);
    bool finished = decided != UNDECIDED && job_is_finished(workload);
    if (finished || (!mirror && decided == SUCCESS && host->condition(object, "Failed", "True")))
        host->take(call, object, workload, "/status");
    if (!mirror || finished)
        return WHARF_OK;
    enum outcome reached = job_outcome(mirror);
    struct view v = {call, workload, mirror, object, decided, reached != UNDECIDED && job_is_finished(mirror)};
    // After an earlier outcome the mirror runs in vain: the host suspends the mirror, and the attempt ends with the
    // last pod.
    bool in_vain = decided != UNDECIDED && reached == UNDECIDED;
    v.outcome = decided != UNDECIDED ? decided : reached;
    if (in_vain && host->is(mirror, SUSPEND, "true") && host->condition(mirror, "Suspended", "True") &&
        job_count(mirror, "/status/active") == 0 && job_count(mirror, "/status/terminating") == 0)
        v.finished = true;
    if (!host->find(mirror, "/status") || !host->find(object, "/status"))
        host->set(call, object, "/status", host->new_object(call)); // the existing value is the workload's
    if (host->find(mirror, CONDITIONS) || host->find(workload, CONDITIONS))
        write_conditions(&v, in_vain);
    write_times(&v);
    write_pods(&v);
    write_counts(&v);
    return WHARF_OK;
}
