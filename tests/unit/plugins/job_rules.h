// SPDX-License-Identifier: Apache-2.0
// Validation of a batch/v1 Job by the API server: kubernetes pkg/registry/batch/job/strategy.go and
// pkg/apis/batch/validation/validation.go, reimplemented so that the adapter is tested independently. Each function
// returns NULL, or the rule that is violated.
#pragma once

#include "core/base/clock.h"
#include "core/json/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NO_TIME INT64_MIN

static inline bool rules_condition(const struct json *status, const char *type, const char *value) {
    for (const struct json *c = json_first(json_get(status, "conditions")); c; c = json_next(c))
        if (strcmp(json_string_or(json_get(c, "type"), ""), type) == 0 &&
            strcmp(json_string_or(json_get(c, "status"), ""), value) == 0)
            return true;
    return false;
}

static inline bool rules_true(const struct json *status, const char *type) {
    return rules_condition(status, type, "True");
}

static inline bool rules_finished(const struct json *status) {
    return rules_true(status, "Complete") || rules_true(status, "Failed");
}

static inline int64_t rules_time(const struct json *status, const char *key) {
    int64_t ns = NO_TIME;
    const char *text = json_string(json_get(status, key));
    return text && clock_parse_rfc3339(text, &ns) ? ns / CLOCK_SECOND : NO_TIME;
}

static inline int64_t rules_count(const struct json *status, const char *key) {
    return json_int64(json_get(status, key), 0);
}

// Fields that the API server would fail to decode.
static inline const char *rules_undecodable(const struct json *status) {
    static const char *const counts[] = {"active", "ready", "terminating", "succeeded", "failed"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct json *value = json_get(status, counts[i]);
        int64_t count = json_int64(value, INT64_MIN);
        if (value && (count < 0 || count > INT32_MAX))
            return counts[i];
    }
    static const char *const times[] = {"startTime", "completionTime"};
    for (size_t i = 0; i < 2; i++)
        if (json_get(status, times[i]) && rules_time(status, times[i]) == NO_TIME)
            return times[i];
    static const char *const texts[] = {"completedIndexes", "failedIndexes"};
    for (size_t i = 0; i < 2; i++)
        if (json_get(status, texts[i]) && !json_is(json_get(status, texts[i]), JSON_STRING))
            return texts[i];
    const struct json *conditions = json_get(status, "conditions");
    if (conditions && !json_is(conditions, JSON_ARRAY))
        return "conditions";
    for (const struct json *c = json_first(conditions); c; c = json_next(c))
        if (!json_is(c, JSON_OBJECT) || !json_string(json_get(c, "type")) || !json_string(json_get(c, "status")) ||
            rules_time(c, "lastTransitionTime") == NO_TIME)
            return "a condition";
    return json_is(status, JSON_OBJECT) ? NULL : "status";
}

// Fields that the server does not store as written: the difference would be written repeatedly.
static inline const char *rules_not_kept(const struct json *status) {
    static const char *const omitted[] = {"active", "succeeded", "failed", "completedIndexes", "conditions"};
    for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++) {
        const struct json *value = json_get(status, omitted[i]);
        if (value && (json_int64(value, 1) == 0 || strcmp(json_string_or(value, "x"), "") == 0 ||
                      (json_is(value, JSON_ARRAY) && json_size(value) == 0)))
            return omitted[i];
    }
    return NULL;
}

// validateIndexesFormat; marks what is in the list. `completions` is small here.
static inline bool rules_indexes(const char *text, int64_t completions, bool *in) {
    int64_t last = -1;
    for (const char *p = text; *text && p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        char *end;
        long x = strtol(p, &end, 10), y = x;
        if (end == p || x < 0 || x >= completions || x <= last)
            return false;
        if (*end == '-') {
            const char *second = end + 1;
            y = strtol(second, &end, 10);
            if (end == second || y >= completions || y <= x)
                return false;
        }
        if (*end != ',' && *end != '\0')
            return false;
        for (long i = x; i <= y; i++)
            in[i] = true;
        last = y;
    }
    return true;
}

