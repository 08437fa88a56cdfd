// SPDX-License-Identifier: Apache-2.0
// The functions of struct wharf_host. A wharf_value is a struct json. Arguments are checked, since the callers are
// third-party code.
#include "core/adapter/phase.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"

#include <stdarg.h>
#include <stdio.h>

#define TRANSITION_TIME "lastTransitionTime"

static const struct json *in(const wharf_value *value) {
    return (const struct json *)value;
}

static const wharf_value *out(const struct json *value) {
    return (const wharf_value *)value;
}

static wharf_type value_type(const wharf_value *value) {
    static const wharf_type types[] = {
        [JSON_NULL] = WHARF_NULL,     [JSON_BOOL] = WHARF_BOOL,   [JSON_NUMBER] = WHARF_NUMBER,
        [JSON_STRING] = WHARF_STRING, [JSON_ARRAY] = WHARF_ARRAY, [JSON_OBJECT] = WHARF_OBJECT};
    return value ? types[json_type(in(value))] : WHARF_ABSENT;
}

bool services_is_pointer(const char *pointer, bool pattern) {
    struct error *error = pointer_check(pointer, pattern);
    error_free(error);
    return !error;
}

const char *services_type_name(const struct json *value) {
    static const char *const names[] = {"nothing",  "null",     "a boolean", "a number",
                                        "a string", "an array", "an object"};
    return names[value_type(out(value))];
}

static const wharf_value *value_find(const wharf_value *value, const char *pointer) {
    if (!value || !pointer || (strchr(pointer, '~') && !services_is_pointer(pointer, false)))
        return NULL;
    return out(pointer_find(in(value), pointer)); // a pointer that is not UTF-8 finds nothing
}

static int value_is(const wharf_value *value, const char *pointer, const char *text) {
    return json_is_scalar(in(value_find(value, pointer)), text);
}

static const wharf_value *value_find_where(const wharf_value *value, const char *pointer, const char *key,
                                           const char *text) {
    const struct json *array = in(value_find(value, pointer));
    return out(json_find_item(array, key, text));
}

static const char *value_string(const wharf_value *value) {
    return json_string(in(value));
}

static int value_boolean(const wharf_value *value, int fallback) {
    return json_is(in(value), JSON_BOOL) ? json_bool(in(value), false) : fallback;
}

static int64_t value_integer(const wharf_value *value, int64_t fallback) {
    return json_int64(in(value), fallback);
}

static double value_number(const wharf_value *value, double fallback) {
    return json_double(in(value), fallback);
}

static size_t value_count(const wharf_value *value) {
    return json_is_container(in(value)) ? json_size(in(value)) : 0;
}

static const wharf_value *value_first(const wharf_value *value) {
    return json_is_container(in(value)) ? out(json_first(in(value))) : NULL;
}

static const wharf_value *value_next(const wharf_value *item) {
    return !item ? NULL : out(json_next(in(item)));
}

static const char *value_name(const wharf_value *member) {
    return !member ? NULL : json_key(in(member));
}

static int value_equal(const wharf_value *a, const wharf_value *b) {
    return json_equal(in(a), in(b));
}

// Hands a new value to the call; NULL is out of memory.
static wharf_value *made(const wharf_call *call, struct json *value) {
    struct adapter_call *owner = services_call(call);
    if (!owner) {
        json_free(value);
        return NULL;
    }
    return (wharf_value *)services_keep_value(owner, value);
}

static wharf_value *new_null(const wharf_call *call) {
    return made(call, json_new_null());
}

static wharf_value *new_boolean(const wharf_call *call, int value) {
    return made(call, json_new_bool(value != 0));
}

static wharf_value *new_integer(const wharf_call *call, int64_t value) {
    return made(call, json_new_int64(value));
}

static wharf_value *new_string(const wharf_call *call, const char *text) {
    if (text && text_utf8_valid(text, strlen(text)) == strlen(text))
        return made(call, json_new_string(text));
    services_refuse(services_call(call), "a string cannot be made: the text is %s", text ? "not UTF-8" : "absent");
    return NULL;
}

