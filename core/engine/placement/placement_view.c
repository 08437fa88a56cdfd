// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement_view.h"

#include "core/base/text.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/placement/placement_rules.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/shard/shard_of.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool placement_is_limited(const struct engine *engine, const struct entry *entry) {
    const struct placement_options *options = placement_settings_options(engine->placement.rules);
    return entry->workload->placement.has_placement_annotations || capacity_is_used(engine) ||
           engine->placement.workers_are_limited || options->n_rules > 0 || options->otherwise.worker_selector ||
           options->otherwise.policy != PLACEMENT_LEAST_ACTIVE;
}

static void exclude_all(struct placement_view *view, enum worker_obstacle obstacle) {
    for (size_t c = 1; c < view->n_clusters; c++)
        placement_exclude(view, c, obstacle, CLOCK_NEVER);
}

static void exclude_unmatched(const struct engine *engine, const struct selector *selector,
                              struct placement_view *view) {
    for (size_t c = 1; selector->n_terms > 0 && c < view->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && !selector_is_met(selector, engine->clusters[c].settings.labels))
            placement_exclude(view, c, OBSTACLE_SELECTOR, CLOCK_NEVER);
}

// wharf.dev/cluster-selector.
static void read_selector(const struct engine *engine, const char *text, struct placement_view *view) {
    struct error *error = selector_parse(text, &view->selector);
    if (error) {
        snprintf(view->problem, sizeof view->problem, "annotation " MARK_CLUSTER_SELECTOR ": %s", error_text(error));
        error_free(error);
        exclude_all(view, OBSTACLE_SELECTOR);
        return;
    }
    exclude_unmatched(engine, &view->selector, view);
}

static size_t find_worker(const struct engine *engine, const char *name, size_t len) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && strlen(engine->clusters[c].name) == len &&
            strncmp(engine->clusters[c].name, name, len) == 0)
            return c;
    return 0;
}

// wharf.dev/cluster-names. Names that no worker has are ignored: the worker may join later.
static void read_names(const struct engine *engine, const char *text, struct placement_view *view) {
    uint32_t rank = 0;
    view->pinned = true;
    for (const char *at = text; *at;) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        size_t cluster = len > 0 ? find_worker(engine, at, len) : 0;
        if (cluster && view->workers[cluster].rank == 0)
            view->workers[cluster].rank = ++rank;
        at += len;
    }
    if (rank == 0)
        snprintf(view->problem, sizeof view->problem, "annotation " MARK_CLUSTER_NAMES ": %.80s is no worker", text);
    for (size_t c = 1; c < view->n_clusters; c++)
        if (view->workers[c].rank == 0)
            placement_exclude(view, c, OBSTACLE_PINNED, CLOCK_NEVER);
}

// A kind with workloads that are not listed yet: the worker may have some of them.
static bool is_uncounted(const struct engine *engine, size_t *kind) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        const struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, k);
        if (!watch->listed && watch->state != REFLECTOR_ABSENT) {
            *kind = k;
            return true;
        }
    }
    return false;
}

bool placement_limit_of(const struct engine *engine, const struct entry *entry, size_t cluster, size_t *limit,
                        size_t *active, size_t *kind) {
    const struct worker_facts *facts = &engine->workers[entry->kind][cluster];
    size_t own = entry->workload->active_in == cluster ? 1 : 0;
    *limit = facts->max_kind;
    *active = facts->active_kind - own;
    if (facts->max_active == 0 || (*limit > 0 && *active >= *limit))
        return true;
    *limit = facts->max_active;
    *active = facts->active - own;
    return *active >= *limit || !is_uncounted(engine, kind);
}

static bool limit_is_reached(const struct engine *engine, const struct entry *entry, size_t cluster) {
    size_t limit = 0, active = 0, kind = 0;
    bool known = placement_limit_of(engine, entry, cluster, &limit, &active, &kind);
    return !known || (limit > 0 && active >= limit);
}

// The count is without the workload itself.
static void exclude_full(const struct engine *engine, const struct entry *entry, struct placement_view *view) {
    for (size_t c = 1; engine->placement.workers_are_limited && c < view->n_clusters; c++) {
        if (cluster_is_vacant(engine, c) || view->workers[c].obstacle != OBSTACLE_NONE ||
            !limit_is_reached(engine, entry, c))
            continue;
        placement_exclude(view, c, OBSTACLE_FULL, CLOCK_NEVER);
        view->waits_for_limit = true;
    }
}

static void exclude_without_room(struct engine *engine, struct entry *entry, struct placement_view *view) {
    uint32_t shard = shard_of(engine, entry);
    for (size_t c = 1; capacity_is_used(engine) && c < view->n_clusters; c++) {
        struct placement_option *option = &view->workers[c];
        int64_t next_ns = CLOCK_NEVER;
        const struct worker_facts *worker = &engine->workers[entry->kind][c];
        if (option->obstacle != OBSTACLE_NONE || !worker->eligible || shard_is_in(worker->closed_shards, shard))
            continue;
        if (!capacity_fits(engine, entry, c, &next_ns)) {
            placement_exclude(view, c, OBSTACLE_CAPACITY, next_ns);
            view->lacks_capacity = true;
        } else if (view->policy == PLACEMENT_BIN_PACK) {
            option->fullness = capacity_fullness(engine, entry, c);
        }
    }
}

static void read_annotations(struct engine *engine, struct entry *entry, struct placement_view *view) {
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
    const char *names = object ? object_annotation(object, MARK_CLUSTER_NAMES) : NULL;
    const char *selector = object ? object_annotation(object, MARK_CLUSTER_SELECTOR) : NULL;
    if (names)
        read_names(engine, names, view);
    if (selector)
        read_selector(engine, selector, view);
}

bool placement_view_make(struct engine *engine, struct entry *entry, struct placement_view *out) {
    *out = (struct placement_view){.n_clusters = engine->n_clusters};
    out->workers = calloc(engine->n_clusters, sizeof *out->workers);
    if (!out->workers ||
        (entry->workload->placement.has_placement_annotations && !doc_tree(&engine->store, &entry->workload->doc))) {
        placement_view_clear(out);
        return false;
    }
    for (size_t c = 0; c < out->n_clusters; c++)
        out->workers[c].until_ns = CLOCK_NEVER;
    bool known = true;
    const struct selector *workers = NULL;
    out->policy = placement_rule_of(engine, entry, &known, &workers)->policy;
    if (!known)
        exclude_all(out, OBSTACLE_UNDECIDED);
    if (entry->workload->placement.has_placement_annotations)
        read_annotations(engine, entry, out);
    exclude_unmatched(engine, workers, out);
    exclude_full(engine, entry, out);
    exclude_without_room(engine, entry, out);
    return true;
}

void placement_view_clear(struct placement_view *view) {
    free(view->workers);
    selector_clear(&view->selector);
    *view = (struct placement_view){.workers = NULL};
}
