// SPDX-License-Identifier: Apache-2.0
#include "tests/world/collector.h"
#include "core/base/clock.h"
#include "tests/world/commit.h"
#include "tests/world/meta.h"
#include "tests/world/server.h"

#include <stdlib.h>
#include <string.h>

#define DELAY (20 * CLOCK_MS)

// The dependents of an owner, by its uid; the owner need not exist.
struct dependents {
    char uid[37];
    struct stored **items;
    size_t count, capacity;
};

void world_collector_queue(struct stored *object) {
    struct world_cluster *cluster = object->kind->cluster;
    if (object->collect.place == HEAP_NOT_IN && !heap_set(&cluster->garbage, &object->collect, cluster->now_ns + DELAY))
        world_oom();
}

static void add_dependent(struct world_cluster *cluster, const char *uid, struct stored *object) {
    struct dependents *list = map_get(&cluster->dependents, uid);
    if (!list) {
        list = world_alloc(sizeof *list);
        text_copy(list->uid, sizeof list->uid, uid);
        if (!map_put(&cluster->dependents, list->uid, list))
            world_oom();
    }
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 4;
        list->items = world_resize(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = object;
}

static void remove_dependent(struct world_cluster *cluster, const char *uid, const struct stored *object) {
    struct dependents *list = map_get(&cluster->dependents, uid);
    for (size_t i = 0; list && i < list->count; i++)
        if (list->items[i] == object) {
            list->items[i] = list->items[--list->count];
            break;
        }
    struct stored *owner = map_get(&cluster->by_uid, uid);
    if (owner && meta_deleting(owner->value))
        world_collector_queue(owner);
    if (!list || list->count)
        return;
    map_remove(&cluster->dependents, uid);
    free(list->items);
    free(list);
}

static const struct json *owners_of(const struct stored *object) {
    return json_path(object->value, "metadata", "ownerReferences", NULL);
}

static const char *owner_uid(const struct json *owner) {
    return json_string_or(json_get(owner, "uid"), "");
}

void world_collector_added(struct stored *object) {
    struct world_cluster *cluster = object->kind->cluster;
    bool absent = false;
    object->owned = false;
    for (const struct json *owner = json_first(owners_of(object)); owner; owner = json_next(owner)) {
        object->owned = true;
        add_dependent(cluster, owner_uid(owner), object);
        absent = absent || !map_get(&cluster->by_uid, owner_uid(owner));
    }
    if (absent || meta_deleting(object->value))
        world_collector_queue(object);
}

void world_collector_removed(struct stored *object) {
    if (!object->owned)
        return;
    for (const struct json *owner = json_first(owners_of(object)); owner; owner = json_next(owner))
        remove_dependent(object->kind->cluster, owner_uid(owner), object);
    object->owned = false;
}

void world_collector_owner_gone(const struct stored *owner) {
    struct dependents *list = map_get(&owner->kind->cluster->dependents, owner->uid);
    for (size_t i = 0; list && i < list->count; i++)
        world_collector_queue(list->items[i]);
}

// Removes ownerReferences from an object: those to `uid`, or, if NULL, those to owners that do not exist.
static void drop_owners(struct stored *object, const char *uid) {
    struct json *value = world_json_copy(object->value), *metadata = json_get(value, "metadata");
    struct json *owners = json_get(metadata, "ownerReferences");
    for (struct json *owner = json_first(owners), *next; owner; owner = next) {
        next = json_next(owner);
        bool drop =
            uid ? strcmp(owner_uid(owner), uid) == 0 : !map_get(&object->kind->cluster->by_uid, owner_uid(owner));
        if (drop)
            json_remove_child(owners, owner);
    }
    if (json_size(owners) == 0)
        json_remove(metadata, "ownerReferences");
    commit_internal_update(object, value, true);
}

static void orphan_dependents(struct stored *owner) {
    struct world_cluster *cluster = owner->kind->cluster;
    for (struct dependents *list; (list = map_get(&cluster->dependents, owner->uid)) && list->count;)
        drop_owners(list->items[0], owner->uid);
    commit_drop_finalizer(owner, "orphan");
}

// Background for the dependents: their own dependents follow.
static void delete_dependents(struct stored *owner) {
    struct dependents *list = map_get(&owner->kind->cluster->dependents, owner->uid);
    size_t count = list ? list->count : 0;
    struct stored **items = world_alloc(count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = list->items[i];
    for (size_t i = 0; i < count; i++)
        if (!meta_deleting(items[i]->value))
            world_remove_stored(items[i], "Background", true);
    free(items);
    list = map_get(&owner->kind->cluster->dependents, owner->uid);
    if (!list || list->count == 0)
        commit_drop_finalizer(owner, "foregroundDeletion");
}

static void check_owners(struct stored *object) {
    size_t present = 0, absent = 0;
    for (const struct json *owner = json_first(owners_of(object)); owner; owner = json_next(owner))
        *(map_get(&object->kind->cluster->by_uid, owner_uid(owner)) ? &present : &absent) += 1;
    if (absent && !present)
        world_remove_stored(object, "Background", true);
    else if (absent)
        drop_owners(object, NULL);
}

static bool empty_namespace(struct stored *space) {
    bool empty = true;
    AUTO_TEXT prefix = text_format("%s/", space->name);
    for (struct kind *kind = space->kind->cluster->kinds; kind; kind = kind->next_kind) {
        struct stored *object = kind->cluster_scoped ? NULL : world_seek(kind, prefix);
        while (object && strcmp(object->namespace_, space->name) == 0) {
            struct stored *next = object->next[0];
            empty = empty && meta_deleting(object->value);
            if (!meta_deleting(object->value))
                world_remove_stored(object, "Background", true);
            object = next;
        }
        object = kind->cluster_scoped ? NULL : world_seek(kind, prefix);
        empty = empty && !(object && strcmp(object->namespace_, space->name) == 0);
    }
    return empty;
}

static void look_at_namespace(struct stored *space) {
    if (!empty_namespace(space)) {
        world_collector_queue(space);
        return;
    }
    commit_internal_remove(space);
}

static void look_at(struct stored *object) {
    bool deleting = meta_deleting(object->value);
    if (deleting && object->kind->special == SPECIAL_NAMESPACE)
        look_at_namespace(object);
    else if (deleting && meta_has_finalizer(object->value, "orphan"))
        orphan_dependents(object);
    else if (deleting && meta_has_finalizer(object->value, "foregroundDeletion"))
        delete_dependents(object);
    else if (!deleting)
        check_owners(object);
}

void world_collector_step(struct world_cluster *cluster) {
    for (struct timer *timer; (timer = heap_first(&cluster->garbage)) && timer->at_ns <= cluster->now_ns;) {
        heap_remove(&cluster->garbage, timer);
        look_at((struct stored *)((char *)timer - offsetof(struct stored, collect)));
    }
}

void world_collector_free(struct world_cluster *cluster) {
    size_t cursor = 0;
    for (struct dependents *list; (list = map_next(&cluster->dependents, &cursor));) {
        free(list->items);
        free(list);
    }
    map_free(&cluster->dependents);
}