#define RULES_MAX_INDEXES 1000

static inline const char *rules_of_indexes(const struct json *spec, const struct json *old, const struct json *new) {
    const char *completed = json_string_or(json_get(new, "completedIndexes"), "");
    const char *failed = json_string(json_get(new, "failedIndexes"));
    const char *failed_before = json_string(json_get(old, "failedIndexes"));
    bool completed_changed = strcmp(completed, json_string_or(json_get(old, "completedIndexes"), "")) != 0;
    bool failed_changed = !failed != !failed_before || (failed && strcmp(failed, failed_before) != 0);
    bool indexed = strcmp(json_string_or(json_get(spec, "completionMode"), ""), "Indexed") == 0;
    int64_t completions = json_int64(json_get(spec, "completions"), -1);
    bool in_completed[RULES_MAX_INDEXES] = {false}, in_failed[RULES_MAX_INDEXES] = {false};
    bool well_completed = completions < 0 || rules_indexes(completed, completions, in_completed);
    bool well_failed = completions < 0 || rules_indexes(failed ? failed : "", completions, in_failed);
    if (completed_changed && !well_completed)
        return "completedIndexes are malformed";
    if (completed_changed && *completed && !indexed)
        return "completedIndexes of a Job that is not Indexed";
    if (failed_changed && failed && !json_get(spec, "backoffLimitPerIndex"))
        return "failedIndexes without backoffLimitPerIndex";
    if (failed_changed && !well_failed)
        return "failedIndexes are malformed";
    if (failed_changed && rules_true(new, "Failed") && !rules_true(new, "FailureTarget"))
        return "failedIndexes change while Failed without FailureTarget";
    for (int64_t i = 0; (completed_changed || failed_changed) && i < completions && i < RULES_MAX_INDEXES; i++)
        if (in_completed[i] && in_failed[i])
            return "completedIndexes and failedIndexes overlap";
    return NULL;
}

static inline const char *rules_of_outcome(const struct json *old, const struct json *new) {
    bool complete = rules_true(new, "Complete"), failed = rules_true(new, "Failed");
    bool complete_changed = complete != rules_true(old, "Complete"),
         failed_changed = failed != rules_true(old, "Failed");
    bool met = rules_true(new, "SuccessCriteriaMet"), target = rules_true(new, "FailureTarget");
    static const char *const lasting[] = {"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"};
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        if (rules_true(old, lasting[i]) && !rules_true(new, lasting[i]))
            return "a terminal condition is taken back";
    if ((complete_changed || failed_changed) && complete && failed)
        return "Complete and Failed";
    if ((complete_changed || target != rules_true(old, "FailureTarget")) && complete && target)
        return "Complete and FailureTarget";
    if (failed_changed && failed && !target)
        return "Failed without FailureTarget";
    if ((complete_changed || met != rules_true(old, "SuccessCriteriaMet")) && complete && !met)
        return "Complete without SuccessCriteriaMet";
    if (met && failed)
        return "SuccessCriteriaMet and Failed";
    if (met && target)
        return "SuccessCriteriaMet and FailureTarget";
    if (rules_true(old, "Complete") && !rules_true(old, "SuccessCriteriaMet") && met)
        return "SuccessCriteriaMet after Complete";
    return NULL;
}

static inline const char *rules_of_times(const struct json *spec, const struct json *old, const struct json *new) {
    int64_t start = rules_time(new, "startTime"), start_before = rules_time(old, "startTime");
    int64_t end = rules_time(new, "completionTime"), end_before = rules_time(old, "completionTime");
    bool complete = rules_true(new, "Complete"), complete_changed = complete != rules_true(old, "Complete");
    bool suspended = json_bool(json_get(spec, "suspend"), false);
    bool resuming = rules_true(old, "Suspended") && rules_condition(new, "Suspended", "False");
    bool finished_changed = rules_finished(old) != rules_finished(new);
    if ((complete_changed || end != end_before) && end != NO_TIME && !complete)
        return "completionTime without Complete";
    if ((complete_changed || end != end_before) && end == NO_TIME && complete)
        return "Complete without completionTime";
    if ((start != start_before || end != end_before) && start != NO_TIME && end != NO_TIME && end < start)
        return "completionTime before startTime";
    if ((finished_changed || start != start_before) && rules_finished(new) && start == NO_TIME)
        return "finished without startTime";
    if (start != start_before && start_before != NO_TIME && !suspended && !resuming)
        return "startTime is changed";
    if (end != NO_TIME && end_before != NO_TIME && end != end_before)
        return "completionTime is changed";
    return NULL;
}

