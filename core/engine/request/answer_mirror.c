// SPDX-License-Identifier: Apache-2.0
// Answers to requests about mirrors.
#include "core/base/memory.h"
#include "core/engine/continuity/continuity.h"
#include "core/engine/engine_internal.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/observe/observe.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"

#define GONE_SOON_NS (200 * CLOCK_MS) // to poll a deletion that no watch shows
#define GONE_LATER_NS (10 * CLOCK_SECOND)
#define FAILURES_REPORTED 4 // transient failures of a create before the report

static int64_t refused_until_ns(struct engine *engine, struct mirror *mirror) {
    if (mirror->refusals < UINT16_MAX)
        mirror->refusals++;
    return engine->now.mono_ns + backoff_ns(engine, mirror->refusals, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
}

// The worker rejected the mirror, or the host treats the worker like one that did.
__attribute__((format(printf, 5, 6))) static void exclude(struct engine *engine, struct entry *entry,
                                                          struct mirror *mirror, const char *reason, const char *format,
                                                          ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    const char *message = text ? text : "out of memory for the message";
    mirror->facts.excluded_until_ns = refused_until_ns(engine, mirror);
    namespace_retry_wait(engine, entry, mirror->facts.cluster, reason);
    if (mirror->facts.cluster == entry->workload->facts.cluster)
        attempt_history_failed(engine, entry, OUTCOME_REJECTED, reason, message);
    report_event(engine, entry, true, reason, "CreateMirror", "cluster %s rejected the mirror: %s",
                 mirror_cluster(engine, mirror), message);
}

// True: the stored mirror lacks marks. The host deletes the mirror and excludes the worker.
static bool refuse_marks(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt,
                         bool sealed, uint16_t refusals) {
    const struct workload_facts *w = &entry->workload->facts;
    bool current = w->exists && mirror->facts.present && w->attempt == attempt;
    const char *lost = current ? marks_lost(engine, entry, mirror, attempt, sealed) : NULL;
    if (!lost)
        return false;
    marks_adopt(entry, mirror, attempt);
    mirror->refusals = refusals;
    exclude(engine, entry, mirror, "MarksTaken",
            "a policy there removes or changes %s, which identifies mirrors; exempt the mark from the policy. The host "
            "deletes the mirror",
            lost);
    return true;
}

// True: the worker drops required fields, and the host deletes the mirror.
static bool refuse_dropped(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt,
                           uint16_t refusals) {
    AUTO_BUFFER(fields, DROPPED_TEXT_MAX);
    AUTO_BUFFER(needed, DROPPED_TEXT_MAX);
    const struct json *stored = doc_tree(&engine->store, &mirror->doc);
    enum require_fields required = dropped_required(engine, entry);
    bool current = entry->workload->facts.exists && mirror->facts.present && !mirror->unmarked &&
                   entry->workload->facts.attempt == attempt;
    if (!current || !stored)
        return false;
    size_t dropped = dropped_of(engine, entry, stored, false, &fields), missing = 0;
    if (dropped > 0 && required != REQUIRE_NONE)
        missing = dropped_of(engine, entry, stored, required == REQUIRE_SCHEDULING, &needed);
    if (dropped == DROPPED_UNKNOWN || missing == DROPPED_UNKNOWN) { // compares later
        mirror->unchecked_source = repeat_fold(entry->workload->carry_hash);
        return false;
    }
    bool refused = missing > 0;
    dropped_note(engine, entry, mirror, refused);
    mirror->dropping_reported |= dropped > 0;
    if (dropped > 0 && !refused)
        report_event(engine, entry, true, "FieldsDropped", "CreateMirror",
                     "cluster %s does not keep %s of the mirror: the API server there does not know these fields, or a "
                     "policy removes them",
                     mirror_cluster(engine, mirror), fields.len > 0 ? fields.data : "fields");
    if (!refused)
        return false;
    mirror->facts.marks_stripped = true;
    mirror->refusals = refusals;
    exclude(engine, entry, mirror, "FieldsDropped",
            "the worker does not keep %s, which requireFields asks for, and no trial showed that. The host deletes the "
            "mirror, which may have begun to run",
            needed.len > 0 ? needed.data : "fields");
    return true;
}

// Under load the host drops the Event, which would be a third of the requests for a short workload.
static void report_created(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    if (mirror->created_reported == attempt)
        return;
    mirror->created_reported = attempt;
    if (pacing_is_calm(engine, ENGINE_MANAGEMENT))
        report_event(engine, entry, false, "Dispatched", "CreateMirror", "created in cluster %s (attempt %u)",
                     mirror_cluster(engine, mirror), attempt);
    else
        engine->stats.events_dropped++;
}

static void count_dispatch(struct engine *engine, struct workload *w, uint32_t attempt) {
    if (!w->facts.exists)
        return;
    if (w->ready_ns > 0 && attempt == 1)
        histogram_add(&engine->stats.dispatch_latency, STATS_DISPATCH_NS, engine->received_ns - w->ready_ns);
    w->ready_ns = 0;
}

// A create or dry-run create failed, or the worker rejected it.
static void not_created(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        const struct response *response) {
    if (response->reason == REASON_ALREADY_EXISTS) {
        mirror->facts.unsure = !mirror->facts.present;
        int64_t again_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (mirror->failures > 1) // a read found nothing
            mirror->facts.not_before_ns = again_ns;
    } else if (response->reason == REASON_NAMESPACE_NOT_FOUND && engine->settings.create_namespaces) {
        mirror->namespace_missing = true;
    } else if (response->reason == REASON_NOT_TENANT) { // of the worker, see tenancy/
        if (mirror->facts.cluster == entry->workload->facts.cluster)
            attempt_history_failed(engine, entry, OUTCOME_REJECTED, reason_text(response->reason), response->message);
    } else if (reason_is_permanent(response->reason)) {
        exclude(engine, entry, mirror, reason_text(response->reason), "%s", response->message);
        // A quota rejects also a create of what exists: perhaps an earlier process made the mirror, and no watch showed
        // it.
        mirror->facts.unsure |=
            entry->workload->placed_attempt != entry->workload->facts.attempt && !mirror->facts.absent_ns;
    } else {
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        // Reads the mirror by name; if absent, and no create can still take effect, the host may reschedule the
        // workload.
        mirror->facts.unsure |= mirror->failures >= FAILURES_REPORTED;
        if (mirror->failures >= FAILURES_REPORTED)
            report_event(engine, entry, true, reason_text(response->reason), "CreateMirror",
                         "cluster %s fails to create the mirror; the host retries: %s", mirror_cluster(engine, mirror),
                         response->message);
    }
}

// Stores the mirror of an answer. The uid identifies a mirror that has lost the marks. *newest: the answer is the
// newest version.
static enum ownership observe_answer(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                     struct response *response, bool *newest) {
    struct object *object = TAKE(response->object);
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    observe_mirror(engine, entry, mirror, object, ownership == OWNERSHIP_NONE ? OWNERSHIP_UID : ownership);
    *newest = answer_is_newest(engine, &mirror->doc, version);
    return ownership;
}

static void on_create(struct engine *engine, struct entry *entry, struct mirror *mirror,
                      const struct request_in_flight *request, struct response *response) {
    struct workload *w = entry->workload;
    bool not_done = answer_certainly_not_done(response->reason);
    if (w->facts.exists && request->was_clean && not_done && w->facts.attempt == request->attempt &&
        w->facts.cluster == request->cluster) // if not, another create may have followed
        w->facts.clean_attempt = w->facts.attempt;
    uint32_t source = repeat_fold(request->wanted);
    if (!not_done) {
        mirror->facts.may_exist = true;
        mirror->unchecked_source = source;
    }
    if (response->reason != REASON_OK || !response->object) {
        not_created(engine, entry, mirror, response);
        if (!answer_is_heard(response->reason))
            mirror->facts.unanswered_ns = engine->now.mono_ns;
        return;
    }
    bool comparable = source == repeat_fold(w->carry_hash);
    bool former = request->workload != text_hash(TEXT_HASH, w->uid); // made anew while the create was in flight
    if (comparable || former)
        mirror->unchecked_source = 0;
    uint16_t refusals = mirror->refusals;
    mirror->failures = 0;
    bool newest;
    bool sealed = observe_answer(engine, entry, mirror, response, &newest) == OWNERSHIP_SEAL;
    mirror->facts.proven = true;
    if (mirror->facts.present) // a watch may have shown the same version before
        mirror->facts.may_exist = false;
    if (former && mirror->unmarked) { // without marks, the mirror would count as the new workload's
        mirror->workload_uid[0] = '\0';
        observe_set_of_workload(entry, mirror);
    }
    if (former || refuse_marks(engine, entry, mirror, request->attempt, sealed && newest, refusals) ||
        (comparable && refuse_dropped(engine, entry, mirror, request->attempt, refusals)))
        return;
    if (mirror->unmarked) // meanwhile the host placed the workload elsewhere
        mirror->facts.attempt = request->attempt;
    else if (request->wanted == w->carry_hash && newest && !mirror->facts.owed)
        mirror->facts.update_due = false; // no change of the workload or the mirror since
    count_dispatch(engine, w, request->attempt);
    report_created(engine, entry, mirror, request->attempt);
}

void answer_check_dropped(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = entry_mirror(entry, entry->workload->facts.cluster);
    if (!mirror || !mirror->unchecked_source || mirror->facts.busy || aside_waits(entry) ||
        mirror != facts_placed_mirror(entry))
        return;
    bool changed = mirror->unchecked_source != repeat_fold(entry->workload->carry_hash);
    if (changed && mirror->facts.update_due)
        return; // the workload has changed since: the host carries the change first
    mirror->unchecked_source = 0;
    bool kept = changed && mirror->noop_patch_hash == 0; // what is missing cannot be carried to the mirror
    if (!mirror->facts.finished && !kept)
        (void)refuse_dropped(engine, entry, mirror, mirror->facts.attempt, mirror->refusals);
}

// The server rejects a dry-run create: a webhook has side effects.
static bool cannot_be_tried(const struct response *response) {
    return response->reason == REASON_BAD_REQUEST && strstr(response->message, "does not support dry run");
}

static void on_trial(struct engine *engine, struct entry *entry, struct mirror *mirror,
                     const struct request_in_flight *request, struct response *response) {
    AUTO_BUFFER(fields, DROPPED_TEXT_MAX);
    bool current = request->wanted == entry->workload->carry_hash && request->attempt == entry->workload->facts.attempt;
    bool only_scheduling = dropped_required(engine, entry) == REQUIRE_SCHEDULING;
    size_t dropped =
        current && response->value ? dropped_of(engine, entry, response->value, only_scheduling, &fields) : 0;
    if (dropped == DROPPED_UNKNOWN) { // another trial follows
        mirror->failures = 0;
    } else if (dropped > 0) {
        exclude(engine, entry, mirror, "FieldsDropped",
                "the worker does not keep %s, which requireFields asks for; the host created nothing",
                fields.len > 0 ? fields.data : "all fields");
    } else if (response->reason == REASON_OK || cannot_be_tried(response)) {
        mirror->failures = 0;
        mirror->tried = current;
    } else if (response->reason == REASON_BAD_REQUEST && strstr(response->message, "unknown field")) {
        exclude(engine, entry, mirror, "FieldsDropped", "%s", response->message);
    } else {
        not_created(engine, entry, mirror, response);
    }
}

// The known object is the mirror of the present attempt.
static bool is_of_attempt(const struct entry *entry, const struct mirror *mirror) {
    return *mirror->uid && mirror->facts.of_workload && mirror->facts.attempt == entry->workload->facts.attempt;
}

// A read by name found nothing.
static void note_absent(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    bool heard = decide_absent_at_ns(&mirror->facts, engine->settings.worker_lost_timeout_ns) <= engine->now.mono_ns;
    bool existed = is_of_attempt(entry, mirror);
    if (existed && mirror->facts.cluster == w->cluster)
        w->gone_attempt = w->attempt;
    else if (!existed && mirror->failures >= FAILURES_REPORTED && heard)
        exclude(engine, entry, mirror, "CreateFailed", "creates keep failing there and the object does not exist");
}

// The object has the marks of this very attempt: an earlier process may have created the object without a seal, or
// with another key. A second mirror would run beside that object.
static bool may_be_ours(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                        const struct json *object) {
    const struct workload *w = entry->workload;
    return mirror_is_ours(engine->kinds[entry->kind], engine->origin, object) &&
           mirror->facts.cluster == w->facts.cluster && mirror_attempt(object) == w->facts.attempt &&
           w->placed_attempt != w->facts.attempt && text_equal(object_label(object, MARK_UID), w->uid);
}

static void wait_for_seal(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns = refused_until_ns(engine, mirror);
    report_event(engine, entry, true, "NotSealed", "CreateMirror",
                 "cluster %s has an object with the marks of the mirror but no valid seal: the host creates no mirror "
                 "until that object is gone or has a seal (objects from before there was a key have none: a start with "
                 "seal.adoptUnsealed: true adds the seal)",
                 mirror_cluster(engine, mirror));
}

// The watch does not show a mirror without marks: without the host's finalizer, only polling shows its deletion.
static void poll_deletion(const struct engine *engine, struct mirror *mirror, int64_t after_ns) {
    if (!mirror->unmarked || !mirror->facts.being_deleted || mirror->facts.finalizer)
        return;
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns = engine->now.mono_ns + after_ns;
}

// A foreign object has the name of the mirror.
static void note_conflict(struct engine *engine, struct entry *entry, struct mirror *mirror, struct object *object) {
    if (mirror->facts.present) // another object has the name; without marks no watch shows that
        observe_mirror_gone(engine, entry, mirror, true);
    bool maybe = may_be_ours(engine, entry, mirror, object->value);
    object_free(object);
    mirror->failures = 0;
    mirror->facts.unsure = false;
    if (maybe && !*mirror->uid) {
        wait_for_seal(engine, entry, mirror);
        return;
    }
    if (is_of_attempt(entry, mirror))
        entry->workload->facts.gone_attempt = entry->workload->facts.attempt;
    engine->stats.conflicts++;
    exclude(engine, entry, mirror, "NameConflict", "a foreign object of the same name exists");
}

// The object was held as a possible mirror, and has no marks any more.
static bool is_no_mirror(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                         const struct json *object) {
    bool placed = is_of_attempt(entry, mirror) && mirror->facts.cluster == entry->workload->facts.cluster;
    return !mirror->facts.proven && !placed && !mirror_is_ours(engine->kinds[entry->kind], engine->origin, object);
}

static void on_read(struct engine *engine, struct entry *entry, struct mirror *mirror,
                    const struct request_in_flight *request, struct response *response) {
    (void)request;
    if (response->reason == REASON_NOT_FOUND) {
        if (mirror->facts.present && !mirror->facts.unsure) // a watch has shown the mirror since
            return;
        mirror->facts.unsure = mirror->facts.may_exist = false;
        mirror->facts.absent_ns = engine->now.mono_ns;
        if (mirror->facts.present)
            observe_mirror_gone(engine, entry, mirror, true);
        else
            note_absent(engine, entry, mirror);
        return;
    }
    if (response->reason != REASON_OK || !response->object) {
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (reason_is_permanent(response->reason)) // the watch will show the change
            mirror->facts.may_exist = false;
        return;
    }
    mirror->facts.may_exist = false;
    struct object *object = TAKE(response->object);
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    if (ownership == OWNERSHIP_NONE || is_no_mirror(engine, entry, mirror, object->value)) {
        note_conflict(engine, entry, mirror, object);
        return;
    }
    uint64_t before = mirror->facts.present ? text_hash(TEXT_HASH, doc_version(&engine->store, &mirror->doc)) : 0;
    observe_mirror(engine, entry, mirror, object, ownership);
    if (!answer_is_newest(engine, &mirror->doc, before)) // else the same patch would fail again
        mirror->failures = 0;
    mirror->facts.unsure = false;
    poll_deletion(engine, mirror, GONE_LATER_NS);
}

// The watch shows newer versions, but may lag.
static bool must_read(struct engine *engine, struct mirror *mirror, const struct request_in_flight *request,
                      const struct response *response) {
    return response->reason == REASON_NOT_FOUND ||
           (response->reason == REASON_CONFLICT && answer_is_newest(engine, &mirror->doc, request->known));
}

static void on_update(struct engine *engine, struct entry *entry, struct mirror *mirror,
                      const struct request_in_flight *request, struct response *response) {
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = mirror->refused ? mirror->failures : 0;
        bool newest;
        bool sealed = observe_answer(engine, entry, mirror, response, &newest) == OWNERSHIP_SEAL;
        if (request->piece == PIECE_WHOLE)
            mirror->patched_source = repeat_fold(request->wanted);
        if (request->marks && !mirror->facts.finished && !mirror->facts.unread)
            refuse_marks(engine, entry, mirror, request->attempt, sealed && newest, mirror->refusals);
        mirror->facts.update_due = true; // compare once more: the server may have changed the fields
        mirror->noop_patch_hash = newest ? request->patch_hash : 0;
        mirror->uncompared = true;
        return;
    }
    mirror->facts.update_due = true;
    bool permanent = reason_is_permanent(response->reason);
    bool piece = request->piece != PIECE_WHOLE && mirror->refused && permanent;
    int64_t next_ns = piece ? mirror->refused->until_ns : answer_next_try_ns(engine, response, &mirror->failures);
    mirror->facts.unsure |= must_read(engine, mirror, request, response);
    if (!permanent)
        mirror->facts.not_before_ns = next_ns;
    else // a rejection does not delay the deletion, the other pieces, or another change
        mirror->facts.update_at_ns =
            rejections_add(&mirror->refused, request->patch_hash, response, next_ns) ? 0 : next_ns;
}

