// SPDX-License-Identifier: Apache-2.0
// The functions of struct wharf_host. A wharf_value is a struct json; the table checks what it is given, since it is
// called by code that the host does not know.
#include "core/adapter/services_memory.h"
#include "core/base/text.h"
#include "core/json/items.h"
#include "core/json/pointer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct json *in(const wharf_value *value) {
    return (const struct json *)value;
}

static const wharf_value *out(const struct json *value) {
    return (const wharf_value *)value;
}

static wharf_type value_type(const wharf_value *value) {
    if (!value)
        return WHARF_ABSENT;
    switch (json_type(in(value))) {
    case JSON_NULL:
        return WHARF_NULL;
    case JSON_BOOL:
        return WHARF_BOOL;
    case JSON_NUMBER:
        return WHARF_NUMBER;
    case JSON_STRING:
        return WHARF_STRING;
    case JSON_ARRAY:
        return WHARF_ARRAY;
    case JSON_OBJECT:
        return WHARF_OBJECT;
    }
    return WHARF_NULL;
}

// RFC 6901 section 3, without the cost of a message: "" or "/...", and only 0 or 1 after a tilde.
static bool is_pointer(const char *pointer) {
    if (!pointer || (pointer[0] != '\0' && pointer[0] != '/'))
        return false;
    for (const char *tilde = strchr(pointer, '~'); tilde; tilde = strchr(tilde + 1, '~'))
        if (tilde[1] != '0' && tilde[1] != '1')
            return false;
    return true;
}

static const wharf_value *value_find(const wharf_value *value, const char *pointer) {
    if (!value || !is_pointer(pointer))
        return NULL;
    return out(pointer_find(in(value), pointer));
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

static bool is_container(const struct json *value) {
    return json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT);
}

static size_t value_count(const wharf_value *value) {
    return is_container(in(value)) ? json_size(in(value)) : 0;
}

static const wharf_value *value_first(const wharf_value *value) {
    return is_container(in(value)) ? out(json_first(in(value))) : NULL;
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

// Gives a value that was just made to the call.
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
    return made(call, json_new_string(text));
}

static wharf_value *new_array(const wharf_call *call) {
    return made(call, json_new_array());
}

static wharf_value *new_object(const wharf_call *call) {
    return made(call, json_new_object());
}

static wharf_value *value_copy(const wharf_call *call, const wharf_value *value) {
    return !value ? NULL : made(call, json_copy(in(value)));
}

static wharf_value *value_parse(const wharf_call *call, const char *text, size_t len) {
    struct json *value = NULL;
    if (!text)
        return NULL;
    struct error *error = json_parse(text, len, &value);
    if (error) {
        error_free(error);
        return NULL;
    }
    return made(call, value);
}

// Gives a text that was just made to the call.
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
    const char *text = !value ? NULL : written(call, json_text(in(value), &size));
    if (len)
        *len = !text ? 0 : size;
    return text;
}

// Containers around the deepest one in `value`, itself included; json_copy bounds the recursion.
static size_t depth_of(const struct json *value) {
    size_t deepest = 0;
    if (!is_container(value))
        return 0;
    for (const struct json *child = json_first(value); child; child = json_next(child)) {
        size_t depth = depth_of(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static size_t segments(const char *pointer) {
    size_t count = 0;
    for (; *pointer != '\0'; pointer++)
        count += *pointer == '/';
    return count;
}

// Takes `value`, NULL too.
static int set_taken(wharf_value *root, const char *pointer, struct json *value) {
    struct json *into = (struct json *)root;
    if (!into || !value || !is_pointer(pointer) || segments(pointer) + depth_of(value) > JSON_MAX_DEPTH) {
        json_free(value);
        return 0;
    }
    if (pointer[0] != '\0')
        return pointer_set(into, pointer, value);
    bool done = json_take_content(into, value);
    json_free(value);
    return done;
}

static int value_set(wharf_value *root, const char *pointer, const wharf_value *value) {
    return !value ? 0 : set_taken(root, pointer, json_copy(in(value)));
}

static int value_remove(wharf_value *root, const char *pointer) {
    return root && is_pointer(pointer) && pointer_remove((struct json *)root, pointer);
}

static int set_string(wharf_value *root, const char *pointer, const char *text) {
    return set_taken(root, pointer, json_new_string(text));
}

static int set_integer(wharf_value *root, const char *pointer, int64_t value) {
    return set_taken(root, pointer, json_new_int64(value));
}

static int set_boolean(wharf_value *root, const char *pointer, int value) {
    return set_taken(root, pointer, json_new_bool(value != 0));
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
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    return len < 0 ? NULL : written(call, text);
}

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
        .string = value_string,
        .boolean = value_boolean,
        .integer = value_integer,
        .number = value_number,
        .count = value_count,
        .first = value_first,
        .next = value_next,
        .name = value_name,
        .equal = value_equal,
        .new_null = new_null,
        .new_boolean = new_boolean,
        .new_integer = new_integer,
        .new_string = new_string,
        .new_array = new_array,
        .new_object = new_object,
        .copy = value_copy,
        .parse = value_parse,
        .print = value_print,
        .set = value_set,
        .remove = value_remove,
        .set_string = set_string,
        .set_integer = set_integer,
        .set_boolean = set_boolean,
        .parse_time = parse_time,
        .format_time = format_time,
        .format = format_text,
        .log = services_log,
        .condition = services_condition,
        .set_condition = services_set_condition,
    };
    return replacement ? replacement : &table;
}
