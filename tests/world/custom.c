// SPDX-License-Identifier: Apache-2.0
#include "tests/world/custom.h"
#include "core/base/clock.h"
#include "core/json/pointer.h"
#include "tests/world/answer.h"

#include <stdio.h>
#include <string.h>

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"

static const char *manager_of(const struct custom *custom, const struct json *value) {
    return custom->managed_by ? json_string(pointer_find(value, custom->managed_by)) : NULL;
}

// Converts "/spec/managedBy" to "spec.managedBy".
static void field_of(const char *pointer, char out[128]) {
    text_copy(out, 128, pointer + 1);
    for (char *c = out; *c; c++)
        *c = *c == '/' ? '.' : *c;
}

static bool is_suspended(const struct custom *custom, const struct json *value) {
    const struct json *field = custom->suspend ? pointer_find(value, custom->suspend) : NULL;
    if (custom->suspend_value)
        return strcmp(json_string_or(field, ""), custom->suspend_value) == 0;
    return json_bool(field, false);
}

void custom_defaults(const struct custom *custom, struct json *value) {
    if (custom->defaulted && !pointer_find(value, custom->managed_by))
        if (!pointer_set(value, custom->managed_by, json_new_string(custom->builtin)))
            world_oom();
}

void custom_check(const struct custom *custom, const struct json *value, struct field_problems *problems) {
    if (!custom->managed_by)
        return;
    const struct json *manager = pointer_find(value, custom->managed_by);
    const char *text = json_string(manager);
    char field[128];
    field_of(custom->managed_by, field);
    if (!json_is(json_get(value, "spec"), JSON_OBJECT))
        problem_required(problems, "spec", "");
    if (!manager)
        return;
    if (!text)
        problem_invalid(problems, field, manager, "must be a string");
    else if (custom->closed && strcmp(text, custom->builtin) != 0 && strcmp(text, MULTIKUEUE) != 0)
        problem_unsupported(problems, field, manager, custom->builtin);
    else if (custom->domain_prefixed && (!text_is_domain_prefixed_path(text) || strlen(text) > 63))
        problem_invalid(problems, field, manager, "must be a domain-prefixed path of at most 63 characters");
}

static void check_set_once(const char *pointer, const struct json *value, const struct json *old,
                           struct field_problems *problems) {
    const struct json *now = pointer_find(value, pointer), *before = pointer_find(old, pointer);
    char field[128];
    field_of(pointer, field);
    if (now && before && !json_equal(now, before))
        problem_invalid(problems, field, now, "field is immutable");
}

static void take_out(struct json *part, const char *const *patterns) {
    for (; patterns && *patterns && part; patterns++)
        pointer_remove_all(part, *patterns);
}

static bool frees_all(const char *const *patterns) {
    return patterns && !**patterns;
}

// Tekton: conditions are of type Succeeded and, once over, True or False.
static bool is_done(const struct json *value) {
    const struct json *item = json_first(json_path(value, "status", "conditions", NULL));
    while (item && strcmp(json_string_or(json_get(item, "type"), ""), "Succeeded") != 0)
        item = json_next(item);
    const char *status = json_string_or(json_get(item, "status"), "Unknown");
    return strcmp(status, "Unknown") != 0;
}

static bool is_zero(void *ctx, const char *pointer, struct json *value) {
    (void)ctx, (void)pointer;
    return json_int64(value, 0) == 0;
}

static bool has_active(const struct custom *custom, const struct json *value) {
    return custom->active && !pointer_each(value, custom->active, is_zero, NULL);
}

static void check_frozen(const struct custom *custom, const struct json *value, const struct json *old,
                         struct field_problems *problems) {
    const struct json *now = pointer_find(value, custom->frozen), *before = pointer_find(old, custom->frozen);
    bool after = !custom->done_is_done && is_suspended(custom, value); // Tekton checks the old object
    bool suspended = (is_suspended(custom, old) || after) && !has_active(custom, old);
    bool done = custom->done_is_done && is_done(old);
    char field[128];
    field_of(custom->frozen, field);
    if (json_equal(now, before) || (suspended && !done && frees_all(custom->loose_suspended)))
        return;
    AUTO_JSON a = now ? world_json_copy(now) : NULL;
    AUTO_JSON b = before ? world_json_copy(before) : NULL;
    for (size_t i = 0; i < 2 && !done; i++) {
        take_out(i ? b : a, custom->loose);
        take_out(i ? b : a, suspended ? custom->loose_suspended : NULL);
    }
    if (!json_equal(a, b))
        problem_invalid(problems, field, NULL, "field is immutable");
}