// The resourceVersion is a precondition, so that a repetition does no harm.
static void on_progress(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        const struct request_in_flight *request, struct response *response) {
    mirror->facts.update_due = true;
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = 0;
        bool newest;
        (void)observe_answer(engine, entry, mirror, response, &newest);
        continuity_accepted(mirror);
        return;
    }
    if (continuity_rejected(mirror, response))
        return;
    mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
    mirror->facts.unsure |= !answer_is_heard(response->reason) || must_read(engine, mirror, request, response);
}

static void report_rejected(struct engine *engine, struct entry *entry, const struct mirror *mirror,
                            const struct response *response, const char *what) {
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "DeleteMirror", "cluster %s rejected %s: %s",
                     mirror_cluster(engine, mirror), what, response->message);
}

static void on_release(struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const struct request_in_flight *request, struct response *response) {
    (void)request;
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = 0;
        bool newest;
        (void)observe_answer(engine, entry, mirror, response, &newest);
        mirror->facts.finalizer = false;
        poll_deletion(engine, mirror, GONE_SOON_NS);
        return;
    }
    mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
    // The watch may lag, and does not show a mirror without marks.
    mirror->facts.unsure |= response->reason == REASON_NOT_FOUND || response->reason == REASON_CONFLICT;
    report_rejected(engine, entry, mirror, response, "the removal of the finalizer " MARK_FINALIZER);
}

