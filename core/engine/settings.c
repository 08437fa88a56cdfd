// SPDX-License-Identifier: Apache-2.0
#include "core/engine/settings.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/slots.h"
#include "core/engine/fence/fence.h"
#include "core/engine/placement/placement_rules.h"

#include <stdlib.h>

static void set_rates(struct engine *engine, double qps, double burst) {
    if (engine->pacing.qps == qps && engine->pacing.burst == burst)
        return;
    engine->pacing.qps = qps;
    engine->pacing.burst = burst;
    for (size_t c = 0; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            slot_set_rate(engine, c, engine->slots[c].qps, engine->slots[c].burst);
}

// Mirrors that are retained have the time of their end already.
static void set_retention(struct engine *engine, int64_t retention_ns) {
    int64_t longer_ns = retention_ns - engine->retention_ns;
    engine->retention_ns = retention_ns;
    for (size_t k = 0; k < engine->n_kinds && longer_ns != 0; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            if (e->facts.finished)
                e->facts.retain_until_ns += longer_ns;
    }
}

// Checked before: without memory it stays as it is.
static void set_placement(struct engine *engine, const struct placement_options *options) {
    struct placement_settings *settings = NULL;
    struct error *error = placement_settings_new(options, &settings);
    if (error) {
        error_free(error);
        return;
    }
    placement_settings_free(engine->placement);
    engine->placement = settings;
    engine->drain_timeout_ns = options->drain_timeout_ns;
}

void engine_configure(struct engine *engine, const struct engine_settings *settings) {
    engine->create_namespaces = settings->create_namespaces;
    engine->kueue_carried = settings->kueue_carried;
    engine->mirror_finalizer = settings->mirror_finalizer;
    engine->log_decisions = settings->log_decisions;
    fence_enable(engine, &settings->fencing);
    engine->lost_timeout_ns = settings->worker_lost_timeout_ns;
    set_retention(engine, settings->mirror_retention_ns);
    engine->mass_max = settings->mass_deletion_max;
    engine->mass_percent = settings->mass_deletion_percent;
    engine->orphan_grace_ns = settings->orphan_grace_ns;
    engine->room_grew |= settings->max_orphans == 0 || settings->max_orphans > engine->max_orphans;
    engine->max_orphans = settings->max_orphans;
    engine->limit.max = settings->max_workloads;
    engine->status_bytes = settings->status_bytes;
    set_rates(engine, settings->qps, settings->burst);
    if (settings->namespaces) {
        free(engine->namespaces);
        engine->namespaces = settings->namespaces;
    }
    if (settings->placement)
        set_placement(engine, settings->placement);
    cluster_changed(engine, ENGINE_MANAGEMENT); // all entries
}
