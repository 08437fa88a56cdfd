// SPDX-License-Identifier: Apache-2.0
// Requests about mirrors: creates, updates, deletions, reads.
#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/continuity/children.h"
#include "core/engine/continuity/continuity.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/tenancy/tenancy.h"
#include "core/engine/unstarted/unstarted.h"

#define CHANGED_MAX 3 // tries to delete a finished mirror as it was seen

static struct mirror *make_mirror(struct engine *engine, struct entry *entry, size_t cluster) {
    struct mirror *mirror = entry_make_mirror(entry, cluster);
    if (!mirror)
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
    return mirror;
}

// Makes the mirror, and checks the size.
static wharf_result make_checked(const struct mirror_context *context, const struct entry *entry, struct json **body) {
    struct adapter_call *call = context->call;
    AUTO_BUFFER(text, REQUEST_BODY_MAX);
    wharf_result result = context->workload ? mirror_make(context, body) : WHARF_RETRY;
    if (result != WHARF_OK || entry->workload->doc.text.len < ENGINE_LARGE || json_print(*body, &text))
        return result;
    call->answer.reason = "TooLarge";
    call->answer.message = services_table()->format(
        &call->call, "the mirror would exceed %zu bytes, the most an API server accepts; reduce the workload",
        REQUEST_BODY_MAX);
    return WHARF_REFUSED;
}

bool act_accepts(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    bool large = w->doc.text.len >= ENGINE_LARGE;
    if (!engine->kinds[entry->kind]->abi.accept && !large)
        return true;
    AUTO_CALL call;
    AUTO_JSON thrown_away = NULL;
    struct mirror_context context = call_begin_for_mirror(engine, entry, NULL, WHARF_MIRROR_NONE, &call);
    wharf_result result = context.workload ? adapter_accept(&call, context.workload) : WHARF_RETRY;
    if (result == WHARF_OK && large)
        result = make_checked(&context, entry, &thrown_away);
    return call_succeeded(engine, entry, result, &call, "Place", &w->refusals, &w->facts.not_before_ns);
}

// An earlier process placed the workload, and may have created a mirror without a seal that this process knows. A
// worker that rejects the create would not show such a mirror.
static bool is_read_first(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    return seal_keys_any(engine->seals) && entry->workload->placed_attempt != entry->workload->facts.attempt &&
           !mirror->facts.absent_ns;
}

static wharf_result make_body(struct engine *engine, struct entry *entry, struct mirror *mirror,
                              struct mirror_record *record, struct json **body) {
    AUTO_CALL call;
    struct mirror_context context = call_begin_for_mirror(engine, entry, NULL, WHARF_MIRROR_NONE, &call);
    context.record = record;
    wharf_result result = continuity_needs(engine, entry, &context);
    result = result == WHARF_OK ? make_checked(&context, entry, body) : result;
    if (call_succeeded(engine, entry, result, &call, "CreateMirror", &mirror->denials, &mirror->facts.not_before_ns))
        call_report_message(engine, entry, &call, "CreateMirror");
    return result;
}

