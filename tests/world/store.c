// SPDX-License-Identifier: Apache-2.0
// Objects of a resource: a hash map by key for finding and a skip list in key order for listing.
#include "tests/world/collector.h"
#include "tests/world/controllers.h"
#include "tests/world/model.h"
#include "tests/world/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stored *world_find_key(const struct kind *kind, const char *key) {
    return map_get(&kind->by_key, key);
}

struct stored *world_find(const struct kind *kind, const char *namespace_, const char *name) {
    char key[512];
    if (!*namespace_)
        return world_find_key(kind, name);
    size_t first = strlen(namespace_), second = strlen(name);
    if (first + second + 2 > sizeof key)
        return NULL;
    char *end = mempcpy(key, namespace_, first);
    *end++ = '/';
    end = mempcpy(end, name, second);
    *end = '\0';
    return world_find_key(kind, key);
}

// Fills `before` with the last node below `key` on each level.
static void find_place(const struct kind *kind, const char *key, struct stored *before[WORLD_LEVELS]) {
    struct stored *node = (struct stored *)&kind->head;
    for (size_t level = WORLD_LEVELS; level-- > 0;) {
        while (node->next[level] && strcmp(node->next[level]->key, key) < 0)
            node = node->next[level];
        before[level] = node;
    }
}

struct stored *world_seek(const struct kind *kind, const char *key) {
    struct stored *before[WORLD_LEVELS];
    find_place(kind, key, before);
    return before[0]->next[0];
}

static void link_in(struct kind *kind, struct stored *object) {
    struct stored *before[WORLD_LEVELS];
    find_place(kind, object->key, before);
    uint64_t bits = random_next(&kind->levels);
    size_t level = 0;
    do {
        object->next[level] = before[level]->next[level];
        before[level]->next[level] = object;
        level++;
        bits >>= 2;
    } while (level < WORLD_LEVELS && (bits & 3) == 0);
    if (!map_put(&kind->by_key, object->key, object))
        world_oom();
}

static void link_out(struct kind *kind, struct stored *object) {
    struct stored *before[WORLD_LEVELS];
    find_place(kind, object->key, before);
    for (size_t level = 0; level < WORLD_LEVELS && before[level]->next[level] == object; level++)
        before[level]->next[level] = object->next[level];
    map_remove(&kind->by_key, object->key);
}

static void set_version(struct json *value, uint64_t version) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, version);
    world_set_text(json_get(value, "metadata"), "resourceVersion", text);
}

static void tell(struct kind *kind, enum event_type type, struct blob *now, struct blob *before) {
    world_history_add(kind, type, now, before);
    world_watches_notify(kind);
}

static char *make_key(const char *namespace_, const char *name) {
    char *key = *namespace_ ? text_format("%s/%s", namespace_, name) : text_format("%s", name);
    if (!key)
        world_oom();
    return key;
}

struct stored *world_store_add(struct kind *kind, struct json *value) {
    struct world_cluster *cluster = kind->cluster;
    const struct json *metadata = json_get(value, "metadata");
    struct stored *object = world_alloc(sizeof *object);
    object->kind = kind;
    object->value = value;
    const char *namespace_ = kind->cluster_scoped ? "" : json_string_or(json_get(metadata, "namespace"), "");
    object->key = make_key(namespace_, json_string_or(json_get(metadata, "name"), ""));
    const char *slash = *namespace_ ? strchr(object->key, '/') : NULL;
    object->name = slash ? slash + 1 : object->key;
    object->namespace_ = world_strdup(namespace_);
    text_copy(object->uid, sizeof object->uid, json_string_or(json_get(metadata, "uid"), ""));
    timer_init(&object->timer);
    timer_init(&object->collect);
    cluster->version++;
    set_version(value, cluster->version);
    object->blob = world_blob_new(cluster, object, NULL);
    link_in(kind, object);
    if (!map_put(&cluster->by_uid, object->uid, object))
        world_oom();
    tell(kind, EVENT_ADDED, object->blob, NULL);
    world_collector_added(object);
    world_controllers_changed(object);
    return object;
}

struct json *world_store_exchange(struct stored *object, struct json *value, bool same_spec) {
    struct world_cluster *cluster = object->kind->cluster;
    struct json *old = object->value;
    struct blob *before = object->blob;
    if (object->owned || json_size(json_path(value, "metadata", "ownerReferences", NULL)) > 0)
        world_collector_removed(object);
    object->value = value;
    cluster->version++;
    set_version(value, cluster->version);
    object->blob = world_blob_new(cluster, object, same_spec ? before : NULL);
    tell(object->kind, EVENT_MODIFIED, object->blob, before);
    world_blob_unref(before);
    world_collector_added(object);
    world_controllers_changed(object);
    return old != value ? old : NULL;
}

void world_store_replace(struct stored *object, struct json *value, bool same_spec) {
    json_free(world_store_exchange(object, value, same_spec));
}

void world_store_remove(struct stored *object) {
    struct world_cluster *cluster = object->kind->cluster;
    world_controllers_gone(object);
    world_collector_removed(object);
    world_collector_owner_gone(object);
    heap_remove(&cluster->garbage, &object->collect);
    link_out(object->kind, object);
    map_remove(&cluster->by_uid, object->uid);
    cluster->version++;
    struct blob *last = world_blob_stamp(object->blob, cluster->version);
    tell(object->kind, EVENT_DELETED, last, object->blob);
    world_blob_unref(last);
    world_blob_unref(object->blob);
    json_free(object->value);
    free((char *)object->namespace_);
    free((char *)object->key);
    free(object);
}