static wharf_value *new_array(const wharf_call *call) {
    return made(call, json_new_array());
}

static wharf_value *new_object(const wharf_call *call) {
    return made(call, json_new_object());
}

static wharf_value *value_copy(const wharf_call *call, const wharf_value *value) {
    struct adapter_call *owner = services_call(call);
    struct json *copy = value && owner ? services_copy(owner, in(value)) : NULL;
    return copy ? made(call, copy) : NULL;
}

static wharf_value *value_parse(const wharf_call *call, const char *text, size_t len) {
    struct json *value = NULL;
    struct error *error = text ? json_parse(text, len, &value) : error_new(ERROR_INVALID, "the text is absent");
    if (!error)
        return made(call, value);
    if (error->code == ERROR_NO_MEMORY)
        services_no_memory(services_call(call));
    else
        services_refuse(services_call(call), "a text cannot be parsed as JSON: %s", error->message);
    error_free(error);
    return NULL;
}

// Hands a new text to the call; NULL is out of memory.
static const char *written(const wharf_call *call, char *text) {
    struct adapter_call *owner = services_call(call);
    if (!owner) {
        free(text);
        return NULL;
    }
    return services_keep_text(owner, text);
}

static const char *value_print(const wharf_call *call, const wharf_value *value, size_t *len) {
    size_t size = 0;
    char *made = value ? json_text(in(value), &size) : NULL;
    if (value && !made && services_is_too_deep(in(value), 0))
        services_refuse_depth(services_call(call), "a value cannot be printed: it is");
    const char *text = value ? written(call, made) : NULL;
    if (len)
        *len = !text ? 0 : size;
    return text;
}

static int parse_time(const char *text, int64_t *ns) {
    int64_t found = 0;
    if (!text || !clock_parse_rfc3339(text, &found))
        return 0;
    if (ns)
        *ns = found;
    return 1;
}

static const char *format_time(const wharf_call *call, int64_t ns) {
    char text[CLOCK_RFC3339_MAX];
    clock_rfc3339(ns, text);
    return written(call, strdup(text));
}

