// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/part.h"
#include "core/engine/status/final_status.h"
#include "core/engine/status/own_record.h"
#include "core/engine/status/retry.h"
#include "core/engine/status/status.h"
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

// Whatever it lacks now, another writer may have changed since.
static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    struct workload_status *status = &entry->workload->status;
    if (status->uncompared)
        status->noop_patch_hash = 0;
    retry_read(engine, entry, object, had);
}

void status_forget_writes(struct workload *workload) {
    workload->status.written_source = workload->status.conflict_hash = 0;
    workload->status.noop_patch_hash = 0;
}

void status_mirror_changed(struct workload *workload) {
    struct workload_facts *facts = &workload->facts;
    facts->status_due = true;
    if (workload->status.denied_status_hash && workload->status.denials.at_ns < facts->not_before_ns)
        facts->not_before_ns = workload->status.denials.at_ns; // its status may differ
}

static void forget(struct engine *engine, struct entry *entry) {
    (void)engine;
    final_status_drop(entry);
}

const struct part part_status = {.name = "statuses",
                                 .configure = configure,
                                 .before = own_record_count,
                                 .stand_by = own_record_count,
                                 .facts = facts,
                                 .count = status_budget_count,
                                 .seen = seen,
                                 .workload_ends = forget};
