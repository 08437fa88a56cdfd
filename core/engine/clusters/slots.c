// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/slots.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/observe/observe.h"
#include "core/engine/placement/placement_worker.h"
#include "core/engine/request/pacing.h"

#include <stdlib.h>
#include <string.h>

bool table_grow(void *array, size_t from, size_t to, size_t size) {
    void **at = array;
    char *grown = realloc(*at, (to ? to : 1) * size);
    if (!grown)
        return false;
    memset(grown + from * size, 0, (to - from) * size);
    *at = grown;
    return true;
}

// A table that has grown before another one fails keeps its unused rows.
static bool grow_tables(struct engine *engine, size_t to) {
    size_t from = engine->n_clusters, kinds = engine->n_kinds;
    if (!table_grow(&engine->clusters, from, to, sizeof *engine->clusters) ||
        !table_grow(&engine->watches, from * kinds, to * kinds, sizeof *engine->watches) ||
        !table_grow(&engine->stats.clusters, from, to, sizeof *engine->stats.clusters))
        return false;
    for (size_t k = 0; k < kinds; k++)
        if (!table_grow(&engine->workers[k], from, to, sizeof **engine->workers))
            return false;
    engine->n_clusters = engine->stats.n_clusters = to;
    for (size_t c = from; c < to; c++)
        engine->stats.clusters[c].vacant = true;
    return true;
}

void slot_fill(struct engine *engine, size_t cluster, size_t kind) {
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
        slot_fill(engine, cluster, k);
}

bool slot_take(struct engine *engine, size_t cluster, const char *name, const struct worker_settings *settings) {
    if (cluster >= engine->n_clusters && !grow_tables(engine, cluster + 1))
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

struct error *slots_init(struct engine *engine, const char *const *worker_names, size_t n_workers) {
    static const struct worker_settings none;
    engine->workers = calloc(engine->n_kinds + 1, sizeof *engine->workers);
    if (!engine->workers || !grow_tables(engine, n_workers + 1) ||
        !slot_take(engine, ENGINE_MANAGEMENT, "management", &none))
        return error_no_memory();
    for (size_t w = 0; w < n_workers; w++)
        if (!slot_take(engine, w + 1, worker_names[w], &none))
            return error_no_memory();
    return NULL;
}

void slots_free(struct engine *engine) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        free_row(engine, c);
    for (size_t k = 0; engine->workers && k < engine->n_kinds; k++)
        free(engine->workers[k]);
    free(engine->workers);
    free(engine->clusters);
    free(engine->watches);
    free(engine->stats.clusters);
}