static void create_namespace(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    char space[254], body[512];
    mirror->namespace_missing = false;
    entry_namespace(entry, space);
    int len = snprintf(body, sizeof body,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", space);
    struct request_in_flight request = {.type = REQUEST_NAMESPACE, .body = body, .body_len = (size_t)len};
    (void)command_send_about(engine, entry, mirror, &request);
}

bool act_create(struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload_facts *w = &entry->workload->facts;
    struct mirror *mirror = make_mirror(engine, entry, action->cluster);
    if (!mirror)
        return false;
    if (is_read_first(engine, entry, mirror)) {
        mirror->facts.unsure = true;
        return true;
    }
    if (mirror->namespace_missing) { // the answer to a create, which may no longer be permitted
        create_namespace(engine, entry, mirror);
        return true;
    }
    if (!own_record(entry) && !act_accepts(engine, entry)) {
        mirror->facts.not_before_ns = w->not_before_ns;
        return true;
    }
    if (!kueue_permits(engine, entry)) { // a restarted host does not know yet
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    AUTO_MIRROR_RECORD record = {.bare = kueue_is_admitted(entry) && !engine->settings.kueue_carried};
    AUTO_JSON body = NULL;
    if (make_body(engine, entry, mirror, &record, &body) != WHARF_OK)
        return true;
    struct json *annotations = json_path(body, "metadata", "annotations", NULL);
    (void)json_set(annotations, MARK_VERSION, json_new_string(doc_version(&engine->store, &entry->workload->doc)));
    struct request_in_flight request = {.type = REQUEST_TRIAL, .wanted = entry->workload->carry_hash};
    if (dropped_must_try(engine, entry, mirror)) {
        (void)command_send_patch(engine, entry, mirror, body, request);
        return true;
    }
    mirror->tried = false; // for the next create
    request.type = REQUEST_CREATE;
    request.offered = &record.next;
    request.was_clean = w->clean_attempt == w->attempt;
    if (command_send_patch(engine, entry, mirror, body, request)) {
        w->clean_attempt = 0;
        completions_created(engine, entry);
        if (!own_record(entry)) {
            own_record_accept(engine, entry);
            capacity_placed(engine, entry, mirror->facts.cluster);
        }
    }
    if (request.was_clean)
        mirror->facts.unanswered_ns = 0;
    else if (mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // another process may have sent creates
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    return true;
}

// Rule 10: the host does not undo the suspension, and reports the suspension once.
static void report_suspender(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const char *queue = object_label(doc_tree(&engine->store, &mirror->doc), KUEUE_QUEUE_NAME);
    if (mirror->suspension_reported)
        return;
    mirror->suspension_reported = true;
    if (queue)
        report_event(engine, entry, false, "SuspendedInWorker", "CarryChange",
                     "the worker's Kueue has the mirror in cluster %s in queue %s, and resumes it",
                     mirror_cluster(engine, mirror), queue);
    else
        report_event(
            engine, entry, true, "SuspendedInWorker", "CarryChange",
            "a writer in cluster %s suspended the mirror, and this host does not resume it; resume the mirror there",
            mirror_cluster(engine, mirror));
}

// The earliest time of a patch. The host delays a patch that another writer reverts.
static int64_t patch_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror, enum piece piece) {
    if (piece == PIECE_WHOLE || !mirror->refused)
        return repeat_update_at_ns(engine, entry, mirror);
    return rejections_may_send(mirror->refused, &engine->kinds[entry->kind]->abi, entry->workload->carry_hash)
               ? engine->now.mono_ns
               : mirror->refused->until_ns;
}

// Only pieces that the worker has rejected are left to send.
static void hold_back(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *held) {
    struct rejections *refused = mirror->refused;
    mirror->facts.update_due = true;
    mirror->facts.update_at_ns = refused->until_ns;
    if (!refused->reported)
        report_event(engine, entry, true, reason_text(refused->reason), "CarryChange",
                     "cluster %s rejected a change of the mirror (%s): %s", mirror_cluster(engine, mirror), held,
                     refused->message ? refused->message : "out of memory");
    refused->reported = true;
}

// The worker accepted the same patch and changed nothing.
static void report_dropped(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->dropping_reported)
        return;
    mirror->dropping_reported = true;
    report_event(engine, entry, true, "FieldsDropped", "CarryChange",
                 "%s accepted a change of the mirror and stored nothing: the API server there does not know the fields "
                 "or writes them differently, or a policy removes them",
                 mirror_cluster(engine, mirror));
}

static void send_update(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct mirror_record *record) {
    enum piece piece = (enum piece)record->piece;
    uint64_t hash = mirror_patch_hash(patch);
    if (hash == mirror->noop_patch_hash) {
        report_dropped(engine, entry, mirror);
        if (mirror->refused)
            rejections_hold(mirror->refused, hash);
        mirror->facts.update_due = mirror->refused; // the other pieces
        return;
    }
    mirror->noop_patch_hash = 0;
    mirror->facts.update_at_ns = patch_at_ns(engine, entry, mirror, piece);
    mirror->facts.update_due = mirror->facts.update_at_ns > engine->now.mono_ns;
    struct request_in_flight request = {.type = REQUEST_UPDATE,
                                        .patch_hash = hash,
                                        .wanted = entry->workload->carry_hash,
                                        .offered = &record->next,
                                        .stops = record->stops,
                                        .piece = record->piece,
                                        .marks = mirror->unmarked && piece_has_record(piece)};
    if (!mirror->facts.update_due)
        mirror->facts.update_due = !command_send_patch(engine, entry, mirror, patch, request);
}

bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->refused && mirror->refused->until_ns <= engine->now.mono_ns)
        rejections_end(&mirror->refused);
    AUTO_CALL call;
    struct mirror_context context = call_begin_for_mirror(engine, entry, mirror, WHARF_MIRROR_PRESENT, &call);
    AUTO_MIRROR_RECORD record = {.known = mirror->record, .unsure = mirror->record_unsure, .refused = mirror->refused};
    AUTO_JSON patch = NULL;
    mirror->carry = CARRY_UNKNOWN;
    if (!continuity_step(engine, entry, mirror, &context))
        return true;
    context.record = &record;
    AUTO_JSON yielding = yield_workload(engine, entry, context.workload);
    if (yielding)
        context.workload = yielding;
    wharf_result result = context.workload && context.mirror ? mirror_patch(&context, &patch) : WHARF_RETRY;
    if (call_succeeded(engine, entry, result, &call, "CarryChange", &mirror->denials, &mirror->facts.update_at_ns))
        call_report_message(engine, entry, &call, "CarryChange");
    mirror->facts.update_due = result == WHARF_RETRY; // else until the workload or the mirror changes
    if (result == WHARF_RETRY)
        return true;
    mirror->uncompared = false;
    if (result == WHARF_REFUSED)
        return true;
    mirror->facts.left_suspended =
        mirror->facts.suspended && (record.suspended_in_worker || context.suspended_by_kueue);
    if (record.suspended_in_worker)
        report_suspender(engine, entry, mirror);
    if (patch) {
        send_update(engine, entry, mirror, patch, &record);
    } else if (record.held) {
        hold_back(engine, entry, mirror, record.held);
    } else { // up to date
        mirror_keep_record(mirror, TAKE(record.next));
        mirror->noop_patch_hash = 0;
        rejections_end(&mirror->refused);
    }
    answer_check_dropped(engine, entry); // unless the change is in flight
    return true;
}

