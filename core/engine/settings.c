// SPDX-License-Identifier: Apache-2.0
#include "core/engine/settings.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/part.h"
#include "core/engine/placement/placement_rules.h"

#include <stdlib.h>
#include <string.h>

void settings_free(struct engine *engine) {
    free((char *)engine->settings.namespaces);
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
    placement_replace_rules(engine, placement);
    engine->settings = *settings;
    engine->settings.namespaces = namespaces;
    engine->settings.placement = *placement_settings_options(placement);
    return NULL;
}

struct error *engine_configure(struct engine *engine, const struct engine_settings *settings) {
    const struct engine_settings former = engine->settings;
    struct error *error = settings_take(engine, settings);
    if (error)
        return error;
    EACH_PART(part, configure) part->configure(engine, &former);
    cluster_changed(engine, ENGINE_MANAGEMENT); // all entries
    return NULL;
}
