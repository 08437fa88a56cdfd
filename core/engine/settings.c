// SPDX-License-Identifier: Apache-2.0
#include "core/engine/settings.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/slots.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/placement/placement_rules.h"

#include <stdlib.h>
#include <string.h>

void settings_free(struct engine *engine) {
    free((char *)engine->settings.namespaces);
    placement_settings_free(engine->placement);
}

struct error *settings_take(struct engine *engine, const struct engine_settings *settings) {
    struct placement_settings *placement = NULL;
    char *namespaces = strdup(settings->namespaces ? settings->namespaces : "");
    struct error *error = namespaces ? placement_settings_new(&settings->placement, &placement) : error_no_memory();
    if (error) {
        free(namespaces);
        return error;
    }
    settings_free(engine);
    engine->placement = placement;
    engine->settings = *settings;
    engine->settings.namespaces = namespaces;
    engine->settings.placement = *placement_settings_options(placement);
    return NULL;
}

// Mirrors that are retained have the time of their end already.
static void retain_longer(struct engine *engine, int64_t longer_ns) {
    for (size_t k = 0; k < engine->n_kinds && longer_ns != 0; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            if (e->workload->facts.finished)
                e->workload->facts.retain_until_ns += longer_ns;
    }
}

struct error *engine_configure(struct engine *engine, const struct engine_settings *settings) {
    const struct engine_settings former = engine->settings;
    struct error *error = settings_take(engine, settings);
    if (error)
        return error;
    fence_configured(engine, settings->fencing.enabled && !former.fencing.enabled);
    retain_longer(engine, settings->mirror_retention_ns - former.mirror_retention_ns);
    engine->room_grew |= settings->max_orphans == 0 || settings->max_orphans > former.max_orphans;
    for (size_t c = 0; (settings->qps != former.qps || settings->burst != former.burst) && c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            slot_refresh_rate(engine, c);
    cluster_changed(engine, ENGINE_MANAGEMENT); // all entries
    return NULL;
}
