// SPDX-License-Identifier: Apache-2.0
// The rules for the status of a batch/v1 Job (pkg/registry/batch/job/strategy.go getStatusValidationOptions and
// pkg/apis/batch/validation ValidateJobStatusUpdate). Most are checked only when the fields they are about change.
#include "core/base/clock.h"
#include "tests/world/indexes.h"
#include "tests/world/rules.h"

#include <stdio.h>
#include <string.h>

bool job_condition(const struct json *job, const char *type, const char *status) {
    for (const struct json *item = json_first(json_path(job, "status", "conditions", NULL)); item;
         item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "type"), ""), type) == 0 &&
            strcmp(json_string_or(json_get(item, "status"), ""), status) == 0)
            return true;
    return false;
}

bool job_finished(const struct json *job) {
    return job_condition(job, "Complete", "True") || job_condition(job, "Failed", "True");
}

bool job_indexed(const struct json *job) {
    return strcmp(json_string_or(json_path(job, "spec", "completionMode", NULL), ""), "Indexed") == 0;
}

// A status as seen by the rules.
struct view {
    const struct json *status, *spec;
    const struct json *start, *completion, *ready, *terminating, *failed_indexes, *uncounted;
    const char *completed_indexes;
    int64_t active, succeeded, failed;
    bool complete, is_failed, failure_target, success_criteria;
};

static struct view look(const struct json *job) {
    const struct json *status = json_get(job, "status");
    return (struct view){.status = status,
                         .spec = json_get(job, "spec"),
                         .start = json_get(status, "startTime"),
                         .completion = json_get(status, "completionTime"),
                         .ready = json_get(status, "ready"),
                         .terminating = json_get(status, "terminating"),
                         .failed_indexes = json_get(status, "failedIndexes"),
                         .uncounted = json_get(status, "uncountedTerminatedPods"),
                         .completed_indexes = json_string_or(json_get(status, "completedIndexes"), ""),
                         .active = json_int64(json_get(status, "active"), 0),
                         .succeeded = json_int64(json_get(status, "succeeded"), 0),
                         .failed = json_int64(json_get(status, "failed"), 0),
                         .complete = job_condition(job, "Complete", "True"),
                         .is_failed = job_condition(job, "Failed", "True"),
                         .failure_target = job_condition(job, "FailureTarget", "True"),
                         .success_criteria = job_condition(job, "SuccessCriteriaMet", "True")};
}

static bool is_finished(const struct view *view) {
    return view->complete || view->is_failed;
}

static void check_not_negative(const struct view *view, struct field_problems *problems) {
    static const char *const names[] = {"active", "succeeded", "failed", "ready", "terminating"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct json *value = json_get(view->status, names[i]);
        AUTO_TEXT field = text_format("status.%s", names[i]);
        if (json_int64(value, 0) < 0)
            problem_invalid(problems, field, value, "must be greater than or equal to 0");
    }
}

static void check_uncounted(const struct view *view, struct field_problems *problems) {
    static const char *const lists[] = {"succeeded", "failed"};
    struct map seen;
    map_init(&seen, 1);
    for (size_t i = 0; i < 2; i++) {
        size_t index = 0;
        for (const struct json *item = json_first(json_get(view->uncounted, lists[i])); item; item = json_next(item)) {
            const char *uid = json_string_or(item, "");
            AUTO_TEXT field = text_format("status.uncountedTerminatedPods.%s[%zu]", lists[i], index++);
            if (!*uid)
                problem_invalid(problems, field, item, "must not be empty");
            else if (map_get(&seen, uid))
                problem_duplicate(problems, field, item);
            else if (!map_put(&seen, uid, &seen))
                world_oom();
        }
    }
    map_free(&seen);
}

