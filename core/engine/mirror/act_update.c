// SPDX-License-Identifier: Apache-2.0
// Updates of a mirror: changes are carried to it, except where the worker owns a field; and whether a workload can have
// a mirror at all.
#include "core/engine/mirror/act_update.h"

#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/mirror/record.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/answer_parts.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"
#include "core/engine/status/repeat.h"

#include <stdlib.h>

static struct mirror_record record_for(const struct mirror *mirror) {
    return (struct mirror_record){.known = mirror->record, .unsure = mirror->record_unsure, .refused = mirror->refused};
}

// The mirror is up to date; this is its record.
static void keep_record(struct mirror *mirror, struct mirror_record *record) {
    free(mirror->record);
    mirror->record = record->next;
    mirror->record_unsure = false;
    record->next = NULL;
    mirror->noop_patch_hash = 0;
    rejections_end(&mirror->refused);
}

// Rule 10: not undone, and reported once.
static void report_suspender(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    const char *queue = object_label(object, KUEUE_QUEUE_NAME), *cluster = engine->clusters[mirror->facts.cluster].name;
    if (mirror->suspension_reported)
        return;
    mirror->suspension_reported = true;
    if (queue)
        report_event(engine, entry, false, "SuspendedInWorker", "CarryChange",
                     "the mirror in cluster %s is queued in %s by the worker's Kueue, which resumes it", cluster,
                     queue);
    else
        report_event(engine, entry, true, "SuspendedInWorker", "CarryChange",
                     "the mirror was suspended in cluster %s and is not resumed by this host; resume it there",
                     cluster);
}

// When a patch may be sent: one that another writer reverts is delayed.
static int64_t patch_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror, enum piece piece) {
    if (piece == PIECE_WHOLE || !mirror->refused)
        return repeat_update_at_ns(engine, entry, mirror);
    return rejections_may_send(mirror->refused, &engine->kinds[entry->kind]->abi, entry->workload->carry_hash)
               ? engine->now.mono_ns
               : mirror->refused->until_ns;
}

// Nothing is left to send but what the worker has rejected.
static void hold_back(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *held) {
    struct rejections *refused = mirror->refused;
    mirror->facts.update_due = true;
    mirror->facts.update_at_ns = refused->until_ns;
    if (!refused->reported)
        report_event(engine, entry, true, reason_text(refused->reason), "CarryChange",
                     "cluster %s rejected a change of the mirror (%s): %s",
                     engine->clusters[mirror->facts.cluster].name, held,
                     refused->message ? refused->message : "out of memory");
    refused->reported = true;
}

// The same patch was accepted and changed nothing.
static void report_dropped(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->dropping_reported)
        return;
    mirror->dropping_reported = true;
    report_event(
        engine, entry, true, "FieldsDropped", "CarryChange",
        "%s accepted a change of the mirror and stored nothing of it: its API server does not know the fields or "
        "writes them differently, or a policy there removes them",
        engine->clusters[mirror->facts.cluster].name);
}

static void send_update(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct mirror_record *record) {
    uint64_t hash = mirror_patch_hash(patch);
    if (hash == mirror->noop_patch_hash) {
        report_dropped(engine, entry, mirror);
        if (mirror->refused)
            rejections_hold(mirror->refused, hash);
        mirror->facts.update_due = mirror->refused; // the other pieces
        return;
    }
    mirror->noop_patch_hash = 0;
    mirror->facts.update_at_ns = patch_at_ns(engine, entry, mirror, (enum piece)record->piece);
    mirror->facts.update_due = mirror->facts.update_at_ns > engine->now.mono_ns;
    if (mirror->facts.update_due)
        return;
    struct command_spec spec = {.type = REQUEST_UPDATE,
                                .verb = VERB_MERGE_PATCH,
                                .patch_hash = hash,
                                .wanted = entry->workload->carry_hash,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->workload->facts.attempt,
                                .record = &record->next,
                                .stops = record->stops,
                                .piece = record->piece,
                                .marks = mirror->unmarked && piece_has_record((enum piece)record->piece)};
    if (!command_send_patch(engine, entry, mirror, patch, spec)) {
        mirror->facts.update_due = true;
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    }
}

bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct adapter_call call;
    if (mirror->refused && mirror->refused->until_ns <= engine->now.mono_ns)
        rejections_end(&mirror->refused);
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    struct mirror_context context = call_context(engine, entry, mirror, &call);
    struct mirror_record record = record_for(mirror);
    AUTO_JSON patch = NULL;
    enum carry_state carry = CARRY_UNKNOWN;
    context.record = &record;
    context.carry = &carry;
    wharf_result result = context.workload && context.mirror ? mirror_patch(&context, &patch) : WHARF_RETRY;
    mirror->carry = (uint8_t)carry;
    if (result != WHARF_OK)
        mirror->facts.update_at_ns = call_failed(engine, entry, result, &call, "CarryChange", &mirror->denials);
    else
        call_report_message(engine, entry, &call, "CarryChange");
    adapter_call_end(&call);
    if (result == WHARF_RETRY)
        return true;
    mirror->uncompared = false;
    mirror->facts.update_due = false; // until the workload or the mirror changes
    if (result == WHARF_REFUSED)
        return true;
    mirror->denials = 0;
    mirror->facts.left_suspended =
        mirror->facts.suspended && (record.suspended_in_worker || context.suspended_by_kueue);
    if (record.suspended_in_worker)
        report_suspender(engine, entry, mirror);
    if (patch)
        send_update(engine, entry, mirror, patch, &record);
    else if (record.held)
        hold_back(engine, entry, mirror, record.held);
    else
        keep_record(mirror, &record);
    mirror_record_cleanup(&record);
    answer_check_dropped(engine, entry); // unless the change is under way
    return true;
}

wharf_result act_check_body(struct adapter_call *call, const struct json *body) {
    AUTO_BUFFER(text, REQUEST_BODY_MAX);
    if (json_print(body, &text))
        return WHARF_OK;
    call->answer.reason = "TooLarge";
    call->answer.message = services_table()->format(
        &call->call, "its mirror would exceed %zu bytes, the most an API server accepts; reduce the workload",
        REQUEST_BODY_MAX);
    return WHARF_REFUSED;
}

// Whether the mirror of a large workload is small enough for an API server.
static wharf_result check_size(struct mirror_context *context) {
    AUTO_JSON thrown_away = NULL;
    wharf_result result = mirror_make(context, &thrown_away);
    return result == WHARF_OK ? act_check_body(context->call, thrown_away) : result;
}

bool act_accepts(struct engine *engine, struct entry *entry) {
    bool large = entry->workload->doc.text.len >= ENGINE_LARGE;
    if (!engine->kinds[entry->kind]->abi.accept && !large)
        return true;
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    wharf_result result = context.workload ? adapter_accept(&call, context.workload) : WHARF_RETRY;
    if (result == WHARF_OK && large)
        result = check_size(&context);
    if (result != WHARF_OK)
        entry->workload->facts.not_before_ns =
            call_failed(engine, entry, result, &call, "Place", &entry->workload->refusals);
    else
        entry->workload->refusals = 0;
    adapter_call_end(&call);
    return result == WHARF_OK;
}
