// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/clusters.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/placement/placing.h"
#include "core/engine/request/pacing.h"

// Makes an array (any T **) longer and zeroes the new items. False: out of memory; the array keeps the old size.
static bool grow(void *array, size_t from, size_t to, size_t size) {
    void **at = array;
    char *grown = realloc(*at, (to ? to : 1) * size);
    if (!grown)
        return false;
    memset(grown + from * size, 0, (to - from) * size);
    *at = grown;
    return true;
}

// The rows of `workers` follow the pointers.
static struct worker_facts **copy_workers(const struct engine *engine, size_t n_clusters, size_t n_kinds) {
    struct worker_facts **table = calloc(1, n_kinds * (sizeof *table + n_clusters * sizeof **table) + 1);
    for (size_t k = 0; table && k < n_kinds; k++) {
        table[k] = (struct worker_facts *)(void *)(table + n_kinds) + k * n_clusters;
        if (engine->workers && k < engine->n_kinds)
            memcpy(table[k], engine->workers[k], engine->n_clusters * sizeof **table);
    }
    return table;
}

static struct watch_state *copy_watches(const struct engine *engine, size_t n_clusters, size_t n_kinds) {
    struct watch_state *watches = calloc(n_clusters * n_kinds + 1, sizeof *watches);
    for (size_t c = 0; watches && engine->n_kinds > 0 && c < engine->n_clusters; c++)
        memcpy(&watches[c * n_kinds], cluster_watch(engine, c, 0), engine->n_kinds * sizeof *watches);
    return watches;
}

// Grows the tables for more clusters or kinds. A table that has grown before another one fails keeps unused rows.
static bool grow_tables(struct engine *engine, size_t n_clusters, size_t n_kinds) {
    size_t clusters = engine->n_clusters, kinds = engine->n_kinds;
    bool grown = grow(&engine->clusters, clusters, n_clusters, sizeof *engine->clusters) &&
                 grow(&engine->stats.clusters, clusters, n_clusters, sizeof *engine->stats.clusters) &&
                 grow(&engine->stats.kinds, kinds, n_kinds, sizeof *engine->stats.kinds);
    for (size_t c = 0; grown && c < clusters; c++)
        if (!cluster_is_vacant(engine, c))
            grown = grow(&engine->stats.clusters[c].watches, kinds, n_kinds, sizeof(struct stats_watch));
    struct watch_state *watches = copy_watches(engine, n_clusters, n_kinds);
    struct worker_facts **workers = copy_workers(engine, n_clusters, n_kinds);
    if (!grown || !watches || !workers) {
        free(watches);
        free(workers);
        return false;
    }
    free(engine->watches);
    free(engine->workers);
    engine->watches = watches;
    engine->workers = workers;
    engine->n_clusters = engine->stats.n_clusters = n_clusters;
    engine->n_kinds = engine->stats.n_kinds = n_kinds;
    for (size_t c = clusters; c < n_clusters; c++)
        engine->stats.clusters[c].vacant = true;
    return true;
}

// Fills the row of a kind in a cluster (or a vacant number) when the kind or the cluster is new.
static void fill_row(struct engine *engine, size_t cluster, size_t kind) {
    if (!cluster_is_vacant(engine, cluster)) {
        struct worker_facts *worker = &engine->workers[kind][cluster];
        cluster_watch(engine, cluster, kind)->lost_since_ns = engine->now.mono_ns;
        worker->name = engine->clusters[cluster].name;
        worker->name_hash = decide_name_hash(engine->clusters[cluster].name);
        worker->active = engine->stats.clusters[cluster].active; // of all kinds
        worker->finished = *completions_of(engine, cluster);
    }
    cluster_refresh(engine, cluster, kind);
}

static void fill(struct engine *engine, size_t cluster, struct pace *pace) {
    struct stats_cluster *stats = &engine->stats.clusters[cluster];
    pacing_join(engine, cluster, pace);
    stats->vacant = false;
    stats->number = cluster;
    text_copy(stats->name, sizeof stats->name, engine->clusters[cluster].name);
    for (size_t k = 0; k < engine->n_kinds; k++)
        fill_row(engine, cluster, k);
}

bool slot_take(struct engine *engine, size_t cluster, const char *name, const struct worker_settings *settings) {
    if (cluster >= engine->n_clusters && !grow_tables(engine, cluster + 1, engine->n_kinds))
        return false;
    char *copy = strdup(name);
    struct pace *pace = calloc(1, sizeof *pace);
    struct stats_watch *watches = calloc(engine->n_kinds + 1, sizeof *watches);
    if (!copy || !pace || !watches) {
        free(copy);
        free(pace);
        free(watches);
        return false;
    }
    engine->clusters[cluster] = (struct engine_cluster){.name = copy,
                                                        .settings = *settings,
                                                        .lane = engine->clusters[cluster].lane,
                                                        .membership.join = engine->membership.joins++};
    engine->stats.clusters[cluster].watches = watches;
    fill(engine, cluster, pace);
    return true;
}

static void free_row(struct engine *engine, size_t cluster) {
    pacing_leave(engine, cluster);
    free(engine->stats.clusters[cluster].watches);
    free(engine->clusters[cluster].name);
    worker_settings_clear(&engine->clusters[cluster].settings);
    completions_free(engine, cluster);
}

void slot_vacate(struct engine *engine, size_t cluster) {
    free_row(engine, cluster);
    engine->stats.clusters[cluster] = (struct stats_cluster){.vacant = true};
    engine->clusters[cluster] =
        (struct engine_cluster){.lane = engine->clusters[cluster].lane, .settings.policy = WORKER_LEFT};
    placement_workers_changed(engine);
    for (size_t k = 0; k < engine->n_kinds; k++) {
        *cluster_watch(engine, cluster, k) = (struct watch_state){0};
        engine->workers[k][cluster] = (struct worker_facts){0};
        cluster_refresh(engine, cluster, k);
    }
}

struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now) {
    size_t from = engine->n_kinds;
    if (n_kinds <= from)
        return NULL;
    if (!store_grow(&engine->store, n_kinds, engine->seed) || !grow_tables(engine, engine->n_clusters, n_kinds))
        return error_no_memory();
    engine->kinds = kinds;
    engine->store.n_kinds = n_kinds;
    engine->now = now;
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (size_t k = from; k < n_kinds; k++)
            fill_row(engine, c, k);
    return NULL;
}

struct error *slots_init(struct engine *engine, const struct engine_options *options) {
    static const struct worker_settings none;
    if (!grow_tables(engine, options->n_workers + 1, options->n_kinds) ||
        !slot_take(engine, ENGINE_MANAGEMENT, "management", &none))
        return error_no_memory();
    for (size_t w = 0; w < options->n_workers; w++)
        if (!slot_take(engine, w + 1, options->worker_names[w], &none))
            return error_no_memory();
    return NULL;
}

void slots_free(struct engine *engine) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        free_row(engine, c);
    free(engine->workers);
    free(engine->clusters);
    free(engine->watches);
    free(engine->stats.clusters);
}
