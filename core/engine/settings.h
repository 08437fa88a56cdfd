// SPDX-License-Identifier: Apache-2.0
// Options that may change while the engine runs; see engine_options.
#ifndef WHARF_ENGINE_SETTINGS_H
#define WHARF_ENGINE_SETTINGS_H

#include "core/engine/fence/fence_types.h"
#include "core/engine/placement/placement_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_settings {
    bool create_namespaces, kueue_carried, mirror_finalizer, log_decisions;
    int64_t worker_lost_timeout_ns, mirror_retention_ns;
    int64_t mass_deletion_max, mass_deletion_percent, orphan_grace_ns;
    size_t max_orphans, max_workloads, status_bytes;
    double qps, burst;                         // of clusters without their own
    const struct placement_options *placement; // copied; NULL: as it is
    char *namespaces;                          // see namespaces.h; taken; NULL: as they are
    struct fence_options fencing;
};

struct engine;
// Between steps. What they decide is decided anew in the next ones.
void engine_configure(struct engine *engine, const struct engine_settings *settings);

#endif
