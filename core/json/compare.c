// SPDX-License-Identifier: Apache-2.0
// Comparing documents: equality and hashes (json.h), merge patches (pointer.h).
#include "core/base/text.h"
#include "core/json/node.h"
#include "core/json/pointer.h"

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

bool json_is_zero(const struct json *value) {
    return json_is(value, JSON_NULL) || (json_is(value, JSON_BOOL) && !json_bool(value, false)) ||
           (json_is(value, JSON_NUMBER) && json_double(value, 1) == 0) || text_equal(json_string(value), "");
}

// -- merge patches --

#define PATCH_SIZE 512 // initial arena size of a patch; doubles

// Drops the null members of objects, as a merge patch does for a new member; nulls in arrays stay, as arrays are copied
// unchanged (RFC 7386 section 2).
static void drop_nulls(struct json *value) {
    if (!json_is(value, JSON_OBJECT))
        return;
    for (struct json *member = json_first(value); member;) {
        struct json *next = json_next(member);
        if (json_is(member, JSON_NULL))
            json_remove_child(value, member);
        else
            drop_nulls(member);
        member = next;
    }
}

struct diff {
    struct arena *arena; // of the patch
    bool has_array;
};

static bool diff_objects(struct diff *diff, const cJSON *from, const cJSON *to, cJSON *patch, size_t depth);

// A new member, not yet in the patch.
static cJSON *new_member(struct diff *diff, int type, const char *key) {
    size_t size = strlen(key) + 1;
    cJSON *node = node_new_in(diff->arena, type, size, 0);
    if (node)
        memcpy(node->string, key, size);
    return node;
}

// Adds the difference of one member of `to` to the patch. False when out of memory.
static bool diff_member(struct diff *diff, const cJSON *old, const cJSON *new, cJSON *patch, size_t depth) {
    cJSON *change;
    if (old && node_type(old) == cJSON_Object && node_type(new) == cJSON_Object) {
        change = depth < JSON_MAX_DEPTH ? new_member(diff, cJSON_Object, new->string) : NULL;
        if (!change || !diff_objects(diff, old, new, change, depth + 1))
            return false;
        if (change->child)
            node_append(patch, change);
        else
            arena_give_back(diff->arena, change);
        return true;
    }
    if (old && equal(old, new, true, 0))
        return true;
    if (old && node_type(old) == cJSON_Array)
        diff->has_array = true;
    change = node_copy_in(diff->arena, new, true);
    if (!change)
        return false;
    drop_nulls(node_json(change));
    node_append(patch, change);
    return true;
}

// Adds new and changed members. *kept: the number of members of `from` that are also in `to`.
static bool add_changed(struct diff *diff, const cJSON *from, const cJSON *to, cJSON *patch, size_t depth,
                        size_t *kept) {
    struct finder old_members;
    finder_init(&old_members, from);
    for (const cJSON *member = to->child; member; member = member->next) {
        const cJSON *old = finder_get(&old_members, member->string);
        if (node_type(member) == cJSON_NULL)
            continue;
        *kept += old && node_type(old) != cJSON_NULL;
        if (!diff_member(diff, old, member, patch, depth))
            return false;
    }
    return true;
}

// Adds the removal of members that are only in `from`; `kept` members are also in `to`.
static bool add_removed(struct diff *diff, const cJSON *from, const cJSON *to, cJSON *patch, size_t kept) {
    size_t left = 0;
    for (const cJSON *member = from->child; member; member = member->next)
        left += node_type(member) != cJSON_NULL;
    left -= kept;
    struct finder new_members;
    finder_init(&new_members, to);
    for (const cJSON *member = from->child; member && left > 0; member = member->next) {
        if (node_type(member) == cJSON_NULL)
            continue;
        const cJSON *new = finder_get(&new_members, member->string);
        if (new &&node_type(new) != cJSON_NULL)
            continue;
        diff->has_array = diff->has_array || node_type(member) == cJSON_Array;
        cJSON *removed = new_member(diff, cJSON_NULL, member->string);
        if (!removed)
            return false;
        node_append(patch, removed);
        left--;
    }
    return true;
}

static bool diff_objects(struct diff *diff, const cJSON *from, const cJSON *to, cJSON *patch, size_t depth) {
    size_t kept = 0;
    return add_changed(diff, from, to, patch, depth, &kept) && add_removed(diff, from, to, patch, kept);
}

struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array) {
    if (!json_is(from, JSON_OBJECT) || !json_is(to, JSON_OBJECT))
        return NULL;
    struct diff diff = {.arena = arena_new(PATCH_SIZE, PATCH_SIZE)};
    if (!diff.arena)
        return NULL;
    arena_hold(diff.arena);
    cJSON *patch = node_new_in(diff.arena, cJSON_Object, 0, 0);
    bool fine = patch && diff_objects(&diff, node_of_const(from), node_of_const(to), patch, 0);
    if (fine)
        node_hold_arena(patch);
    arena_drop(diff.arena);
    if (has_array)
        *has_array = diff.has_array;
    return fine ? node_json(patch) : NULL;
}

static struct json *copy_without_nulls(const struct json *value, bool with_key) {
    struct json *copy = node_json(node_copy(node_of_const(value), with_key));
    drop_nulls(copy);
    return copy;
}

static bool apply_members(struct json *target, const struct json *patch, size_t depth);

static bool apply_member(struct json *target, struct json *old, const struct json *change, size_t depth) {
    if (json_is(change, JSON_NULL)) {
        json_remove_child(target, old);
        return true;
    }
    if (json_is(old, JSON_OBJECT) && json_is(change, JSON_OBJECT))
        return depth < JSON_MAX_DEPTH && apply_members(old, change, depth + 1);
    struct json *value = copy_without_nulls(change, true);
    if (value)
        node_put(node_of(target), node_of(old), node_of(value));
    return value;
}

static bool apply_members(struct json *target, const struct json *patch, size_t depth) {
    struct finder members;
    finder_init(&members, node_of(target));
    for (const struct json *change = json_first(patch); change; change = json_next(change))
        if (!apply_member(target, node_json(finder_get(&members, json_key(change))), change, depth))
            return false;
    return true;
}

bool patch_apply(struct json **target, const struct json *patch) {
    if (json_is(*target, JSON_OBJECT) && json_is(patch, JSON_OBJECT))
        return apply_members(*target, patch, 0);
    struct json *value = copy_without_nulls(patch, false);
    if (!value)
        return false;
    json_free(*target);
    *target = value;
    return true;
}