// The mirror runs, and the host deletes it only to place the workload elsewhere.
static bool is_drained(const struct entry *entry, const struct mirror *mirror) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->exists && !w->finished && !w->being_deleted && mirror == facts_placed_mirror(entry);
}

// Why the host deletes a mirror; NULL: the workload has finished.
static const char *stale_because(const struct entry *entry, const struct mirror *mirror) {
    if (!entry->workload->facts.exists)
        return "the workload is gone";
    if (entry->workload->facts.being_deleted)
        return "the workload is being deleted";
    if (!mirror->facts.of_workload)
        return "the mirror belongs to an earlier workload of this name";
    return mirror == facts_placed_mirror(entry) ? NULL : "the mirror does not belong to the current attempt";
}

static void report_deletion(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    const struct workload_facts *w = &entry->workload->facts;
    const char *stale = stale_because(entry, mirror), *cluster = mirror_cluster(engine, mirror);
    if (!mirror->was_of_workload)
        report_log(engine, LOG_WARN, mirror->facts.cluster, entry->kind,
                   "deleting orphan %s (uid %s): the workload %s does not exist", entry->key, mirror->uid,
                   mirror->workload_uid);
    else if (mirror->facts.of_workload && mirror->facts.attempt > w->attempt && w->cluster != DECIDE_UNKNOWN_CLUSTER)
        report_event(engine, entry, true, "SecondMirror", "DeleteMirror",
                     "two mirrors exist: the host deletes that of attempt %u in cluster %s and keeps that of attempt "
                     "%u in cluster %s",
                     mirror->facts.attempt, cluster, w->attempt, engine->clusters[w->cluster].name);
    else if (tenancy_is_withdrawn(engine, entry) && is_drained(entry, mirror))
        report_mirror(engine, LOG_INFO, entry, mirror, "deleting the mirror of attempt %u: no consent", w->attempt);
    else if (is_drained(entry, mirror))
        report_event(engine, entry, false, "Drained", "DeleteMirror",
                     "cluster %s is drained: the host deletes the mirror of attempt %u there, and %s", cluster,
                     w->attempt,
                     w->suspended ? "the host creates none before the workload resumes"
                                  : "the host creates another one in another cluster once this one is gone");
    else if (stale)
        report_mirror(engine, LOG_INFO, entry, mirror, "deleting the mirror of attempt %u (uid %s): %s",
                      mirror->facts.attempt, mirror->uid, stale);
}

