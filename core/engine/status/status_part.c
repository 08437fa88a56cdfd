// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/part.h"
#include "core/engine/status/own_record.h"
#include "core/engine/status/status_budget.h"

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->status_at_ns = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->status_at_ns;
    facts->own_record = own_record(entry);
    status_budget_facts(engine, entry, facts);
}

// Mirrors that are retained have the time of their end already.
static void configure(struct engine *engine, const struct engine_settings *former) {
    int64_t longer_ns = engine->settings.mirror_retention_ns - former->mirror_retention_ns;
    for (size_t k = 0; k < engine->n_kinds && longer_ns != 0; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            if (e->workload->facts.finished)
                e->workload->facts.retain_until_ns += longer_ns;
    }
}

const struct part part_status = {.name = "statuses",
                                 .configure = configure,
                                 .before = own_record_count,
                                 .stand_by = own_record_count,
                                 .facts = facts,
                                 .count = status_budget_count};
