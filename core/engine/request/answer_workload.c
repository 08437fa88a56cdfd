// SPDX-License-Identifier: Apache-2.0
// Answers to writes of workloads.
#include "core/engine/request/answer_parts.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/observe/observe.h"
#include "core/engine/pause/pause.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/own_record.h"
#include "core/engine/status/repeat.h"
#include "core/engine/status/rival.h"
#include "core/engine/status/status_budget.h"

#include <string.h>

#define FREE_DENIALS 3 // rejected statuses before the next one is delayed

// A different status may be sent sooner.
static void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash) {
    entry->denied_status_hash = patch_hash;
    entry->denied_until_ns = entry->facts.not_before_ns;
    if (entry->facts.status_refusals < UINT16_MAX)
        entry->facts.status_refusals++;
    throttle_next(&entry->denials, engine->now.mono_ns, FREE_DENIALS);
}

static void workload_failed(struct engine *engine, struct entry *entry, const struct pending *pending,
                            const struct response *response) {
    bool status = pending->type == PENDING_STATUS;
    const char *action = status ? "CopyStatus" : "Place";
    entry->facts.not_before_ns = answer_next_try_ns(engine, response, &entry->failures);
    entry->facts.status_due = true;
    if (status && (response->reason == REASON_INVALID || response->reason == REASON_BAD_REQUEST))
        status_denied(engine, entry, pending->patch_hash);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), action,
                     "the management cluster rejected the write: %s", response->message);
}

// After an accepted status patch. If the status is as intended and nothing else changed, the status is no longer due;
// otherwise the next comparison shows whether the server keeps it.
static void status_written(struct engine *engine, struct entry *entry, const struct pending *pending,
                           const struct entry *before, uint64_t version) {
    const struct json *workload = doc_tree(&engine->store, &entry->doc);
    bool same = workload && entry->generation == before->generation && entry->facts.attempt == before->facts.attempt &&
                entry->facts.cluster == before->facts.cluster &&
                json_hash(json_get(workload, "status")) == pending->wanted;
    entry->noop_patch_hash = same || !answer_is_newest(engine, &entry->doc, version) ? 0 : pending->patch_hash;
    entry->uncompared = true;
    entry->written_source = pending->source;
    if (same)
        entry->facts.status_due = before->facts.status_due; // the mirror may have changed meanwhile
}

void answer_of_workload(struct engine *engine, struct entry *entry, const struct pending *pending,
                        struct response *response) {
    entry->facts.busy = false;
    bool place = pending->type == PENDING_PLACE;
    if (!entry->facts.exists)
        return;
    // Without an answer it has taken effect, for all that is known.
    if (pending->is_budgeted && !answer_certainly_not_done(response->reason))
        status_budget_stored(engine, entry, response->object ? response->object->size : entry->doc.text.len);
    if (pending->type == PENDING_STATUS)
        pause_status_answered(engine, entry->kind, response->reason);
    if (pending->type == PENDING_OWNER && kueue_answered(engine, entry, pending, response))
        return;
    if (response->reason != REASON_OK || !response->object) {
        if (response->reason == REASON_CONFLICT)
            repeat_conflict(entry, pending);
        entry->unsure |= !answer_is_heard(response->reason);
        workload_failed(engine, entry, pending, response);
        entry->facts.record_unsure |= place && !answer_certainly_not_done(response->reason);
        if (place) // as far as is known, it was not placed
            cluster_count_active(
                engine, entry,
                entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER || entry->facts.finished ? 0 : entry->facts.cluster);
        return;
    }
    entry->failures = 0;
    entry->facts.not_before_ns = 0;
    entry->unsure = false;
    struct object *object = answer_take_object(response);
    if (strcmp(object_uid(object->value), entry->uid) != 0) {
        object_free(object);
        return;
    }
    if (!place)
        rival_status_answered(entry, object->value);
    struct entry before = *entry;
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    observe_workload(engine, entry, object);
    if (place && entry->facts.attempt == pending->attempt)
        entry->placed_attempt = entry->facts.attempt;
    if (place && entry->facts.attempt == pending->attempt && entry->facts.cluster == entry->requested_cluster)
        own_record_accept(engine, entry);
    if (place && entry->facts.attempt == pending->attempt && pending->was_clean)
        entry->facts.clean_attempt = entry->facts.attempt;
    if (place)
        return;
    status_written(engine, entry, pending, &before, version);
    status_budget_copied(entry, pending->attempt, pending->is_final);
    entry->facts.status_refusals = 0;
    entry->denied_status_hash = 0;
}
