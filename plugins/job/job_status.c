// SPDX-License-Identifier: Apache-2.0
// The status of a workload from that of its mirror, such that the API server takes it after the one that the workload
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
#include <string.h>

static const char *const decided_type[] = {[SUCCESS] = "SuccessCriteriaMet", [FAILURE] = "FailureTarget"};
static const char *const finished_type[] = {[SUCCESS] = "Complete", [FAILURE] = "Failed"};

// What is known before anything is written.
struct view {
    const wharf_call *call;
    const wharf_value *workload, *mirror;
    const wharf_value *before, *there; // their statuses
    enum outcome outcome;
    bool finished;
    bool in_vain;
};

static bool put_count(wharf_value *status, const char *pointer, int64_t count) {
    host->remove(status, pointer);
    return count == 0 || host->set_integer(status, pointer, count);
}

static bool put_text(wharf_value *status, const char *pointer, const char *text) {
    host->remove(status, pointer);
    return !text || !*text || host->set_string(status, pointer, text);
}

static bool read_time(const char *text, int64_t *ns) {
    return text && host->parse_time(text, ns);
}

static const char *time_of(const wharf_value *value, const char *pointer) {
    const char *text = host->string(host->find(value, pointer));
    int64_t ns = 0;
    return read_time(text, &ns) ? text : NULL;
}

static wharf_value *new_condition(const wharf_call *call, const char *type, const char *value, const char *reason,
                                  const char *message) {
    wharf_value *condition = host->new_object(call);
    bool ok = host->set_string(condition, "/type", type) && host->set_string(condition, "/status", value) &&
              host->set_string(condition, "/lastProbeTime", call->now) &&
              host->set_string(condition, "/lastTransitionTime", call->now) &&
              host->set_string(condition, "/reason", reason) && host->set_string(condition, "/message", message);
    return ok ? condition : NULL;
}

// A condition with the reason and the message of another one, and its times, or the present one.
static wharf_value *condition_like(const wharf_call *call, const wharf_value *other, const char *type,
                                   const char *now) {
    wharf_value *condition = host->copy(call, other);
    bool ok = host->set_string(condition, "/type", type);
    if (now)
        ok = ok && host->set_string(condition, "/lastProbeTime", now) &&
             host->set_string(condition, "/lastTransitionTime", now);
    return ok ? condition : NULL;
}

static bool append(wharf_value *conditions, const wharf_value *condition) {
    return host->set(conditions, "/-", condition);
}

// The mirror's conditions but for those that are dealt with one by one.
static wharf_value *other_conditions(const struct view *v) {
    wharf_value *conditions = host->new_array(v->call);
    for (const wharf_value *c = host->first(host->find(v->there, "/conditions")); c; c = host->next(c)) {
        const char *type = host->string(host->find(c, "/type"));
        bool skip = !type || strcmp(type, "Suspended") == 0;
        for (int end = SUCCESS; type && end <= FAILURE; end++)
            skip = skip || strcmp(type, decided_type[end]) == 0 || strcmp(type, finished_type[end]) == 0;
        if (!skip && !append(conditions, c))
            return NULL;
    }
    return conditions;
}

// A mirror that was never suspended has no condition Suspended. Where the workload has one, it goes to False, as it
// does when a Job is resumed, in the write that brings the new startTime (which the API server allows only so).
static bool add_suspended(const struct view *v, wharf_value *conditions) {
    const wharf_value *there = host->find_where(v->there, "/conditions", "type", "Suspended");
    if (there && !v->in_vain)
        return append(conditions, there);
    const wharf_value *before = host->find_where(v->before, "/conditions", "type", "Suspended");
    bool resumed = job_condition(v->before, "Suspended", "True") && !job_is_suspended(v->workload) &&
                   !job_is_suspended(v->mirror) && time_of(v->there, "/startTime");
    if (resumed)
        return append(conditions, new_condition(v->call, "Suspended", "False", "JobResumed", "Job resumed"));
    return !before || append(conditions, before);
}

// Complete comes with SuccessCriteriaMet and Failed with FailureTarget, which workers before Kubernetes 1.31 do not
// write.
static bool add_outcome(const struct view *v, wharf_value *conditions) {
    if (v->outcome == UNDECIDED)
        return true;
    const char *decided = decided_type[v->outcome], *finished = finished_type[v->outcome];
    const wharf_value *end = job_condition(v->there, finished, "True");
    const wharf_value *decision = job_condition(v->there, decided, "True");
    if (!decision)
        decision = job_condition(v->before, decided, "True");
    if (!decision)
        decision = condition_like(v->call, end, decided, NULL);
    if (v->finished && !end)
        end = condition_like(v->call, decision, finished, v->call->now);
    return append(conditions, decision) && (!v->finished || append(conditions, end));
}

static bool write_conditions(const struct view *v, wharf_value *status) {
    wharf_value *conditions = other_conditions(v);
    if (!conditions || !add_suspended(v, conditions) || !add_outcome(v, conditions))
        return false;
    host->remove(status, "/conditions");
    return host->count(conditions) == 0 || host->set(status, "/conditions", conditions);
}

// startTime is fixed unless the workload is suspended or has just been resumed. After write_conditions.
static const char *start_time(const struct view *v, const wharf_value *status, const char *completion) {
    const char *start = time_of(v->there, "/startTime"), *before = time_of(v->before, "/startTime");
    bool resumed = job_condition(v->before, "Suspended", "True") && job_condition(status, "Suspended", "False");
    if (before && !job_is_suspended(v->workload) && !resumed)
        start = before;
    if (start || !v->finished)
        return start;
    // A finished Job has one; a worker may have taken it away when it was suspended.
    const char *ended = time_of(job_condition(status, finished_type[v->outcome], "True"), "/lastTransitionTime");
    if (before)
        return before;
    return completion ? completion : ended ? ended : v->call->now;
}