// The resourceVersion of the mirror as last seen; NULL: not known.
static const char *version_seen(struct engine *engine, struct mirror *mirror) {
    const char *version = doc_version(&engine->store, &mirror->doc);
    return *version != '\0' && strcmp(version, STORE_VERSION_NONE) != 0 ? version : NULL;
}

// The uid is a precondition, and the version unless NULL. `withdraws`: the mirror disappears after the pods.
static bool send_delete(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *version,
                        bool withdraws) {
    AUTO_TEXT body = text_format("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"%s\","
                                 "\"preconditions\":{\"uid\":\"%s\"%s%s%s}}",
                                 withdraws ? "Foreground" : "Background", mirror->uid,
                                 version ? ",\"resourceVersion\":\"" : "", version ? version : "", version ? "\"" : "");
    if (!body)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return body && command_send_about(
                       engine, entry, mirror,
                       &(struct request_in_flight){
                           .type = REQUEST_DELETE, .body = body, .body_len = strlen(body), .withdraws = withdraws});
}

// Rules 3 and 4: the uid is a precondition. For a mirror of the current attempt the resourceVersion seen is one too: a
// running mirror that has finished meanwhile would run again elsewhere, and what a finished one adds to its status
// would be lost. Another writer that changes a finished mirror all the time does not keep it forever.
bool act_delete(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    bool drained = is_drained(entry, mirror);
    bool as_seen = drained || (!stale_because(entry, mirror) && mirror->failures < CHANGED_MAX);
    if (drained && !children_are_saved(engine, entry, mirror))
        return true;
    if (!send_delete(engine, entry, mirror, as_seen ? version_seen(engine, mirror) : NULL, false))
        return true;
    if (drained)
        entry->workload->facts.drained_attempt = entry->workload->facts.attempt;
    if (mirror->failures > 0)
        return true;
    engine->stats.orphans += !entry->workload->facts.exists;
    report_deletion(engine, entry, mirror);
    return true;
}

// Rule 2: the mirror had not started at the resourceVersion seen, which is a precondition.
bool act_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const char *version = version_seen(engine, mirror);
    if (!entry->workload->unstarted || !version) {
        mirror->facts.unsure = true; // the host reads the state first
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    } else if (children_are_saved(engine, entry, mirror) && send_delete(engine, entry, mirror, version, true)) {
        unstarted_withdrawn(engine, entry, mirror);
    }
    return true;
}

bool act_verify(struct engine *engine, struct entry *entry, size_t cluster) {
    struct workload_facts *w = &entry->workload->facts;
    struct mirror *mirror = make_mirror(engine, entry, cluster);
    if (!mirror)
        return false;
    bool earlier = w->cluster == cluster && w->clean_attempt != w->attempt;
    if (earlier && mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // as for a create
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    (void)command_send_about(engine, entry, mirror, &(struct request_in_flight){.type = REQUEST_VERIFY});
    return true;
}

bool act_release(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    AUTO_JSON patch = object ? finalizer_patch_off(object) : NULL;
    if (patch)
        (void)command_send_patch(engine, entry, mirror, patch, (struct request_in_flight){.type = REQUEST_RELEASE});
    else
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}

void unresumed_read(const struct engine *engine, const struct entry *entry, struct mirror *mirror,
                    const struct json *object) {
    mirror->facts.suspended = phase_suspend_asked(&engine->kinds[entry->kind]->abi, object);
    mirror->facts.left_suspended &= mirror->facts.suspended;
}

void unresumed_put(const struct engine *engine, const struct entry *entry, struct buffer *out) {
    const struct mirror *m = facts_placed_mirror(entry);
    buffer_text(out, waiting_text(WAITING_RESUME));
    if (!m)
        return;
    if (m->refused)
        buffer_printf(out, ": the worker rejects the change: %s", m->refused->message ? m->refused->message : "");
    else if (m->facts.fenced)
        buffer_text(out, ": the worker's guard suspended the mirror, and would do so again");
    else if (m->dropping_reported)
        buffer_text(out, ": the worker accepts the change and stores nothing");
    else if (m->updates.at_ns > engine->now.mono_ns)
        buffer_text(out, ": another writer undoes the change, and the host repeats the change with growing delays");
    else if (!m->facts.update_due)
        buffer_text(out, ": the adapter waits until the worker can accept the change");
}
