// SPDX-License-Identifier: Apache-2.0
// The findings of a validation, worded as apimachinery's field.Error words them.
#include "tests/world/answer.h"

#include <stdlib.h>

void world_problems_free(struct field_problems *problems) {
    json_free(problems->causes);
    problems->causes = NULL;
}

bool world_problems_any(const struct field_problems *problems) {
    return json_size(problems->causes) > 0;
}

static void add(struct field_problems *problems, const char *reason, const char *field, char *message) {
    if (!message)
        world_oom();
    struct json *cause = json_new_object();
    if (!cause)
        world_oom();
    world_set_text(cause, "reason", reason);
    world_set_text(cause, "message", message);
    world_set_text(cause, "field", field);
    free(message);
    if (!problems->causes)
        problems->causes = json_new_array();
    if (!json_append(problems->causes, cause))
        world_oom();
}

void problem_invalid(struct field_problems *problems, const char *field, const struct json *value, const char *detail) {
    AUTO_TEXT shown = value ? json_text(value, NULL) : NULL;
    add(problems, "FieldValueInvalid", field,
        shown ? text_format("Invalid value: %s: %s", shown, detail) : text_format("Invalid value: %s", detail));
}

void problem_required(struct field_problems *problems, const char *field, const char *detail) {
    add(problems, "FieldValueRequired", field,
        *detail ? text_format("Required value: %s", detail) : text_format("Required value"));
}

void problem_forbidden(struct field_problems *problems, const char *field, const char *detail) {
    add(problems, "FieldValueForbidden", field, text_format("Forbidden: %s", detail));
}

void problem_unsupported(struct field_problems *problems, const char *field, const struct json *value,
                         const char *supported) {
    AUTO_TEXT shown = value ? json_text(value, NULL) : world_strdup("null");
    add(problems, "FieldValueNotSupported", field,
        text_format("Unsupported value: %s: supported values: %s", shown, supported));
}

void problem_duplicate(struct field_problems *problems, const char *field, const struct json *value) {
    AUTO_TEXT shown = json_text(value, NULL);
    add(problems, "FieldValueDuplicate", field, text_format("Duplicate value: %s", shown ? shown : ""));
}

void problem_too_long(struct field_problems *problems, const char *field, int max) {
    add(problems, "FieldValueTooLong", field, text_format("Too long: may not be more than %d bytes", max));
}
