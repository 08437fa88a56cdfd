// SPDX-License-Identifier: Apache-2.0
// Creating and modifying values (json.h).
#include "core/base/text.h"
#include "core/json/node.h"

#include <string.h>

struct json *json_new_null(void) {
    return node_json(node_new(cJSON_NULL, 0, 0));
}

struct json *json_new_bool(bool value) {
    return node_json(node_new(value ? cJSON_True : cJSON_False, 0, 0));
}

struct json *json_new_int64(int64_t value) {
    char token[20];
    size_t at = sizeof token;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        token[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        token[--at] = '-';
    return node_json(node_new_number(token + at, sizeof token - at));
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

static bool refuse(struct json *value) {
    json_free(value);
    return false;
}

bool json_set(struct json *object, const char *key, struct json *value) {
    if (!value || !key || !json_is(object, JSON_OBJECT) || text_utf8_valid(key, strlen(key)) < strlen(key))
        return refuse(value);
    cJSON *node = node_of(value);
    cJSON *old = node_of(json_get(object, key));
    if (!node_set_key(node, key))
        return refuse(value);
    if (old)
        node_swap(node_of(object), old, node);
    else
        node_append(node_of(object), node);
    node_free(old);
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
    if (!value || !old || !parent || !node_is_container(node_of(parent)))
        return refuse(value);
    if (!node_set_key(node_of(value), json_is(parent, JSON_OBJECT) ? json_key(old) : NULL))
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
    if (!member)
        return false;
    json_remove_child(object, member);
    return true;
}

void json_remove_child(struct json *parent, struct json *child) {
    if (!parent || !child)
        return;
    node_unlink(node_of(parent), node_of(child));
    json_free(child);
}

struct json *json_detach(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    if (!member)
        return NULL;
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
