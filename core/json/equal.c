// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/json/node.h"

#include <string.h>

// With `merged`, null members of objects count as absent.
static bool equal(const cJSON *a, const cJSON *b, bool merged, size_t depth);

static bool equal_arrays(const cJSON *a, const cJSON *b, bool merged, size_t depth) {
    const cJSON *x = a->child;
    const cJSON *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!equal(x, y, merged, depth))
            return false;
    return !x && !y;
}

static size_t count_members(const cJSON *object, bool merged) {
    size_t count = 0;
    for (const cJSON *member = object->child; member; member = member->next)
        count += !merged || node_type(member) != cJSON_NULL;
    return count;
}

static bool equal_objects(const cJSON *a, const cJSON *b, bool merged, size_t depth) {
    if (count_members(a, merged) != count_members(b, merged))
        return false;
    struct finder finder;
    finder_init(&finder, b);
    for (const cJSON *member = a->child; member; member = member->next) {
        if (merged && node_type(member) == cJSON_NULL)
            continue;
        const cJSON *other = finder_get(&finder, member->string);
        if (!other || !equal(member, other, merged, depth))
            return false;
    }
    return true;
}

static bool equal(const cJSON *a, const cJSON *b, bool merged, size_t depth) {
    if (json_type(node_json_const(a)) != json_type(node_json_const(b)))
        return false;
    switch (json_type(node_json_const(a))) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return node_type(a) == node_type(b);
    case JSON_NUMBER:
        return number_equal(a->valuestring, b->valuestring);
    case JSON_STRING: // a literal and a plain string never have the same type, and never the same text
        return node_type(a) == node_type(b) && strcmp(a->valuestring, b->valuestring) == 0;
    case JSON_ARRAY:
        return depth < JSON_MAX_DEPTH && equal_arrays(a, b, merged, depth + 1);
    case JSON_OBJECT:
        return depth < JSON_MAX_DEPTH && equal_objects(a, b, merged, depth + 1);
    default:
        return false;
    }
}

bool json_equal(const struct json *a, const struct json *b) {
    if (!a || !b)
        return a == b;
    return equal(node_of_const(a), node_of_const(b), false, 0);
}

bool node_equal_merged(const cJSON *a, const cJSON *b) {
    return equal(a, b, true, 0);
}

static uint64_t hash_node(const cJSON *node, size_t depth) {
    uint64_t hash = TEXT_HASH + (uint64_t)node_type(node);
    if (node_text(node))
        hash = text_hash(hash, node_text(node));
    if (depth == JSON_MAX_DEPTH)
        return hash;
    uint64_t sum = 0;
    for (const cJSON *child = node->child; child; child = child->next) {
        uint64_t of_child = hash_node(child, depth + 1);
        if (node_type(node) == cJSON_Array)
            sum = (sum ^ of_child) * UINT64_C(1099511628211);
        else // members may come in any order
            sum += text_hash(of_child, child->string) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (hash ^ sum) * UINT64_C(1099511628211);
}

uint64_t json_hash(const struct json *value) {
    return value ? hash_node(node_of_const(value), 0) : 0;
}

bool json_is_scalar(const struct json *value, const char *text) {
    if (!value || !text)
        return false;
    const char *token = json_number_text(value);
    if (json_is(value, JSON_BOOL))
        return strcmp(text, json_bool(value, false) ? "true" : "false") == 0;
    if (!token)
        return text_equal(json_string(value), text);
    size_t len = strlen(text), bad = 0;
    return len > 0 && number_scan(text, len, &bad) == len && number_equal(token, text);
}
