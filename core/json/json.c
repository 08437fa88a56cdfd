// SPDX-License-Identifier: Apache-2.0
// Reading values.
#include "core/json/json.h"

#include "core/json/node.h"

#include <stdlib.h>
#include <string.h>

void json_free(struct json *value) {
    node_free(node_of(value));
}

void json_cleanup(struct json **value) {
    json_free(*value);
    *value = NULL;
}

enum json_type json_type(const struct json *value) {
    if (!value)
        return JSON_NULL;
    const cJSON *node = node_of_const(value);
    switch (node_type(node)) {
    case cJSON_True:
    case cJSON_False:
        return JSON_BOOL;
    case cJSON_Raw:
        return node->valuestring[0] == '"' ? JSON_STRING : JSON_NUMBER;
    case cJSON_String:
        return JSON_STRING;
    case cJSON_Array:
        return JSON_ARRAY;
    case cJSON_Object:
        return JSON_OBJECT;
    default:
        return JSON_NULL;
    }
}

bool json_is(const struct json *value, enum json_type type) {
    return value && json_type(value) == type;
}

bool json_is_container(const struct json *value) {
    return value && node_is_container(node_of_const(value));
}

bool json_bool(const struct json *value, bool fallback) {
    return json_is(value, JSON_BOOL) ? node_type(node_of_const(value)) == cJSON_True : fallback;
}

int64_t json_int64(const struct json *value, int64_t fallback) {
    int64_t number;
    const char *token = json_number_text(value);
    return token && number_to_int64(token, &number) ? number : fallback;
}

double json_double(const struct json *value, double fallback) {
    const char *token = json_number_text(value);
    return token ? strtod(token, NULL) : fallback;
}

const char *json_string(const struct json *value) {
    return value && node_type(node_of_const(value)) == cJSON_String ? node_of_const(value)->valuestring : NULL;
}

const char *json_string_or(const struct json *value, const char *fallback) {
    const char *text = json_string(value);
    return text ? text : fallback;
}

char *json_string_copy(const struct json *value, size_t *len) {
    if (!json_is(value, JSON_STRING))
        return NULL;
    const char *text = node_of_const(value)->valuestring;
    struct literal literal = {.text = text, .len = strlen(text)};
    if (!json_string(value)) {
        size_t at = 0;
        if (literal_scan(text, literal.len, &at, &literal))
            return NULL;
    }
    char *copy = malloc(literal.len + 1);
    if (!copy)
        return NULL;
    size_t size = literal_decode(&literal, copy);
    copy[size] = '\0';
    if (len)
        *len = size;
    return copy;
}

const char *json_number_text(const struct json *value) {
    return json_is(value, JSON_NUMBER) ? node_of_const(value)->valuestring : NULL;
}

size_t json_size(const struct json *value) {
    return value ? node_children(node_of_const(value)) : 0;
}

struct json *json_first(const struct json *value) {
    return value ? node_json(node_of_const(value)->child) : NULL;
}

struct json *json_next(const struct json *item) {
    return item ? node_json(node_of_const(item)->next) : NULL;
}

const char *json_key(const struct json *member) {
    return member ? node_of_const(member)->string : NULL;
}

struct json *json_at(const struct json *array, size_t index) {
    if (!json_is(array, JSON_ARRAY))
        return NULL;
    return node_json(node_item(node_of_const(array), index));
}

struct json *json_get(const struct json *object, const char *key) {
    if (!key || !object || node_type(node_of_const(object)) != cJSON_Object)
        return NULL;
    return node_json(node_member_named(node_of_const(object), key));
}

struct json *json_path(const struct json *value, ...) {
    va_list keys;
    va_start(keys, value);
    struct json *at = node_unconst(value);
    for (const char *key = va_arg(keys, const char *); at && key; key = va_arg(keys, const char *))
        at = json_get(at, key);
    va_end(keys);
    return at;
}

void json_use_memory(void *(*take)(size_t size), void (*give_back)(void *memory)) {
    cJSON_Hooks hooks = {.malloc_fn = take, .free_fn = give_back};
    cJSON_InitHooks(take ? &hooks : NULL);
}
