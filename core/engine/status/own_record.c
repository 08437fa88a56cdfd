// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/own_record.h"

#include "core/engine/clusters/cluster_state.h"

bool own_record(const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->attempt && entry->workload->accepted_attempt == w->attempt &&
           entry->workload->accepted_cluster == w->cluster;
}

void own_record_accept(struct engine *engine, struct entry *entry) {
    if (entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER) // it has left
        return;
    entry->workload->accepted_cluster = entry->workload->facts.cluster;
    entry->workload->accepted_attempt = entry->workload->facts.attempt;
    if (!entry->workload->facts.finished && !entry->workload->facts.being_deleted)
        cluster_count_active(engine, entry, entry->workload->facts.cluster);
}

void own_record_count(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    if (!w->attempt || w->cluster == DECIDE_UNKNOWN_CLUSTER || entry->busy || own_record(entry))
        return;
    const struct mirror *m = entry_mirror(entry, w->cluster);
    bool known = engine->workers[entry->kind][w->cluster].connected;
    bool there = m && ((m->facts.present && m->facts.of_workload) || m->facts.may_exist);
    bool counts = there || !known || w->gone_attempt == w->attempt;
    cluster_count_active(engine, entry, counts && !w->finished && !w->being_deleted ? w->cluster : 0);
}