static const char *format_text(const wharf_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *format_text(const wharf_call *call, const char *format, ...) {
    va_list args;
    if (!format) {
        services_refuse(services_call(call), "a text cannot be formatted: the format is absent");
        return NULL;
    }
    va_start(args, format);
    char *text = text_vformat(format, args);
    va_end(args);
    return written(call, text);
}

static void *memory(const wharf_call *call, size_t size) {
    struct adapter_call *owner = services_call(call);
    if (!owner)
        return NULL;
    void *made = calloc(1, size > 0 ? size : 1);
    return services_keep_text(owner, made);
}

// Conditions (metav1.Condition) ----------------------------------------------------------------------------------

static const struct json *conditions_of(const struct json *object) {
    return json_get(json_get(object, "status"), "conditions");
}

static const wharf_value *value_condition(const wharf_value *object, const char *type, const char *status) {
    const struct json *conditions = conditions_of((const struct json *)object);
    return type ? (const wharf_value *)phase_condition(conditions, type, status) : NULL;
}

static bool set_text(struct adapter_call *call, struct json *condition, const char *key, const char *text) {
    if (!text || text_equal(json_string(json_get(condition, key)), text))
        return true;
    if (text_utf8_valid(text, strlen(text)) < strlen(text))
        return services_refuse(call, "/status/conditions: %s cannot be set: the text is not UTF-8", key);
    return services_put_member(call, condition, key, json_new_string(text));
}

// The member of this type, created if absent or null. NULL and a failure for another type.
static struct json *member_of(struct adapter_call *call, struct json *object, const char *key, enum json_type type,
                              const char *pointer) {
    struct json *member = json_get(object, key);
    if (json_is(member, type))
        return member;
    if (member && !json_is(member, JSON_NULL)) {
        services_refuse(call, "%s: a condition cannot be set in %s", pointer, services_type_name(member));
        return NULL;
    }
    struct json *made = type == JSON_ARRAY ? json_new_array() : json_new_object();
    return services_put_member(call, object, key, made) ? json_get(object, key) : NULL;
}

// The condition of this type, created if absent.
static struct json *condition_of(struct adapter_call *call, struct json *object, const char *type) {
    struct json *status = member_of(call, object, "status", JSON_OBJECT, "/status");
    struct json *conditions = status ? member_of(call, status, "conditions", JSON_ARRAY, "/status/conditions") : NULL;
    struct json *found = json_find_item(conditions, "type", type);
    if (found || !conditions)
        return found;
    AUTO_JSON made = json_new_object();
    if (!made)
        services_no_memory(call);
    if (!made || !set_text(call, made, "type", type))
        return NULL;
    struct json *condition = TAKE(made);
    if (json_append(conditions, condition))
        return condition;
    services_no_memory(call);
    return NULL;
}

// When the condition last changed: as in the workload, or now.
static bool set_times(struct adapter_call *call, struct json *condition, const char *type, const char *status) {
    const struct json *known = phase_condition(conditions_of(call->workload), type, status);
    const char *const members[] = {TRANSITION_TIME, call->kind ? call->kind->condition_time : NULL};
    for (size_t i = 0; i < sizeof members / sizeof members[0] && members[i]; i++) {
        const char *time = json_string(json_get(known, members[i]));
        if (!set_text(call, condition, members[i], time ? time : call->call.now))
            return false;
    }
    return true;
}

static wharf_value *set_condition(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                  const char *reason, const char *message) {
    struct adapter_call *owner = services_call(call);
    struct json *root = (struct json *)object;
    if (!owner)
        return NULL;
    if (!json_is(root, JSON_OBJECT) || !type || !status) {
        services_refuse(
            owner, "/status/conditions: a condition cannot be set: found %s, expected an object, a type and a status",
            !json_is(root, JSON_OBJECT) ? services_type_name(root)
            : !type                     ? "no type"
                                        : "no status");
        return NULL;
    }
    struct json *condition = condition_of(owner, root, type);
    if (!condition)
        return NULL;
    owner->part_given = true;
    bool turned = !text_equal(json_string(json_get(condition, "status")), status);
    bool done = set_text(owner, condition, "status", status) && set_text(owner, condition, "reason", reason) &&
                set_text(owner, condition, "message", message) &&
                (!turned || set_times(owner, condition, type, status));
    return done ? (wharf_value *)condition : NULL;
}

// The table -------------------------------------------------------------------------------------------------------

static const wharf_host *replacement; // of a tool

void services_replace(const wharf_host *table) {
    replacement = table;
}

const wharf_host *services_table(void) {
    static const wharf_host table = {
        .size = sizeof(wharf_host),
        .abi_major = WHARF_ABI_MAJOR,
        .abi_minor = WHARF_ABI_MINOR,
        .version = WHARF_VERSION,
        .type = value_type,
        .find = value_find,
        .find_where = value_find_where,
        .is = value_is,
        .string = value_string,
        .boolean = value_boolean,
        .integer = value_integer,
        .number = value_number,
        .count = value_count,
        .first = value_first,
        .next = value_next,
        .name = value_name,
        .equal = value_equal,
        .condition = value_condition,
        .parse_time = parse_time,
        .new_null = new_null,
        .new_boolean = new_boolean,
        .new_integer = new_integer,
        .new_string = new_string,
        .new_array = new_array,
        .new_object = new_object,
        .copy = value_copy,
        .parse = value_parse,
        .print = value_print,
        .format = format_text,
        .format_time = format_time,
        .memory = memory,
        .set = services_set,
        .set_string = services_set_string,
        .set_integer = services_set_integer,
        .set_boolean = services_set_boolean,
        .remove = services_remove,
        .take = services_take,
        .edit = services_edit,
        .set_condition = set_condition,
        .log = services_log,
    };
    return replacement ? replacement : &table;
}
