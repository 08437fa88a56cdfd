// SPDX-License-Identifier: Apache-2.0
// Answers to writes of workloads.
#include "core/engine/request/answer_parts.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/limits/pause.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/own_record.h"
#include "core/engine/status/repeat.h"
#include "core/engine/status/rival.h"
#include "core/engine/status/status.h"
#include "core/engine/status/status_budget.h"

#include <string.h>

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
    status_accepted(engine, entry, request, object);
}