void custom_check_update(const struct custom *custom, const struct json *value, const struct json *old,
                         struct field_problems *problems) {
    if (!custom->managed_by)
        return;
    const struct json *now = pointer_find(value, custom->managed_by), *before = pointer_find(old, custom->managed_by);
    char field[128];
    custom_check(custom, value, problems);
    field_of(custom->managed_by, field);
    if (custom->managed_by_change == CUSTOM_IMMUTABLE && !json_equal(now, before))
        problem_invalid(problems, field, now, "field is immutable");
    else if (custom->managed_by_change == CUSTOM_SET_ONCE)
        check_set_once(custom->managed_by, value, old, problems);
    for (const char *const *once = custom->set_once; once && *once; once++)
        check_set_once(*once, value, old, problems);
    if (custom->frozen)
        check_frozen(custom, value, old, problems);
    // pipelinerun_validation.go
    if (custom->done_is_done && is_suspended(custom, value) && json_path(old, "status", "startTime", NULL))
        problem_invalid(problems, "spec.status", pointer_find(value, custom->suspend),
                        "cannot be Pending after it is started");
}

// The webhook of pipelinerun_validation.go runs for the status too.
void custom_check_status(const struct custom *custom, const struct json *value, struct field_problems *problems) {
    const struct json *started = json_path(value, "status", "startTime", NULL);
    if (custom->done_is_done && is_suspended(custom, value) && started)
        problem_invalid(problems, "spec.status", pointer_find(value, custom->suspend),
                        "cannot be Pending after it is started");
}

bool custom_delegated(const struct custom *custom, const struct json *value) {
    const char *manager = manager_of(custom, value);
    return manager && *manager && !text_equal(manager, custom->builtin);
}

static int64_t seconds_at(const struct json *value, const char *pointer) {
    return pointer ? json_int64(pointer_find(value, pointer), -1) : -1;
}

// RayJob: policies, by outcome or as a list of rules.
static int64_t delete_self_s(const struct json *value, bool succeeded) {
    const struct json *strategy = json_path(value, "spec", "deletionStrategy", NULL);
    const struct json *legacy = json_get(strategy, succeeded ? "onSuccess" : "onFailure");
    const char *status = succeeded ? "SUCCEEDED" : "FAILED", *deployment = succeeded ? "Complete" : "Failed";
    if (strcmp(json_string_or(json_get(legacy, "policy"), ""), "DeleteSelf") == 0)
        return json_int64(json_path(value, "spec", "ttlSecondsAfterFinished", NULL), 0);
    for (const struct json *rule = json_first(json_get(strategy, "deletionRules")); rule; rule = json_next(rule)) {
        const struct json *condition = json_get(rule, "condition");
        bool matches = strcmp(json_string_or(json_get(condition, "jobStatus"), ""), status) == 0 ||
                       strcmp(json_string_or(json_get(condition, "jobDeploymentStatus"), ""), deployment) == 0;
        if (matches && strcmp(json_string_or(json_get(rule, "policy"), ""), "DeleteSelf") == 0)
            return json_int64(json_get(condition, "ttlSeconds"), 0);
    }
    return -1;
}

int64_t custom_ttl_s(const struct custom *custom, const struct json *value, bool succeeded) {
    const char *annotation = json_string(
        json_path(value, "metadata", "annotations", "workload.codeflare.dev.appwrapper/successTTLDuration", NULL));
    int64_t duration_ns;
    if (strcmp(custom->kind.plural, "rayjobs") == 0)
        return delete_self_s(value, succeeded);
    if (strcmp(custom->kind.plural, "appwrappers") == 0)
        return annotation && succeeded && clock_parse_duration(annotation, &duration_ns) ? duration_ns / CLOCK_SECOND
                                                                                         : -1;
    return seconds_at(value, succeeded ? custom->ttl_succeeded : custom->ttl_failed);
}