static void on_delete(struct engine *engine, struct entry *entry, struct mirror *mirror,
                      const struct request_in_flight *request, struct response *response) {
    if (response->reason == REASON_OK) {
        mirror->failures = 0;
        mirror->facts.being_deleted = true; // the watch will show the deletion
        poll_deletion(engine, mirror, GONE_SOON_NS);
    } else if (response->reason == REASON_NOT_FOUND) {
        observe_mirror_gone(engine, entry, mirror, true);
    } else {
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (request->withdraws && answer_certainly_not_done(response->reason))
            unstarted_kept(entry, mirror, response->reason);
        mirror->facts.unsure |= response->reason == REASON_CONFLICT; // a changed object, or another one
        report_rejected(engine, entry, mirror, response, "the deletion of the mirror");
    }
}

static void on_namespace(struct engine *engine, struct entry *entry, struct mirror *mirror,
                         const struct request_in_flight *request, struct response *response) {
    (void)request;
    if (reason_is_permanent(response->reason))
        exclude(engine, entry, mirror, reason_text(response->reason), "%s", response->message);
    else if (response->reason != REASON_OK && response->reason != REASON_ALREADY_EXISTS)
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
}

// A deletion came while the request was in flight, and the answer shows the state before the deletion.
static bool is_outdated(const struct mirror *mirror, const struct request_in_flight *request,
                        const struct response *response) {
    if (request->type == REQUEST_DELETE || request->type == REQUEST_RELEASE)
        return true;
    bool same = response->object && strcmp(mirror->uid, object_uid(response->object->value)) == 0;
    return response->object && same == !mirror->facts.present;
}

