// SPDX-License-Identifier: Apache-2.0
// Answers to writes of statuses.
#include "core/engine/observe/observe.h"
#include "core/engine/request/answer_parts.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/status/status_budget.h"

#define FREE_DENIALS 3 // rejected statuses before the next one is delayed

void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash) {
    entry->workload->status.denied_status_hash = patch_hash;
    entry->workload->status.denied_until_ns = entry->workload->facts.not_before_ns;
    if (entry->workload->facts.status_refusals < UINT16_MAX)
        entry->workload->facts.status_refusals++;
    throttle_next(&entry->workload->status.denials, engine->now.mono_ns, FREE_DENIALS);
}

void status_accepted(struct engine *engine, struct entry *entry, const struct request_in_flight *pending,
                     struct object *object) {
    struct workload *w = entry->workload;
    int64_t generation = w->generation;
    uint32_t attempt = w->facts.attempt, cluster = w->facts.cluster;
    bool was_due = w->facts.status_due; // the mirror may have changed meanwhile
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    observe_workload(engine, entry, object);
    const struct json *workload = doc_tree(&engine->store, &w->doc);
    bool same = workload && w->generation == generation && w->facts.attempt == attempt && w->facts.cluster == cluster &&
                json_hash(json_get(workload, "status")) == pending->wanted;
    w->status.noop_patch_hash = same || !answer_is_newest(engine, &w->doc, version) ? 0 : pending->patch_hash;
    w->status.uncompared = true;
    w->status.written_source = pending->source;
    if (same)
        w->facts.status_due = was_due;
    status_budget_copied(entry, pending->attempt, pending->is_final);
    w->facts.status_refusals = 0;
    w->status.denied_status_hash = 0;
}
