// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"

#include "core/base/memory.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence_state.h"
#include "core/engine/placement/placing.h"
#include "core/engine/queue.h"
#include "core/engine/shard/shard_of.h"

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

static bool is_refused(const struct engine *engine, size_t cluster) {
    return engine->clusters[cluster].membership.identity.refusal != REFUSAL_NONE ||
           engine->clusters->membership.identity.refusal != REFUSAL_NONE;
}

// Rule 9: refused, or not identified yet.
static bool is_forbidden(const struct engine *engine, size_t cluster) {
    return !engine->clusters[cluster].membership.identity.read || !engine->clusters->membership.identity.known ||
           is_refused(engine, cluster);
}

bool cluster_is_connected(const struct engine *engine, size_t cluster, size_t kind) {
    const struct watch_state *watch = cluster_watch(engine, cluster, kind);
    return watch->state == REFLECTOR_CONNECTED && watch->listed &&
           engine->clusters[cluster].membership.contact != CONTACT_LOST && !cluster_is_other(engine, cluster);
}

// Updates the worker facts of decide() from the watch.
void cluster_refresh(struct engine *engine, size_t cluster, size_t kind) {
    struct watch_state *watch = cluster_watch(engine, cluster, kind);
    const char *wanted = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->version;
    struct worker_facts *facts = &engine->workers[kind][cluster];
    if (cluster_is_vacant(engine, cluster)) {
        *facts = (struct worker_facts){.state_known = true, .frozen = true};
        return;
    }
    enum worker_policy policy = engine->clusters[cluster].settings.policy;
    facts->state_known = watch->state_known && (cluster_is_identified(engine, cluster) || watch->state != REFLECTOR_CONNECTED);
    facts->frozen = is_forbidden(engine, cluster);
    facts->refused = is_refused(engine, cluster);
    facts->connected = cluster_is_connected(engine, cluster, kind);
    facts->listed = watch->listed;
    facts->serves = facts->connected && text_equal(watch->version, wanted);
    facts->closed = policy != WORKER_ACTIVE;
    facts->moves = policy == WORKER_DRAIN_MOVE;
    facts->moves_at_ns =
        clock_after(engine->clusters[cluster].membership.moves_since_ns, engine->settings.placement.drain_timeout_ns);
    fence_refresh(engine, cluster, facts);
    facts->eligible = facts->serves && !facts->frozen && !facts->closed && (watch->paused & PAUSE_FULL) == 0 &&
                      engine->clusters[cluster].membership.contact != CONTACT_SUSPECT &&
                      engine->clusters[cluster].membership.contact != CONTACT_REJECTED;
    facts->lost_since_ns = watch->lost_since_ns;
    facts->namespaces = engine->clusters[cluster].settings.namespaces;
    placement_worker_refresh(engine, cluster, kind);
    struct stats_watch *stats = &engine->stats.clusters[cluster].watches[kind];
    stats->state = watch->state;
    stats->eligible = facts->eligible && (~facts->closed_shards & shard_all(engine));
}

void cluster_queue_blocked(struct engine *engine, size_t kind, size_t cluster) {
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        // While its worker was given up, the status was written without the mirror.
        if (e->workload->facts.exists && e->workload->facts.cluster == cluster)
            e->workload->facts.status_due = !e->workload->facts.finished;
        if (e->blocked || e->workload->facts.cluster == cluster)
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
    for (size_t k = 0; k < engine->n_kinds; k++) {
        cluster_watch_changed(engine, cluster, k);
        size_t cursor = 0;
        for (struct entry *e; cluster == ENGINE_MANAGEMENT && (e = map_next(&engine->store.maps[k], &cursor));)
            queue_entry(engine, e);
    }
}

void cluster_count_active(struct engine *engine, struct entry *entry, uint32_t cluster) {
    if (entry->workload->active_in == cluster)
        return;
    completions_end(entry);
    for (size_t k = 0; k < engine->n_kinds; k++) {
        if (entry->workload->active_in)
            engine->workers[k][entry->workload->active_in].active--;
        if (cluster)
            engine->workers[k][cluster].active++;
    }
    struct worker_facts *workers = engine->workers[entry->kind];
    if (entry->workload->active_in) {
        engine->stats.clusters[entry->workload->active_in].active--;
        workers[entry->workload->active_in].active_kind--;
        placement_queue_retry(engine);
    }
    if (cluster) {
        engine->stats.clusters[cluster].active++;
        workers[cluster].active_kind++;
    }
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
