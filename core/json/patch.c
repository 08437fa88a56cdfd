// SPDX-License-Identifier: Apache-2.0
#include "core/json/patch.h"

#include "core/json/node.h"

static struct json *diff_objects(const struct json *from, const struct json *to, bool *has_array, size_t depth);

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

// A copy as a merge patch leaves it where there was nothing before: without the null members of its objects, but with
// the nulls in arrays, which it takes whole (RFC 7386 section 2).
static struct json *copy_without_nulls(const struct json *value) {
    struct json *copy = json_copy(value);
    drop_nulls(copy);
    return copy;
}

// What the patch has to say of one member that is in `to`. NULL in *out: nothing. False when out of memory.
static bool diff_member(const struct json *old, const struct json *new, bool *has_array, size_t depth,
                        struct json **out) {
    *out = NULL;
    if (json_is(old, JSON_OBJECT) && json_is(new, JSON_OBJECT)) {
        *out = depth < JSON_MAX_DEPTH ? diff_objects(old, new, has_array, depth + 1) : NULL;
        if (!*out)
            return false;
        if (!json_first(*out))
            json_cleanup(out);
        return true;
    }
    if (json_equal(old, new))
        return true;
    if (json_is(old, JSON_ARRAY))
        *has_array = true;
    *out = copy_without_nulls(new);
    return *out != NULL;
}

static bool add_changed(struct json *patch, const struct json *from, const struct json *to, bool *has_array,
                        size_t depth) {
    struct finder old_members;
    finder_init(&old_members, node_of_const(from));
    for (const struct json *member = json_first(to); member; member = json_next(member)) {
        if (json_is(member, JSON_NULL))
            continue;
        const struct json *old = node_json(finder_get(&old_members, json_key(member)));
        struct json *change;
        if (!diff_member(old, member, has_array, depth, &change))
            return false;
        if (change && !node_add(node_of(patch), json_key(member), node_of(change)))
            return false;
    }
    return true;
}

static bool add_removed(struct json *patch, const struct json *from, const struct json *to, bool *has_array) {
    struct finder new_members;
    finder_init(&new_members, node_of_const(to));
    for (const struct json *member = json_first(from); member; member = json_next(member)) {
        const struct json *new = node_json(finder_get(&new_members, json_key(member)));
        if (new && (json_is(member, JSON_NULL) || !json_is(new, JSON_NULL)))
            continue;
        if (json_is(member, JSON_ARRAY))
            *has_array = true;
        cJSON *removed = node_new(cJSON_NULL, 0, 0);
        if (!removed || !node_add(node_of(patch), json_key(member), removed))
            return false;
    }
    return true;
}

static struct json *diff_objects(const struct json *from, const struct json *to, bool *has_array, size_t depth) {
    AUTO_JSON patch = json_new_object();
    if (!patch || !add_changed(patch, from, to, has_array, depth) || !add_removed(patch, from, to, has_array))
        return NULL;
    struct json *result = patch;
    patch = NULL;
    return result;
}

struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array) {
    bool found_array = false;
    if (!json_is(from, JSON_OBJECT) || !json_is(to, JSON_OBJECT))
        return NULL;
    struct json *patch = diff_objects(from, to, &found_array, 0);
    if (has_array)
        *has_array = found_array;
    return patch;
}

static bool apply_members(struct json *target, const struct json *patch, size_t depth);

static bool apply_member(struct json *target, struct json *old, const struct json *change, size_t depth) {
    if (json_is(change, JSON_NULL)) {
        json_remove_child(target, old);
        return true;
    }
    if (json_is(old, JSON_OBJECT) && json_is(change, JSON_OBJECT))
        return depth < JSON_MAX_DEPTH && apply_members(old, change, depth + 1);
    struct json *value = copy_without_nulls(change);
    if (old)
        return json_replace(target, old, value);
    return value && node_add(node_of(target), json_key(change), node_of(value));
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
    struct json *value = copy_without_nulls(patch);
    if (!value)
        return false;
    json_free(*target);
    *target = value;
    return true;
}
