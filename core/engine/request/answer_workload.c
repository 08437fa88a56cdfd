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

// Only this status is delayed.
static void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash) {
    entry->workload->denied_status_hash = patch_hash;
    entry->workload->denied_until_ns = entry->workload->facts.not_before_ns;
    if (entry->workload->facts.status_refusals < UINT16_MAX)
        entry->workload->facts.status_refusals++;
    throttle_next(&entry->workload->denials, engine->now.mono_ns, FREE_DENIALS);
}

static void workload_failed(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response) {
    bool status = request->type == REQUEST_STATUS;
    const char *action = status ? "CopyStatus" : "Place";
    entry->workload->facts.not_before_ns = answer_next_try_ns(engine, response, &entry->workload->failures);
    entry->workload->facts.status_due = true;
    if (status && (response->reason == REASON_INVALID || response->reason == REASON_BAD_REQUEST))
        status_denied(engine, entry, request->patch_hash);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), action,
                     "the management cluster rejected the write: %s", response->message);
}

// After an accepted status patch: a status as intended, without another change, is no longer due; else the next
// comparison shows whether the server keeps the status.
static void status_written(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                           struct object *object) {
    struct workload *w = entry->workload;
    int64_t generation = w->generation;
    uint32_t attempt = w->facts.attempt, cluster = w->facts.cluster;
    bool was_due = w->facts.status_due; // the mirror may have changed meanwhile
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    observe_workload(engine, entry, object);
    const struct json *workload = doc_tree(&engine->store, &w->doc);
    bool same = workload && w->generation == generation && w->facts.attempt == attempt && w->facts.cluster == cluster &&
                json_hash(json_get(workload, "status")) == request->wanted;
    w->noop_patch_hash = same || !answer_is_newest(engine, &w->doc, version) ? 0 : request->patch_hash;
    w->uncompared = true;
    w->written_source = request->source;
    if (same)
        w->facts.status_due = was_due;
    status_budget_copied(entry, request->attempt, request->is_final);
    w->facts.status_refusals = 0;
    w->denied_status_hash = 0;
}

static void record_written(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                           struct object *object) {
    struct workload *w = entry->workload;
    observe_workload(engine, entry, object);
    if (w->facts.attempt != request->attempt)
        return;
    w->placed_attempt = w->facts.attempt;
    if (w->facts.cluster == w->requested_cluster)
        own_record_accept(engine, entry);
    if (request->was_clean)
        w->facts.clean_attempt = w->facts.attempt;
}

void answer_of_workload(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                        struct response *response) {
    entry->busy = false;
    bool place = request->type == REQUEST_PLACE;
    if (!entry->workload->facts.exists)
        return;
    // Without an answer, assume that the write took effect.
    if (request->is_budgeted && !answer_certainly_not_done(response->reason))
        status_budget_stored(engine, entry, response->object ? response->object->size : entry->workload->doc.text.len);
    if (request->type == REQUEST_STATUS)
        pause_status_answered(engine, entry->kind, response->reason);
    if (request->type == REQUEST_OWNER && kueue_answered(engine, entry, request, response))
        return;
    if (response->reason != REASON_OK || !response->object) {
        if (response->reason == REASON_CONFLICT)
            repeat_conflict(entry, request);
        entry->workload->unsure |= !answer_is_heard(response->reason);
        workload_failed(engine, entry, request, response);
        entry->workload->facts.record_unsure |= place && !answer_certainly_not_done(response->reason);
        if (place) // no placement, as far as is known
            cluster_count_active(engine, entry,
                                 entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER ||
                                         entry->workload->facts.finished
                                     ? 0
                                     : entry->workload->facts.cluster);
        return;
    }
    entry->workload->failures = 0;
    entry->workload->facts.not_before_ns = 0;
    entry->workload->unsure = false;
    struct object *object = answer_take_object(response);
    if (strcmp(object_uid(object->value), entry->workload->uid) != 0) {
        object_free(object);
        return;
    }
    if (place) {
        record_written(engine, entry, request, object);
        return;
    }
    rival_status_answered(entry, object->value);
    status_written(engine, entry, request, object);
}
