// SPDX-License-Identifier: Apache-2.0
#include "tests/world/shape.h"
#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>

static const struct shape *find(const struct shape *table, const char *name) {
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table->name ? table : NULL;
}

static const char *type_text(enum shape_type type) {
    static const char *const names[] = {"int32", "int64", "bool", "string", "struct", "slice", "v1.Time"};
    return names[type];
}

static bool fits(const struct json *value, enum shape_type type) {
    int64_t number = json_int64(value, INT64_MIN), other = json_int64(value, INT64_MAX);
    int64_t ignored;
    switch (type) {
    case SHAPE_INT32:
        return number == other && number >= INT32_MIN && number <= INT32_MAX;
    case SHAPE_INT64:
        return number == other;
    case SHAPE_BOOL:
        return json_is(value, JSON_BOOL);
    case SHAPE_STRING:
        return json_is(value, JSON_STRING);
    case SHAPE_OBJECT:
        return json_is(value, JSON_OBJECT);
    case SHAPE_ARRAY:
        return json_is(value, JSON_ARRAY);
    case SHAPE_TIME:
        return json_string(value) && clock_parse_rfc3339(json_string(value), &ignored);
    }
    return false;
}

static bool is_empty(const struct json *value) {
    return json_is(value, JSON_NUMBER)   ? json_int64(value, 1) == 0
           : json_is(value, JSON_STRING) ? !*json_string_or(value, "x")
                                         : json_is(value, JSON_ARRAY) && json_size(value) == 0;
}

// Of a text that is a time (fits): as clock_rfc3339() prints it.
static bool is_printed_time(const char *text) {
    return strlen(text) == 20 && text[10] == 'T' && text[17] < '6' && text[19] == 'Z';
}

static void put_time(struct json *object, struct json *member) {
    int64_t at = 0;
    char text[CLOCK_RFC3339_MAX];
    if (is_printed_time(json_string_or(member, "")))
        return;
    clock_parse_rfc3339(json_string_or(member, ""), &at);
    clock_rfc3339(at, text);
    if (strcmp(text, json_string_or(member, "")) != 0)
        if (!json_replace(object, member, json_new_string(text)))
            world_oom();
}

bool shape_apply(struct json *object, const struct shape *table, const char *type_name, char message[256]) {
    for (struct json *member = json_first(object), *next; member; member = next) {
        next = json_next(member);
        const struct shape *shape = find(table, json_key(member));
        if (!shape || json_is(member, JSON_NULL)) {
            json_remove_child(object, member);
            continue;
        }
        if (!fits(member, shape->type)) {
            snprintf(message, 256, "json: cannot unmarshal value into Go struct field %s.%s of type %s", type_name,
                     shape->name, type_text(shape->type));
            return false;
        }
        if (shape->omit_empty && is_empty(member))
            json_remove_child(object, member);
        else if (shape->type == SHAPE_TIME)
            put_time(object, member);
    }
    return true;
}
