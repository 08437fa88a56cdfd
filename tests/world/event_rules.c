// SPDX-License-Identifier: Apache-2.0
#include "core/json/json.h"
#include "tests/world/rules.h"

#include <string.h>

static void check_text(const struct json *event, const char *field, size_t max, struct field_problems *problems) {
    const struct json *value = json_get(event, field);
    const char *text = json_string_or(value, "");
    if (!*text)
        problem_required(problems, field, "");
    else if (strlen(text) > max)
        problem_too_long(problems, field, (int)max);
}

static void check_unset(const struct json *event, const char *field, struct field_problems *problems) {
    const struct json *value = json_get(event, field);
    if (value && !json_is(value, JSON_NULL))
        problem_invalid(problems, field, value, "needs to be unset");
}

static void check_namespace(const struct json *event, struct field_problems *problems) {
    const struct json *value = json_path(event, "metadata", "namespace", NULL);
    const char *space = json_string_or(value, "");
    const char *about = json_string_or(json_path(event, "regarding", "namespace", NULL), "");
    bool same = *about ? strcmp(space, about) == 0 : strcmp(space, "default") == 0 || strcmp(space, "kube-system") == 0;
    if (!same)
        problem_invalid(problems, "involvedObject.namespace", value, "does not match event.namespace");
}

static void check_series(const struct json *event, struct field_problems *problems) {
    const struct json *series = json_get(event, "series");
    if (!series || json_is(series, JSON_NULL))
        return;
    if (json_int64(json_get(series, "count"), 0) < 2)
        problem_invalid(problems, "series.count", json_get(series, "count"), "should be at least 2");
    if (!*json_string_or(json_get(series, "lastObservedTime"), ""))
        problem_required(problems, "series.lastObservedTime", "");
}

void event_check(const struct json *event, struct field_problems *problems) {
    const struct json *type = json_get(event, "type");
    const char *text = json_string_or(type, "");
    check_namespace(event, problems);
    if (!*json_string_or(json_get(event, "eventTime"), ""))
        problem_required(problems, "eventTime", "");
    if (strcmp(text, "Normal") != 0 && strcmp(text, "Warning") != 0)
        problem_invalid(problems, "type", type, "has invalid value: ");
    check_text(event, "reportingController", 253 + 64, problems);
    check_text(event, "reportingInstance", 128, problems);
    check_text(event, "action", 128, problems);
    check_text(event, "reason", 128, problems);
    if (strlen(json_string_or(json_get(event, "note"), "")) > 1024)
        problem_too_long(problems, "message", 1024);
    check_unset(event, "deprecatedFirstTimestamp", problems);
    check_unset(event, "deprecatedLastTimestamp", problems);
    check_unset(event, "deprecatedCount", problems);
    check_unset(event, "deprecatedSource", problems);
    check_series(event, problems);
}

void event_check_update(const struct json *event, const struct json *old, struct field_problems *problems) {
    static const char *const immutable[] = {"eventTime",         "type",    "reportingController",
                                            "reportingInstance", "action",  "reason",
                                            "regarding",         "related", "note"};
    for (size_t i = 0; i < sizeof immutable / sizeof *immutable; i++)
        if (!json_equal(json_get(event, immutable[i]), json_get(old, immutable[i])))
            problem_invalid(problems, immutable[i], json_get(event, immutable[i]), "field is immutable");
    check_series(event, problems);
}
