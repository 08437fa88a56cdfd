// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kinds.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/slots.h"

#include <stdlib.h>
#include <string.h>

// A table in the layout for so many kinds; NULL: no memory.
static struct watch_state *lay_out(const struct engine *engine, size_t n_kinds) {
    struct watch_state *watches = calloc(engine->n_clusters * n_kinds + 1, sizeof *watches);
    for (size_t c = 0; watches && engine->n_kinds > 0 && c < engine->n_clusters; c++)
        memcpy(&watches[c * n_kinds], cluster_watch(engine, c, 0), engine->n_kinds * sizeof *watches);
    return watches;
}

// After a failure, tables that have grown keep their unused rows.
static bool grow_tables(struct engine *engine, size_t to) {
    size_t from = engine->n_kinds;
    if (!table_grow(&engine->workers, from, to, sizeof(struct worker_facts *)) ||
        !table_grow(&engine->stats.kinds, from, to, sizeof *engine->stats.kinds) ||
        !store_grow(&engine->store, to, engine->seed))
        return false;
    for (size_t c = 0; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) &&
            !table_grow(&engine->stats.clusters[c].watches, from, to, sizeof *engine->stats.clusters->watches))
            return false;
    return true;
}

static void free_rows(struct engine *engine, size_t from, size_t to) {
    for (size_t k = from; k < to; k++)
        free(engine->workers[k]);
}

static bool make_rows(struct engine *engine, size_t from, size_t to) {
    for (size_t k = from; k < to; k++) {
        engine->workers[k] = calloc(engine->n_clusters, sizeof **engine->workers);
        if (!engine->workers[k]) {
            free_rows(engine, from, k);
            return false;
        }
    }
    return true;
}

struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now) {
    size_t from = engine->n_kinds;
    if (n_kinds <= from)
        return NULL;
    struct watch_state *watches = grow_tables(engine, n_kinds) ? lay_out(engine, n_kinds) : NULL;
    if (!watches || !make_rows(engine, from, n_kinds)) {
        free(watches);
        return error_no_memory();
    }
    free(engine->watches);
    engine->watches = watches;
    engine->kinds = kinds;
    engine->n_kinds = engine->stats.n_kinds = engine->store.n_kinds = n_kinds;
    engine->now = now;
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (size_t k = from; k < n_kinds; k++)
            slot_fill(engine, c, k);
    return NULL;
}

size_t engine_n_kinds(const struct engine *engine) {
    return engine->n_kinds;
}
