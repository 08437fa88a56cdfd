// SPDX-License-Identifier: Apache-2.0
#include "tests/world/patch_types.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/world/model.h"

#include <stdio.h>
#include <string.h>

#define DIRECTIVE "$patch"
#define RETAIN "$retainKeys"
#define ORDER "$setElementOrder/"
#define DELETE_PRIMITIVE "$deleteFromPrimitiveList/"

static bool refuse(char message[256], const char *what, const char *detail) {
    snprintf(message, 256, "%.100s: %.140s", what, detail);
    return false;
}

// RFC 6902 ---------------------------------------------------------------------------------------------------------

// "add" puts an item before the one that has the index; pointer_set replaces it.
static bool insert(struct json *root, const char *pointer, struct json *value) {
    const char *last = strrchr(pointer, '/');
    AUTO_TEXT above = text_format("%.*s", (int)(last - pointer), pointer);
    struct json *parent = above ? pointer_find(root, above) : NULL;
    int64_t index;
    if (!json_is(parent, JSON_ARRAY) || !text_to_int64(last + 1, &index))
        return parent && pointer_set(root, pointer, value);
    size_t size = json_size(parent), at = (size_t)index;
    if (at > size || !json_append(parent, value))
        return false;
    for (size_t i = at; i < size; i++) { // those behind it go to the end, one by one
        struct json *moved = json_at(parent, at);
        json_detach_child(parent, moved);
        if (!json_append(parent, moved))
            world_oom();
    }
    return true;
}

static bool step_json(struct json **target, const struct json *step, char message[256]) {
    const char *op = json_string_or(json_get(step, "op"), ""), *path = json_string(json_get(step, "path"));
    const char *from = json_string(json_get(step, "from"));
    const struct json *value = json_get(step, "value");
    if (!path || (*path && *path != '/'))
        return refuse(message, "invalid JSON patch", "an operation needs a path");
    struct json *there = pointer_find(*target, path);
    if (strcmp(op, "test") == 0)
        return json_equal(there, value) || refuse(message, "testing value failed", path);
    if (strcmp(op, "remove") == 0)
        return pointer_remove(*target, path) || refuse(message, "remove operation does not apply", path);
    bool copies = strcmp(op, "copy") == 0 || strcmp(op, "move") == 0;
    if (!copies && strcmp(op, "add") != 0 && strcmp(op, "replace") != 0)
        return refuse(message, "unexpected kind of operation", op);
    if (copies)
        value = from ? pointer_find(*target, from) : NULL;
    if (!value || !*path || (strcmp(op, "replace") == 0 && !there))
        return refuse(message, "operation does not apply", path);
    struct json *added = world_json_copy(value);
    if (strcmp(op, "move") == 0)
        pointer_remove(*target, from);
    bool done = strcmp(op, "replace") == 0 ? pointer_set(*target, path, added) : insert(*target, path, added);
    return done || refuse(message, "operation does not apply", path);
}

bool patch_json(struct json **target, const struct json *patch, char message[256]) {
    if (!json_is(patch, JSON_ARRAY))
        return refuse(message, "invalid JSON patch", "expected a list of operations");
    for (const struct json *step = json_first(patch); step; step = json_next(step))
        if (!step_json(target, step, message))
            return false;
    return true;
}

// Strategic merge --------------------------------------------------------------------------------------------------

// Lists that are merged by a member of their items (patchMergeKey in the API types of pods, Jobs and metadata).
static const char *merge_key(const char *list) {
    static const struct {
        const char *list, *key;
    } keys[] = {{"containers", "name"},
                {"initContainers", "name"},
                {"ephemeralContainers", "name"},
                {"volumes", "name"},
                {"env", "name"},
                {"imagePullSecrets", "name"},
                {"resourceClaims", "name"},
                {"volumeMounts", "mountPath"},
                {"volumeDevices", "devicePath"},
                {"ports", "containerPort"},
                {"hostAliases", "ip"},
                {"topologySpreadConstraints", "topologyKey"},
                {"ownerReferences", "uid"},
                {"conditions", "type"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].list, list) == 0)
            return keys[i].key;
    return NULL;
}

static bool directive_is(const struct json *patch, const char *word) {
    return text_equal(json_string(json_get(patch, DIRECTIVE)), word);
}