static void check_conditions(const struct view *now, const struct view *old, struct field_problems *problems) {
    bool complete = now->complete != old->complete, failed = now->is_failed != old->is_failed;
    bool target = now->failure_target != old->failure_target;
    const char *field = "status.conditions";
    if ((complete || failed) && now->complete && now->is_failed)
        problem_invalid(problems, field, NULL, "cannot set Complete=True and Failed=true conditions");
    if ((complete || target) && now->complete && now->failure_target)
        problem_invalid(problems, field, NULL, "cannot set Complete=True and FailureTarget=true conditions");
    if ((failed || !json_equal(now->failed_indexes, old->failed_indexes)) && now->is_failed && !now->failure_target)
        problem_invalid(problems, field, NULL,
                        "cannot set Failed=True condition without the FailureTarget=true condition");
    if ((complete || now->success_criteria != old->success_criteria) && now->complete && !now->success_criteria)
        problem_invalid(problems, field, NULL,
                        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    if (now->success_criteria && now->is_failed)
        problem_invalid(problems, field, NULL, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (now->success_criteria && now->failure_target)
        problem_invalid(problems, field, NULL, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    if (json_get(now->spec, "successPolicy") && !now->success_criteria && now->complete)
        problem_invalid(problems, field, NULL,
                        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

static void check_times(const struct view *now, const struct view *old, struct field_problems *problems) {
    bool complete = now->complete != old->complete, completion = !json_equal(now->completion, old->completion);
    bool start = !json_equal(now->start, old->start);
    int64_t started = 0, completed = 0;
    if ((complete || completion) && now->completion && !now->complete)
        problem_invalid(problems, "status.completionTime", now->completion,
                        "cannot set completionTime when there is no Complete=True condition");
    if ((complete || completion) && !now->completion && now->complete)
        problem_required(problems, "status.completionTime", "completionTime is required for Complete jobs");
    if ((start || completion) && now->start && now->completion &&
        clock_parse_rfc3339(json_string_or(now->start, ""), &started) &&
        clock_parse_rfc3339(json_string_or(now->completion, ""), &completed) && completed < started)
        problem_invalid(problems, "status.completionTime", now->completion, "must be equal to or after `startTime`");
}

static void check_finished(const struct view *now, const struct view *old, struct field_problems *problems) {
    bool changed = is_finished(now) != is_finished(old);
    bool suspended_empty =
        json_bool(json_get(now->spec, "suspend"), false) && json_int64(json_get(now->spec, "completions"), -1) == 0;
    if (!is_finished(now))
        return;
    if ((changed || now->active != old->active) && now->active > 0)
        problem_invalid(problems, "status.active", json_get(now->status, "active"),
                        "active>0 is invalid for finished job");
    if ((changed || !json_equal(now->start, old->start)) && !suspended_empty && !now->start)
        problem_required(problems, "status.startTime", "startTime is required for finished job");
    size_t uncounted = json_size(json_get(now->uncounted, "succeeded")) + json_size(json_get(now->uncounted, "failed"));
    if ((changed || !json_equal(now->uncounted, old->uncounted)) && uncounted > 0)
        problem_invalid(problems, "status.uncountedTerminatedPods", now->uncounted, "must be empty for finished job");
    if ((changed || !json_equal(now->terminating, old->terminating)) && json_int64(now->terminating, 0) > 0)
        problem_invalid(problems, "status.terminating", now->terminating, "terminating>0 is invalid for finished job");
}

static void check_index_list(const char *field, const char *text, int64_t completions,
                             struct field_problems *problems) {
    char why[160];
    if (indexes_check(text, completions, why))
        return;
    const char *name = strchr(field, '.') + 1;
    AUTO_TEXT detail = text_format("error parsing %s: %s", name, why);
    AUTO_JSON shown = json_new_string(text);
    problem_invalid(problems, field, shown, detail);
}

static void check_indexes(const struct view *now, const struct view *old, bool indexed,
                          struct field_problems *problems) {
    bool completed = strcmp(now->completed_indexes, old->completed_indexes) != 0;
    bool failed = !json_equal(now->failed_indexes, old->failed_indexes);
    const struct json *completions = json_get(now->spec, "completions");
    bool per_index = json_get(now->spec, "backoffLimitPerIndex");
    int64_t limit = json_int64(completions, 0);
    AUTO_JSON shown = json_new_string(now->completed_indexes);
    if (completed && completions)
        check_index_list("status.completedIndexes", now->completed_indexes, limit, problems);
    if (failed && completions && per_index && now->failed_indexes)
        check_index_list("status.failedIndexes", json_string_or(now->failed_indexes, ""), limit, problems);
    if (completed && *now->completed_indexes && !indexed)
        problem_invalid(problems, "status.completedIndexes", shown,
                        "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (failed && !per_index && now->failed_indexes)
        problem_invalid(problems, "status.failedIndexes", now->failed_indexes,
                        "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    if ((completed || failed) && completions && now->failed_indexes) {
        int64_t both = indexes_overlap(now->completed_indexes, json_string_or(now->failed_indexes, ""), limit);
        AUTO_TEXT detail = text_format("failedIndexes and completedIndexes overlap at index: %lld", (long long)both);
        if (both >= 0)
            problem_invalid(problems, "status.failedIndexes", now->failed_indexes, detail);
    }
}

static void check_ready(const struct view *now, const struct view *old, struct field_problems *problems) {
    bool changed = !json_equal(now->ready, old->ready) || now->active != old->active;
    if (changed && now->ready && json_int64(now->ready, 0) > now->active)
        problem_invalid(problems, "status.ready", now->ready, "cannot set more ready pods than active");
}

static void check_terminal(const struct view *now, const struct view *old, struct field_problems *problems) {
    const char *field = "status.conditions";
    if (old->is_failed && !now->is_failed)
        problem_invalid(problems, field, NULL, "cannot disable the terminal Failed=True condition");
    if (old->complete && !now->complete)
        problem_invalid(problems, field, NULL, "cannot disable the terminal Complete=True condition");
    if (old->failure_target && !now->failure_target)
        problem_invalid(problems, field, NULL, "cannot disable the terminal FailureTarget=True condition");
    if (old->success_criteria && !now->success_criteria)
        problem_invalid(problems, field, NULL, "cannot disable the SuccessCriteriaMet=True condition");
    if (old->complete && !old->success_criteria && now->success_criteria)
        problem_invalid(problems, field, NULL,
                        "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

static void check_changes(const struct view *now, const struct view *old, bool indexed, bool resuming,
                          struct field_problems *problems) {
    bool elastic = indexed && json_equal(json_get(now->spec, "completions"), json_get(now->spec, "parallelism"));
    if (now->failed < old->failed) {
        AUTO_JSON shown = json_new_int64(now->failed);
        problem_invalid(problems, "status.failed", shown, "cannot decrease the failed counter");
    }
    if (!elastic && now->succeeded < old->succeeded) {
        AUTO_JSON shown = json_new_int64(now->succeeded);
        problem_invalid(problems, "status.succeeded", shown, "cannot decrease the succeeded counter");
    }
    if (now->completion && old->completion && !json_equal(now->completion, old->completion))
        problem_invalid(problems, "status.completionTime", now->completion, "field is immutable");
    if (!resuming && old->start && !json_equal(now->start, old->start) &&
        !json_bool(json_get(now->spec, "suspend"), false))
        problem_invalid(problems, "status.startTime", now->start, "field is immutable for unsuspended job once set");
}

void job_check_status(const struct json *job, const struct json *before, struct field_problems *problems) {
    struct view now = look(job), old = look(before);
    bool indexed = job_indexed(job);
    bool resuming = job_condition(before, "Suspended", "True") && job_condition(job, "Suspended", "False");
    check_not_negative(&now, problems);
    check_uncounted(&now, problems);
    check_conditions(&now, &old, problems);
    check_times(&now, &old, problems);
    check_finished(&now, &old, problems);
    check_indexes(&now, &old, indexed, problems);
    check_ready(&now, &old, problems);
    check_terminal(&now, &old, problems);
    check_changes(&now, &old, indexed, resuming, problems);
}
