// SPDX-License-Identifier: Apache-2.0
// etcd restored from a backup, or started empty, at the same address: resource versions go back.
#include "tests/world/collector.h"
#include "tests/world/model.h"
#include "tests/world/server.h"
#include "tests/world/watch.h"

#include <stdlib.h>
#include <string.h>

struct copied {
    char *group, *plural;
    struct json *value;
    uint64_t version;
};

struct world_copy {
    struct copied *objects;
    size_t count;
    uint64_t version;
};

static size_t count_all(const struct world_cluster *cluster) {
    size_t count = 0;
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        count += kind->by_key.count;
    return count;
}

struct world_copy *world_copy(const struct world_cluster *cluster) {
    struct world_copy *copy = world_alloc(sizeof *copy);
    copy->objects = world_alloc(count_all(cluster) * sizeof *copy->objects);
    copy->version = cluster->version;
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        for (const struct stored *object = kind->head.next[0]; object; object = object->next[0])
            copy->objects[copy->count++] = (struct copied){world_strdup(kind->group), world_strdup(kind->plural),
                                                           world_json_copy(object->value), object->blob->version};
    return copy;
}

void world_copy_free(struct world_copy *copy) {
    if (!copy)
        return;
    for (size_t i = 0; i < copy->count; i++) {
        free(copy->objects[i].group);
        free(copy->objects[i].plural);
        json_free(copy->objects[i].value);
    }
    free(copy->objects);
    free(copy);
}

// Like stopping the server: streams end without events for the objects.
static void empty(struct world_cluster *cluster) {
    world_end_watches(cluster);
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        while (kind->head.next[0])
            world_store_remove(kind->head.next[0]);
}

static void begin_history(struct world_cluster *cluster, uint64_t version) {
    cluster->version = version;
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind) {
        world_history_clear(kind);
        kind->compacted = version;
    }
}

void world_restore(struct world_cluster *cluster, const struct world_copy *copy, int64_t now_ns) {
    cluster->now_ns = now_ns > cluster->now_ns ? now_ns : cluster->now_ns;
    empty(cluster);
    for (size_t i = 0; i < copy->count; i++) {
        const struct copied *object = &copy->objects[i];
        struct kind *kind = world_kind_find(cluster, object->group, object->plural);
        cluster->version = object->version - 1; // the object's own is the next
        if (kind)
            world_store_add(kind, world_json_copy(object->value));
    }
    begin_history(cluster, copy->version);
}

void world_bump(struct world_cluster *cluster, uint64_t version) {
    begin_history(cluster, version);
}

void world_wipe(struct world_cluster *cluster, int64_t now_ns) {
    cluster->now_ns = now_ns > cluster->now_ns ? now_ns : cluster->now_ns;
    empty(cluster);
    begin_history(cluster, 1 + random_below(&cluster->random, 50));
    world_add_namespaces(cluster);
}