static struct json *find_item(const struct json *list, const char *key, const struct json *value) {
    struct json *item = json_first(list);
    while (item && !json_equal(json_get(item, key), value))
        item = json_next(item);
    return item;
}

static bool has_item(const struct json *list, const struct json *value) {
    const struct json *item = json_first(list);
    while (item && !json_equal(item, value))
        item = json_next(item);
    return item;
}

static void append_copy(struct json *list, const struct json *item) {
    if (!json_append(list, world_json_copy(item)))
        world_oom();
}

static void put_copy(struct json *target, const struct json *member) {
    world_json_set(target, json_key(member), world_json_copy(member));
}

static bool merge_list(struct json *list, const struct json *patch, const char *key, char message[256]) {
    for (const struct json *item = json_first(patch); item; item = json_next(item)) {
        const struct json *value = json_get(item, key);
        if (directive_is(item, "replace")) // of the whole list; the items beside it are the new ones
            continue;
        if (!value)
            return refuse(message, "map does not contain declared merge key", key);
        struct json *there = find_item(list, key, value);
        if (directive_is(item, "delete")) {
            if (there)
                json_remove_child(list, there);
        } else if (!there) {
            append_copy(list, item);
        } else if (!patch_strategic(there, item, message)) {
            return false;
        }
    }
    return true;
}

static bool replaces(const struct json *patch) {
    const struct json *item = json_first(patch);
    while (item && !directive_is(item, "replace"))
        item = json_next(item);
    return item;
}

static bool merge_array(struct json *target, const struct json *patch, char message[256]) {
    const char *name = json_key(patch), *key = merge_key(name);
    struct json *list = json_get(target, name);
    bool primitives = strcmp(name, "finalizers") == 0;
    if ((!key && !primitives) || !json_is(list, JSON_ARRAY) || replaces(patch)) {
        struct json *empty = json_new_array();
        if (!empty)
            world_oom();
        world_json_set(target, name, empty);
        list = json_get(target, name);
    }
    if (key)
        return merge_list(list, patch, key, message);
    for (const struct json *item = json_first(patch); item; item = json_next(item))
        if (!primitives || !has_item(list, item))
            append_copy(list, item);
    return true;
}

static void retain(struct json *target, const struct json *keys) {
    for (struct json *member = json_first(target), *next; member; member = next) {
        AUTO_JSON name = json_new_string(json_key(member));
        next = json_next(member);
        if (!has_item(keys, name))
            json_remove_child(target, member);
    }
}

static void delete_primitives(struct json *list, const struct json *values) {
    for (struct json *item = json_first(list), *next; item; item = next) {
        next = json_next(item);
        if (has_item(values, item))
            json_remove_child(list, item);
    }
}

static bool merge_member(struct json *target, const struct json *member, char message[256]) {
    const char *name = json_key(member);
    struct json *there = json_get(target, name);
    if (strcmp(name, DIRECTIVE) == 0 || strcmp(name, RETAIN) == 0 || text_has_prefix(name, ORDER))
        return true;
    if (text_has_prefix(name, DELETE_PRIMITIVE)) {
        delete_primitives(json_get(target, name + strlen(DELETE_PRIMITIVE)), member);
        return true;
    }
    if (json_is(member, JSON_NULL) || (json_is(member, JSON_OBJECT) && directive_is(member, "delete"))) {
        json_remove(target, name);
        return true;
    }
    if (json_is(member, JSON_ARRAY))
        return merge_array(target, member, message);
    if (!json_is(member, JSON_OBJECT)) {
        put_copy(target, member);
        return true;
    }
    if (!json_is(there, JSON_OBJECT))
        there = world_json_child(target, name);
    return patch_strategic(there, member, message);
}

bool patch_strategic(struct json *target, const struct json *patch, char message[256]) {
    if (!json_is(patch, JSON_OBJECT))
        return refuse(message, "invalid strategic merge patch", "expected an object");
    if (directive_is(patch, "replace"))
        while (json_first(target))
            json_remove_child(target, json_first(target));
    if (json_get(patch, RETAIN))
        retain(target, json_get(patch, RETAIN));
    for (const struct json *member = json_first(patch); member; member = json_next(member))
        if (!merge_member(target, member, message))
            return false;
    return true;
}