void answer_of_mirror(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                      struct response *response) {
    static void (*const handlers[])(struct engine *, struct entry *, struct mirror *, const struct request_in_flight *,
                                    struct response *) = {
        [REQUEST_CREATE] = on_create,       [REQUEST_TRIAL] = on_trial,      [REQUEST_VERIFY] = on_read,
        [REQUEST_UPDATE] = on_update,       [REQUEST_RELEASE] = on_release,  [REQUEST_DELETE] = on_delete,
        [REQUEST_NAMESPACE] = on_namespace, [REQUEST_PROGRESS] = on_progress};
    struct mirror *mirror = entry_mirror(entry, request->cluster);
    if (!mirror)
        return;
    mirror->facts.busy = false;
    bool outdated = mirror->outdated && is_outdated(mirror, request, response);
    mirror->outdated = false;
    if (outdated) {
        if (!mirror->facts.present && request->type != REQUEST_DELETE && request->type != REQUEST_RELEASE)
            mirror->facts.unsure = true;
        return;
    }
    bool done = response->reason == REASON_OK && response->object;
    handlers[request->type](engine, entry, mirror, request, response);
    if (done && request->record) // the mirror now has the fields that were sent
        mirror_keep_record(mirror, TAKE(request->record));
    else if (request->record && !answer_certainly_not_done(response->reason))
        mirror->record_unsure = true;
    // The host reads a possibly suspended mirror before another patch overwrites its record.
    mirror->facts.unsure |= request->stops && !done && !answer_certainly_not_done(response->reason);
}
