// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement_limit.h"

#include "core/engine/clusters/cluster_state.h"

// A kind whose workloads are not known yet: some of them may be in the worker.
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

bool placement_limit_is_reached(const struct engine *engine, const struct entry *entry, size_t cluster) {
    size_t limit = 0, active = 0, kind = 0;
    bool known = placement_limit_of(engine, entry, cluster, &limit, &active, &kind);
    return !known || (limit > 0 && active >= limit);
}
