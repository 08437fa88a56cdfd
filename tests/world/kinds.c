// SPDX-License-Identifier: Apache-2.0
// The resources that a cluster serves.
#include "tests/world/custom.h"
#include "tests/world/watch.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY 4096

struct kind *world_kind_find(const struct world_cluster *cluster, const char *group, const char *plural) {
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        if (strcmp(kind->plural, plural) == 0 && strcmp(kind->group, group) == 0)
            return kind;
    return NULL;
}

bool world_kind_serves(const struct kind *kind, const char *version) {
    for (size_t i = 0; i < kind->version_count; i++)
        if (strcmp(kind->versions[i], version) == 0)
            return true;
    return false;
}

static char *resource_name(const char *plural, const char *group) {
    char *name = *group ? text_format("%s.%s", plural, group) : text_format("%s", plural);
    if (!name)
        world_oom();
    return name;
}

struct kind *world_kind_add(struct world_cluster *cluster, const struct world_kind *from, enum special special) {
    struct kind *kind = world_alloc(sizeof *kind);
    kind->cluster = cluster;
    kind->group = world_strdup(from->group);
    kind->plural = world_strdup(from->plural);
    kind->kind = world_strdup(from->kind);
    kind->resource = resource_name(from->plural, from->group);
    for (size_t i = 0; i < 4 && from->versions[i]; i++)
        kind->versions[kind->version_count++] = world_strdup(from->versions[i]);
    kind->cluster_scoped = from->cluster_scoped;
    kind->has_status = !from->no_status;
    kind->has_generation = special < SPECIAL_CONFIGMAP && special != SPECIAL_EVENT && special != SPECIAL_LEASE &&
                           special != SPECIAL_NAMESPACE;
    kind->special = special;
    kind->definition = from->definition;
    kind->ring_size = cluster->options.history ? cluster->options.history : HISTORY;
    kind->compacted = cluster->version;
    kind->levels.state = random_next(&cluster->random);
    map_init(&kind->by_key, random_next(&cluster->random));
    struct kind **end = &cluster->kinds;
    while (*end)
        end = &(*end)->next_kind;
    *end = kind;
    return kind;
}

void world_kind_free(struct kind *kind) {
    while (kind->watches)
        world_watch_orphan(kind->watches);
    world_history_clear(kind);
    free(kind->ring);
    map_free(&kind->by_key);
    for (size_t i = 0; i < kind->version_count; i++)
        free(kind->versions[i]);
    free(kind->group);
    free(kind->plural);
    free(kind->kind);
    free(kind->resource);
    free(kind);
}

bool world_register(struct world_cluster *cluster, const struct world_kind *kind) {
    if (world_kind_find(cluster, kind->group, kind->plural))
        return false;
    cluster->version++;
    world_kind_add(cluster, kind, SPECIAL_NONE)->custom = custom_find(kind->group, kind->plural);
    return true;
}

bool world_unregister(struct world_cluster *cluster, const char *group, const char *plural) {
    struct kind *kind = world_kind_find(cluster, group, plural);
    if (!kind || kind->builtin)
        return false;
    while (kind->head.next[0])
        world_store_remove(kind->head.next[0]);
    struct kind **link = &cluster->kinds;
    while (*link != kind)
        link = &(*link)->next_kind;
    *link = kind->next_kind;
    for (struct world_watch *watch = kind->watches; watch; watch = world_watch_sibling(watch))
        world_watch_drain(watch);
    world_kind_free(kind);
    return true;
}