static bool write_times(const struct view *v, wharf_value *status) {
    const char *completion = NULL;
    if (v->finished && v->outcome == SUCCESS)
        completion = time_of(v->there, "/completionTime") ? time_of(v->there, "/completionTime") : v->call->now;
    const char *start = start_time(v, status, completion);
    int64_t start_ns = 0, completion_ns = 0;
    if (read_time(start, &start_ns) && read_time(completion, &completion_ns) && completion_ns < start_ns)
        completion = start; // the clocks of two workers differ
    return put_text(status, "/startTime", start) && put_text(status, "/completionTime", completion);
}

// ready and terminating tell zero from unknown: they stay absent if they are.
static bool write_pods(const struct view *v, wharf_value *status) {
    int64_t active = v->finished ? 0 : job_count(v->there, "/active");
    int64_t ready = job_count(v->there, "/ready");
    int64_t terminating = v->finished ? 0 : job_count(v->there, "/terminating");
    bool ok = put_count(status, "/active", active);
    if (host->find(status, "/ready"))
        ok = host->set_integer(status, "/ready", ready < active ? ready : active) && ok;
    if (host->find(status, "/terminating"))
        ok = host->set_integer(status, "/terminating", terminating) && ok;
    return ok;
}

static int64_t earlier_failed(const struct view *v) {
    const char *text = host->string(host->find(v->mirror, EARLIER_FAILED));
    long long count = text ? strtoll(text, NULL, 10) : 0;
    return count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

// `keep`: what the workload has reported as completed is kept.
static bool write_indexes(const struct view *v, wharf_value *status, bool keep, int64_t *completed) {
    const char *before = keep ? host->string(host->find(v->before, "/completedIndexes")) : NULL;
    int64_t limit = job_count(v->workload, "/spec/completions"), failed = 0;
    const char *there = host->string(host->find(v->there, "/completedIndexes"));
    char *list = job_indexes(INDEXES_OF_BOTH, there, before, limit, completed);
    bool ok = list && put_text(status, "/completedIndexes", list);
    const wharf_value *of_mirror = host->find(v->there, "/failedIndexes");
    if (host->type(of_mirror) == WHARF_STRING &&
        host->integer(host->find(v->workload, "/spec/backoffLimitPerIndex"), -1) >= 0) {
        char *failed_list = job_indexes(INDEXES_WITHOUT, host->string(of_mirror), list, limit, &failed);
        ok = failed_list && host->set_string(status, "/failedIndexes", failed_list) && ok;
        free(failed_list);
    } else {
        host->remove(status, "/failedIndexes");
    }
    free(list);
    return ok;
}

static bool write_counts(const struct view *v, wharf_value *status) {
    const char *mode = host->string(host->find(v->workload, "/spec/completionMode"));
    bool indexed = mode && strcmp(mode, "Indexed") == 0;
    // Such a Job may be scaled down, and then counts only the indexes that it still has.
    bool may_fall = indexed && host->equal(host->find(v->workload, "/spec/completions"),
                                           host->find(v->workload, "/spec/parallelism"));
    int64_t succeeded = job_count(v->there, "/succeeded"), before = job_count(v->before, "/succeeded");
    bool ok = true;
    if (indexed) {
        ok = write_indexes(v, status, !may_fall || v->call->attempt > 1, &succeeded);
    } else {
        host->remove(status, "/completedIndexes");
        host->remove(status, "/failedIndexes");
    }
    int64_t failed = earlier_failed(v) + job_count(v->there, "/failed");
    failed = greater(failed < INT32_MAX ? failed : INT32_MAX, job_count(v->before, "/failed"));
    return put_count(status, "/succeeded", may_fall ? succeeded : greater(succeeded, before)) &&
           put_count(status, "/failed", failed) && ok;
}

// Without a mirror nobody else tells people, and the API server, that a Job is suspended: only then does the server
// allow a change of its template.
static bool write_suspended(const wharf_call *call, wharf_value *status) {
    host->remove(status, "/startTime");
    host->remove(status, "/active");
    bool ok = !host->find(status, "/ready") || host->set_integer(status, "/ready", 0);
    if (host->find(status, "/terminating"))
        ok = host->set_integer(status, "/terminating", 0) && ok;
    if (job_condition(status, "Suspended", "True"))
        return ok;
    wharf_value *conditions = host->new_array(call);
    for (const wharf_value *c = host->first(host->find(status, "/conditions")); c; c = host->next(c)) {
        const char *type = host->string(host->find(c, "/type"));
        if (type && strcmp(type, "Suspended") != 0)
            ok = append(conditions, c) && ok;
    }
    return append(conditions, new_condition(call, "Suspended", "True", "JobSuspended", "Job suspended")) &&
           host->set(status, "/conditions", conditions) && ok;
}

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *status) {
    const wharf_value *before = host->find(workload, "/status");
    bool ok = true;
    if (job_is_finished(workload)) {
        ok = host->set(status, "", before);
    } else if (!mirror) {
        ok = !job_is_suspended(workload) || write_suspended(call, status);
    } else {
        struct view v = {call, workload, mirror, before, host->find(mirror, "/status"), UNDECIDED, false, false};
        v.in_vain = job_runs_in_vain(workload, mirror);
        v.outcome = job_outcome(workload) != UNDECIDED ? job_outcome(workload) : job_outcome(mirror);
        v.finished = job_is_finished(mirror) || (v.in_vain && job_is_quiet(mirror));
        ok = write_conditions(&v, status) && write_times(&v, status) && write_pods(&v, status) &&
             write_counts(&v, status);
    }
    return ok ? WHARF_OK : WHARF_RETRY;
}
