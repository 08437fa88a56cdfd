// SPDX-License-Identifier: Apache-2.0
// Reading, creating and modifying values.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/node.h"

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

void json_set_line(struct json *value, size_t line) {
    node_set_line(node_of(value), (int)line);
}

size_t json_line(const struct json *value) {
    return value ? (size_t)node_line(node_of_const(value)) : 0;
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

// -- creating --

struct json *json_new_null(void) {
    return node_json(node_new(cJSON_NULL, 0, 0));
}

struct json *json_new_bool(bool value) {
    return node_json(node_new(value ? cJSON_True : cJSON_False, 0, 0));
}

char *number_digits(uint64_t value, char *end) {
    do
        *--end = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    return end;
}

struct json *json_new_int64(int64_t value) {
    char token[20], *end = token + sizeof token;
    char *start = number_digits(value < 0 ? -(uint64_t)value : (uint64_t)value, end);
    if (value < 0)
        *--start = '-';
    return node_json(node_new_number(start, (size_t)(end - start)));
}

struct json *json_new_string(const char *text) {
    return text ? json_new_string_len(text, strlen(text)) : NULL;
}

struct json *json_new_string_len(const char *text, size_t len) {
    if (!text || text_utf8_valid(text, len) < len)
        return NULL;
    return node_json(node_new_text(text, len));
}

struct json *json_new_array(void) {
    return node_json(node_new(cJSON_Array, 0, 0));
}

struct json *json_new_object(void) {
    return node_json(node_new(cJSON_Object, 0, 0));
}

#define COPY_SIZE 1024 // initial arena size for the copy of a container; doubles

// One node with key and text in one block; no children.
static cJSON *copy_node(struct arena *arena, const cJSON *node, bool with_key) {
    size_t key_size = with_key && node->string ? strlen(node->string) + 1 : 0;
    const char *text = node_text(node);
    size_t text_size = text ? strlen(text) + 1 : 0;
    cJSON *copy = node_new_in(arena, node_type(node), key_size, text_size);
    if (!copy)
        return NULL;
    if (key_size > 0)
        memcpy(copy->string, node->string, key_size);
    if (text_size > 0)
        memcpy(copy->valuestring, text, text_size);
    node_set_line(copy, node_line(node));
    return copy;
}

cJSON *node_copy_in(struct arena *arena, const cJSON *value, bool with_key) {
    const cJSON *open[JSON_MAX_DEPTH]; // the ancestors of `node` in the original, and their copies
    cJSON *copies[JSON_MAX_DEPTH];
    size_t depth = 0;
    cJSON *root = NULL;
    const cJSON *node = value;
    while (node) {
        cJSON *copy = copy_node(arena, node, depth > 0 || with_key);
        if (!copy || (node_is_container(node) && depth == JSON_MAX_DEPTH))
            return NULL;
        if (depth > 0)
            node_append(copies[depth - 1], copy);
        else
            root = copy;
        if (node->child) {
            open[depth] = node;
            copies[depth++] = copy;
            node = node->child;
            continue;
        }
        node = depth > 0 ? node->next : NULL;
        while (!node && depth > 0) {
            depth--;
            node = depth > 0 ? open[depth]->next : NULL;
        }
    }
    return root;
}

cJSON *node_copy(const cJSON *value, bool with_key) {
    SENSITIVE_WHILE(value && arena_is_sensitive(value));
    if (!value || !value->child)
        return node_copy_in(NULL, value, with_key);
    struct arena *arena = arena_new(COPY_SIZE, COPY_SIZE);
    if (!arena)
        return NULL;
    arena_hold(arena);
    cJSON *copy = node_copy_in(arena, value, with_key);
    if (copy)
        node_hold_arena(copy);
    arena_drop(arena);
    return copy;
}

struct json *json_copy(const struct json *value) {
    return node_json(node_copy(node_of_const(value), false));
}

// -- modifying --

static bool refuse(struct json *value) {
    json_free(value);
    return false;
}

bool json_set(struct json *object, const char *key, struct json *value) {
    if (!value || !key || !json_is(object, JSON_OBJECT) || text_utf8_valid(key, strlen(key)) < strlen(key))
        return refuse(value);
    cJSON *old = node_of(json_get(object, key));
    if (!node_set_key(node_of(value), key))
        return refuse(value);
    node_put(node_of(object), old, node_of(value));
    return true;
}

bool json_append(struct json *array, struct json *value) {
    if (!value || !json_is(array, JSON_ARRAY))
        return refuse(value);
    node_set_key(node_of(value), NULL);
    node_append(node_of(array), node_of(value));
    return true;
}

bool json_exchange(struct json *parent, struct json *old, struct json *value) {
    if (!value || !old || !json_is_container(parent) ||
        !node_set_key(node_of(value), json_is(parent, JSON_OBJECT) ? json_key(old) : NULL))
        return refuse(value);
    node_swap(node_of(parent), node_of(old), node_of(value));
    node_hold_arena(node_of(old));
    return true;
}

bool json_replace(struct json *parent, struct json *old, struct json *value) {
    if (!json_exchange(parent, old, value))
        return false;
    json_free(old);
    return true;
}

bool json_remove(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    bool found = member;
    json_remove_child(object, member);
    return found;
}

void json_remove_child(struct json *parent, struct json *child) {
    if (!parent || !child)
        return;
    node_unlink(node_of(parent), node_of(child));
    json_free(child);
}

struct json *json_detach(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    json_detach_child(object, member);
    return member;
}

void json_unlink_child(struct json *parent, struct json *child) {
    if (!parent || !child)
        return;
    node_unlink(node_of(parent), node_of(child));
    node_hold_arena(node_of(child));
}

void json_detach_child(struct json *parent, struct json *child) {
    json_unlink_child(parent, child);
    if (parent && child)
        node_set_key(node_of(child), NULL);
}

bool json_take_content(struct json *into, struct json *from) {
    if (!into || !from || into == from || json_type(into) != json_type(from) || !node_is_container(node_of(into)))
        return false;
    while (json_first(into))
        json_remove_child(into, json_first(into));
    index_drop(node_of(into));
    index_drop(node_of(from));
    for (cJSON *child = node_of(json_first(from)); child; child = node_of(json_first(from))) {
        node_unlink(node_of(from), child);
        node_hold_arena(child);
        node_append(node_of(into), child);
    }
    return true;
}