static inline const char *rules_of_counts(const struct json *spec, const struct json *old, const struct json *new) {
    bool indexed = strcmp(json_string_or(json_get(spec, "completionMode"), ""), "Indexed") == 0;
    bool may_fall = indexed && json_equal(json_get(spec, "completions"), json_get(spec, "parallelism"));
    bool finished = rules_finished(new), finished_changed = finished != rules_finished(old);
    int64_t active = rules_count(new, "active"), terminating = rules_count(new, "terminating");
    bool active_changed = active != rules_count(old, "active");
    if (rules_count(new, "failed") < rules_count(old, "failed"))
        return "failed falls";
    if (!may_fall && rules_count(new, "succeeded") < rules_count(old, "succeeded"))
        return "succeeded falls";
    if ((finished_changed || active_changed) && finished && active > 0)
        return "finished with active pods";
    if ((finished_changed || !json_equal(json_get(new, "terminating"), json_get(old, "terminating"))) && finished &&
        terminating > 0)
        return "finished with terminating pods";
    if ((active_changed || !json_equal(json_get(new, "ready"), json_get(old, "ready"))) &&
        rules_count(new, "ready") > active)
        return "more pods ready than active";
    if (json_get(new, "uncountedTerminatedPods"))
        return "pods of the worker are reported";
    return NULL;
}

// A status write: `spec` is the Job's, `old` its status (or NULL), `new` what is written.
static inline const char *rules_status(const struct json *spec, const struct json *old, const struct json *new) {
    const char *broken = rules_undecodable(new);
    broken = broken ? broken : rules_not_kept(new);
    broken = broken ? broken : rules_of_outcome(old, new);
    broken = broken ? broken : rules_of_times(spec, old, new);
    broken = broken ? broken : rules_of_counts(spec, old, new);
    return broken ? broken : rules_of_indexes(spec, old, new);
}

// shouldAllowMutablePodTemplate.
static inline bool rules_template_may_change(const struct json *job) {
    const struct json *status = json_get(job, "status");
    return json_bool(json_path(job, "spec", "suspend", NULL), false) && rules_count(status, "active") == 0 &&
           (!json_get(status, "startTime") || rules_true(status, "Suspended"));
}

// A spec write, for the fields that this adapter changes: `old` and `new` are whole Jobs.
static inline const char *rules_spec(const struct json *old, const struct json *new) {
    const struct json *before = json_get(old, "spec"), *spec = json_get(new, "spec");
    static const char *const fixed[] = {"selector",      "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                                        "successPolicy", "managedBy"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!json_equal(json_get(before, fixed[i]), json_get(spec, fixed[i])))
            return fixed[i];
    if (!json_equal(json_get(before, "completions"), json_get(spec, "completions")) &&
        (strcmp(json_string_or(json_get(spec, "completionMode"), ""), "Indexed") != 0 ||
         !json_equal(json_get(spec, "completions"), json_get(spec, "parallelism"))))
        return "completions";
    if (!json_equal(json_get(before, "template"), json_get(spec, "template")) && !rules_template_may_change(old))
        return "template";
    static const char *const generated[] = {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
                                            "batch.kubernetes.io/job-name"};
    for (size_t i = 0; i < 4 && !json_bool(json_get(spec, "manualSelector"), false); i++)
        if (!json_equal(json_path(before, "template", "metadata", "labels", generated[i], NULL),
                        json_path(spec, "template", "metadata", "labels", generated[i], NULL)))
            return "labels that the server generates";
    return NULL;
}
