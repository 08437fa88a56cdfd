// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"

#include "core/base/memory.h"
#include "core/engine/elsewhere/suspicion.h"
#include "core/engine/fence/fence.h"
#include "core/engine/placement/placing.h"
#include "core/engine/shard/shard.h"

bool cluster_namespace(const struct engine *engine, size_t cluster, const char *namespace_, char out[NAMESPACE_SIZE]) {
    const char *map = engine->clusters[cluster].settings.namespace_map;
    bool mapped = map && *namespace_, found = !mapped || namespace_there(map, engine->origin, namespace_, out);
    if (!mapped || !found)
        text_copy(out, NAMESPACE_SIZE, namespace_);
    return found;
}

enum contact cluster_contact(const struct engine *engine, size_t cluster) {
    return engine->clusters[cluster].membership.contact;
}

bool cluster_is_vacant(const struct engine *engine, size_t cluster) {
    return cluster >= engine->n_clusters || !engine->clusters[cluster].name;
}

struct watch_state *cluster_watch(const struct engine *engine, size_t cluster, size_t kind) {
    return &engine->watches[cluster * engine->n_kinds + kind];
}

bool cluster_is_identified(const struct engine *engine, size_t cluster) {
    return engine->clusters[cluster].membership.identity.read;
}

bool cluster_is_other(const struct engine *engine, size_t cluster) {
    return engine->clusters[cluster].membership.identity.refusal == REFUSAL_OTHER;
}

bool cluster_is_connected(const struct engine *engine, size_t cluster, size_t kind) {
    const struct watch_state *watch = cluster_watch(engine, cluster, kind);
    return watch->state == REFLECTOR_CONNECTED && watch->listed && cluster_contact(engine, cluster) != CONTACT_LOST &&
           !cluster_is_other(engine, cluster);
}

size_t cluster_unlisted_kind(const struct engine *engine) {
    size_t k = 0;
    for (const struct watch_state *watch; k < engine->n_kinds; k++) {
        watch = cluster_watch(engine, ENGINE_MANAGEMENT, k);
        if (!watch->listed && watch->state != REFLECTOR_ABSENT)
            break;
    }
    return k;
}

void cluster_refresh(struct engine *engine, size_t cluster, size_t kind) {
    const struct watch_state *watch = cluster_watch(engine, cluster, kind);
    const struct engine_cluster *slot = &engine->clusters[cluster];
    struct worker_facts *facts = &engine->workers[kind][cluster];
    if (cluster_is_vacant(engine, cluster)) {
        *facts = (struct worker_facts){.state_known = true, .frozen = true};
        return;
    }
    enum contact contact = slot->membership.contact;
    const struct identity *own = &slot->membership.identity, *management = &engine->clusters->membership.identity;
    facts->state_known = watch->state_known && (own->read || watch->state != REFLECTOR_CONNECTED);
    facts->refused = own->refusal != REFUSAL_NONE || management->refusal != REFUSAL_NONE;
    facts->frozen = !own->read || !management->known || facts->refused; // rule 9
    facts->connected = cluster_is_connected(engine, cluster, kind);
    facts->listed = watch->listed;
    facts->serves =
        facts->connected && text_equal(watch->version, cluster_watch(engine, ENGINE_MANAGEMENT, kind)->version);
    facts->closed = slot->settings.policy != WORKER_ACTIVE;
    facts->moves = slot->settings.policy == WORKER_DRAIN_MOVE;
    facts->moves_at_ns = clock_after(slot->membership.moves_since_ns, engine->settings.placement.drain_timeout_ns);
    fence_refresh(engine, cluster, facts);
    facts->eligible = facts->serves && !facts->frozen && !facts->closed && (watch->paused & PAUSE_FULL) == 0 &&
                      !suspicion_of(engine, cluster) && contact != CONTACT_SUSPECT && contact != CONTACT_REJECTED;
    facts->lost_since_ns = watch->lost_since_ns;
    facts->namespaces = slot->settings.namespaces;
    facts->renames = slot->settings.namespace_map;
    placement_worker_refresh(engine, cluster, kind);
    struct stats_watch *stats = &engine->stats.clusters[cluster].watches[kind];
    stats->state = watch->state;
    stats->eligible = facts->eligible && (~facts->closed_shards & shard_all(engine));
}

void cluster_queue_blocked(struct engine *engine, size_t kind, size_t cluster) {
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        struct workload_facts *w = &e->workload->facts;
        // The host wrote the status without the mirror while the worker was given up.
        if (w->exists && w->cluster == cluster)
            w->status_due = !w->finished;
        if (e->blocked || w->cluster == cluster)
            queue_entry(engine, e);
    }
}

void cluster_watch_changed(struct engine *engine, size_t cluster, size_t kind) {
    size_t end = cluster == ENGINE_MANAGEMENT ? engine->n_clusters : cluster + 1;
    for (size_t c = cluster; c < end; c++)
        cluster_refresh(engine, c, kind);
    cluster_queue_blocked(engine, kind, cluster);
}

void cluster_changed(struct engine *engine, size_t cluster) {
    struct store_cursor at = {0};
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_watch_changed(engine, cluster, k);
    for (struct entry *e; cluster == ENGINE_MANAGEMENT && (e = store_next(&engine->store, &at));)
        queue_entry(engine, e);
}

static void add_active(struct engine *engine, const struct entry *entry, uint32_t cluster, size_t change) {
    if (cluster == 0)
        return;
    for (size_t k = 0; k < engine->n_kinds; k++)
        engine->workers[k][cluster].active += change;
    engine->workers[entry->kind][cluster].active_kind += change;
    engine->stats.clusters[cluster].active += change;
}

void cluster_count_active(struct engine *engine, struct entry *entry, uint32_t cluster) {
    uint32_t former = entry->workload->active_in;
    if (former == cluster)
        return;
    completions_end(entry);
    add_active(engine, entry, former, SIZE_MAX);
    add_active(engine, entry, cluster, 1);
    if (former)
        placement_queue_retry(engine);
    entry->workload->active_in = cluster;
}

void cluster_suspect_deletions(struct engine *engine, size_t kind, bool restored) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    watch->suspect_until_ns = clock_after(engine->now.mono_ns, engine->settings.orphan_grace_ns);
    if (restored)
        watch->restored_until_ns = watch->suspect_until_ns;
}

void cluster_relist(struct engine *engine, size_t cluster, size_t kind) {
    struct update *update = engine->update;
    if (array_reserve(&update->relists, &update->cap_relists, update->n_relists + 1, sizeof *update->relists))
        update->relists[update->n_relists++] = (struct relist){cluster, kind};
}
