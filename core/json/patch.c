// SPDX-License-Identifier: Apache-2.0
#include "core/json/patch.h"

#include "core/json/node.h"

#include <string.h>

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
    if (old && node_equal_merged(old, new))
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
    if (!value)
        return false;
    if (old)
        node_swap(node_of(target), node_of(old), node_of(value));
    else
        node_append(node_of(target), node_of(value));
    json_free(old);
    return true;
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
