// SPDX-License-Identifier: Apache-2.0
// Answers to commands: what they show of the objects, when to retry, and what is reported.
#include "core/engine/answer.h"

#include "core/base/memory.h"
#include "core/engine/backoff.h"
#include "core/engine/cluster_state.h"
#include "core/engine/command.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue.h"
#include "core/engine/marks.h"
#include "core/engine/mirror.h"
#include "core/engine/observe.h"
#include "core/engine/pacing.h"
#include "core/engine/pause.h"
#include "core/engine/queue.h"
#include "core/engine/repeat.h"
#include "core/engine/report.h"
#include "core/engine/rewound.h"
#include "core/engine/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSIENT_BASE_NS (100 * CLOCK_MS)
#define TRANSIENT_MAX_NS (30 * CLOCK_SECOND)
#define CONFLICT_BASE_NS (10 * CLOCK_MS)
#define PERMANENT_BASE_NS (5 * CLOCK_SECOND) // a starting API server rejects requests for a moment
#define GONE_SOON_NS (200 * CLOCK_MS)        // after a deletion that no watch shows
#define GONE_LATER_NS (10 * CLOCK_SECOND)
#define FAILURES_REPORTED 4 // transient failures of a create before they are reported
#define FREE_DENIALS 3      // rejected statuses before the next one is delayed
#define PERMANENT_MAX_NS (10 * CLOCK_MINUTE)

// Rule 8: cannot succeed without a change; reported and retried slowly.
static bool is_permanent(enum reason reason) {
    switch (reason) {
    case REASON_BAD_REQUEST:
    case REASON_UNAUTHORIZED:
    case REASON_FORBIDDEN:
    case REASON_QUOTA:
    case REASON_NAMESPACE_TERMINATING:
    case REASON_NAMESPACE_NOT_FOUND:
    case REASON_KIND_NOT_FOUND:
    case REASON_INVALID:
        return true;
    default:
        return false;
    }
}

// Whether the request certainly had no effect (rule 4: otherwise the outcome is unknown).
static bool certainly_not_done(enum reason reason) {
    return is_permanent(reason) || reason == REASON_NOT_SENT || reason == REASON_TOO_MANY ||
           reason == REASON_CONFLICT || reason == REASON_NOT_FOUND;
}

// Whether the server answered: otherwise the request may still take effect later.
static bool is_answered(enum reason reason) {
    return reason != REASON_UNKNOWN_OUTCOME && reason != REASON_GARBAGE;
}

static int64_t next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures) {
    if (*failures < UINT16_MAX)
        (*failures)++;
    int64_t delay_ns;
    if (is_permanent(response->reason))
        delay_ns = backoff_ns(engine, *failures, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    else if (response->reason == REASON_CONFLICT)
        delay_ns = backoff_ns(engine, *failures, CONFLICT_BASE_NS, TRANSIENT_MAX_NS);
    else
        delay_ns = backoff_ns(engine, *failures, TRANSIENT_BASE_NS, TRANSIENT_MAX_NS);
    if (response->retry_after_ns > delay_ns)
        delay_ns = response->retry_after_ns + (int64_t)random_below(&engine->random, (uint64_t)CLOCK_SECOND / 4);
    return engine->now.mono_ns + delay_ns;
}

static struct object *take_object(struct response *response) {
    return TAKE(response->object);
}

// The mirror as the server stored it. If a webhook stripped its marks, it is identified by its uid.
static void observe_answer(struct engine *engine, struct entry *entry, struct mirror *mirror,
                           struct response *response) {
    struct object *object = take_object(response);
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    observe_mirror(engine, entry, mirror, object, ownership == OWNERSHIP_NONE ? OWNERSHIP_UID : ownership);
}

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
    entry->facts.not_before_ns = next_try_ns(engine, response, &entry->failures);
    entry->facts.status_due = true;
    if (status && (response->reason == REASON_INVALID || response->reason == REASON_BAD_REQUEST))
        status_denied(engine, entry, pending->patch_hash);
    if (is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), action,
                     "the management cluster rejected the write: %s", response->message);
}

// Whether the answer is the current object; otherwise there was another write since.
static bool is_newest(struct engine *engine, struct doc *doc, uint64_t version) {
    return text_hash(TEXT_HASH, doc_version(&engine->store, doc)) == version;
}

// After an accepted status patch. If the status is as intended and nothing else changed, the status is no longer due;
// otherwise the next comparison shows whether the server keeps it.
static void status_written(struct engine *engine, struct entry *entry, const struct pending *pending,
                           const struct entry *before, uint64_t version) {
    const struct json *workload = doc_tree(&engine->store, &entry->doc);
    bool same = workload && entry->generation == before->generation && entry->facts.attempt == before->facts.attempt &&
                entry->facts.cluster == before->facts.cluster &&
                json_hash(json_get(workload, "status")) == pending->wanted;
    entry->noop_patch_hash = same || !is_newest(engine, &entry->doc, version) ? 0 : pending->patch_hash;
    entry->uncompared = true;
    entry->written_source = pending->source;
    if (same)
        entry->facts.status_due = before->facts.status_due; // the mirror may have changed meanwhile
}

static void workload_answered(struct engine *engine, struct entry *entry, const struct pending *pending,
                              struct response *response) {
    entry->facts.busy = false;
    bool place = pending->type == PENDING_PLACE;
    if (!entry->facts.exists)
        return;
    if (pending->type == PENDING_STATUS)
        pause_status_answered(engine, entry->kind, response->reason);
    if (pending->type == PENDING_OWNER && kueue_answered(engine, entry, pending, response))
        return;
    if (response->reason != REASON_OK || !response->object) {
        if (response->reason == REASON_CONFLICT)
            repeat_conflict(entry, pending);
        entry->unsure |= !is_answered(response->reason);
        workload_failed(engine, entry, pending, response);
        entry->facts.record_unsure |= place && !certainly_not_done(response->reason);
        if (place) // as far as is known, it was not placed
            cluster_count_active(
                engine, entry,
                entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER || entry->facts.finished ? 0 : entry->facts.cluster);
        return;
    }
    entry->failures = 0;
    entry->facts.not_before_ns = 0;
    entry->unsure = false;
    struct object *object = take_object(response);
    if (strcmp(object_uid(object->value), entry->uid) != 0) {
        object_free(object);
        return;
    }
    struct entry before = *entry;
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    observe_workload(engine, entry, object);
    if (place && entry->facts.attempt == pending->attempt)
        entry->placed_attempt = entry->facts.attempt;
    if (place && entry->facts.attempt == pending->attempt && pending->was_clean)
        entry->facts.clean_attempt = entry->facts.attempt;
    if (place)
        return;
    status_written(engine, entry, pending, &before, version);
    entry->facts.status_refusals = 0;
    entry->denied_status_hash = 0;
}

static void exclude(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *reason,
                    const char *message) {
    if (mirror->refusals < UINT16_MAX)
        mirror->refusals++;
    mirror->facts.excluded_until_ns =
        engine->now.mono_ns + backoff_ns(engine, mirror->refusals, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    story_rejected(engine, entry, mirror, reason, message);
    report_event(engine, entry, true, reason, "CreateMirror", "cluster %s rejected the mirror: %s",
                 engine->names[mirror->facts.cluster], message);
}

static void create_namespace(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    char space[254], body[512];
    entry_namespace(entry, space);
    int len = snprintf(body, sizeof body,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", space);
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = PENDING_NAMESPACE,
                                                             .verb = VERB_CREATE,
                                                             .cluster = mirror->facts.cluster,
                                                             .attempt = entry->facts.attempt,
                                                             .body = body,
                                                             .body_len = (size_t)len});
}

// True: the stored mirror lacks marks. It is deleted, and its worker counts as one that rejected it.
static bool refuse_marks(struct engine *engine, struct entry *entry, struct mirror *mirror,
                         const struct pending *pending, uint16_t refusals) {
    const char *lost = entry->facts.exists && mirror->facts.present && entry->facts.attempt == pending->attempt
                           ? marks_lost(engine, entry, mirror, pending->attempt)
                           : NULL;
    if (!lost)
        return false;
    marks_adopt(entry, mirror, pending->attempt);
    mirror->refusals = refusals;
    AUTO_TEXT message = text_format("a policy there removes or changes %s, which identifies mirrors; exempt it from "
                                    "the policy. The mirror is deleted",
                                    lost);
    exclude(engine, entry, mirror, "MarksTaken", message ? message : lost);
    return true;
}

// Not worth a third of the requests of a short workload's life: under load it is left out.
static void report_created(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    if (mirror->created_reported == attempt)
        return;
    mirror->created_reported = attempt;
    if (pacing_has_spare(engine, ENGINE_MANAGEMENT))
        report_event(engine, entry, false, "Dispatched", "CreateMirror", "created in cluster %s (attempt %u)",
                     engine->names[mirror->facts.cluster], attempt);
    else
        engine->stats.events_dropped++;
}

static void count_dispatch(struct engine *engine, struct entry *entry, uint32_t attempt) {
    if (entry->ready_ns > 0 && attempt == 1)
        histogram_add(&engine->stats.dispatch_latency, STATS_DISPATCH_NS, engine->received_ns - entry->ready_ns);
    entry->ready_ns = 0;
}

static void created(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct pending *pending,
                    struct response *response) {
    if (pending->was_clean && certainly_not_done(response->reason) && entry->facts.attempt == pending->attempt &&
        entry->facts.cluster == pending->cluster) // else another one may have been created since
        entry->facts.clean_attempt = entry->facts.attempt;
    mirror->facts.may_exist |= !certainly_not_done(response->reason);
    if (response->reason == REASON_OK && response->object) {
        uint16_t refusals = mirror->refusals;
        mirror->failures = 0;
        observe_answer(engine, entry, mirror, response);
        mirror->facts.proven = true;
        if (refuse_marks(engine, entry, mirror, pending, refusals))
            return;
        if (mirror->unmarked) // placed elsewhere meanwhile
            mirror->facts.attempt = pending->attempt;
        else if (pending->wanted == entry->carry_hash)
            mirror->facts.update_due = false; // the workload has not changed since
        count_dispatch(engine, entry, pending->attempt);
        report_created(engine, entry, mirror, pending->attempt);
    } else if (response->reason == REASON_ALREADY_EXISTS) {
        mirror->facts.unsure = !mirror->facts.present;
        int64_t again_ns = next_try_ns(engine, response, &mirror->failures);
        if (mirror->failures > 1) // it was read and not found
            mirror->facts.not_before_ns = again_ns;
    } else if (response->reason == REASON_NAMESPACE_NOT_FOUND && engine->create_namespaces) {
        create_namespace(engine, entry, mirror);
    } else if (is_permanent(response->reason)) {
        exclude(engine, entry, mirror, reason_text(response->reason), response->message);
    } else {
        mirror->facts.not_before_ns = next_try_ns(engine, response, &mirror->failures);
        if (!is_answered(response->reason))
            mirror->unanswered_ns = engine->now.mono_ns;
        // Read by name; if absent, and no create can still take effect, the workload may be rescheduled.
        mirror->facts.unsure |= mirror->failures >= FAILURES_REPORTED;
        if (mirror->failures >= FAILURES_REPORTED)
            report_event(engine, entry, true, reason_text(response->reason), "CreateMirror",
                         "cluster %s fails to create the mirror, which is retried: %s",
                         engine->names[mirror->facts.cluster], response->message);
    }
}

// Read by name and not found.
static void known_absent(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    bool heard = mirror->unanswered_ns == 0 || engine->now.mono_ns - mirror->unanswered_ns >= engine->lost_timeout_ns;
    bool existed = *mirror->uid != '\0' && mirror->facts.of_workload && mirror->facts.attempt == entry->facts.attempt;
    if (existed && mirror->facts.cluster == entry->facts.cluster)
        entry->facts.gone_attempt = entry->facts.attempt;
    else if (!existed && mirror->failures >= FAILURES_REPORTED && heard)
        exclude(engine, entry, mirror, "CreateFailed", "creates keep failing there and the object does not exist");
}

// The object has the marks of this very attempt: an earlier process may have created it without a seal, or with another
// key, and a second mirror would run beside it.
static bool may_be_ours(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                        const struct json *object) {
    return mirror_is_ours(engine->kinds[entry->kind], engine->origin, object) &&
           mirror->facts.cluster == entry->facts.cluster && mirror_attempt(object) == entry->facts.attempt &&
           entry->placed_attempt != entry->facts.attempt && text_equal(object_label(object, MARK_UID), entry->uid);
}

static void wait_for_seal(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->refusals < UINT16_MAX)
        mirror->refusals++;
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns =
        engine->now.mono_ns + backoff_ns(engine, mirror->refusals, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    report_event(engine, entry, true, "NotSealed", "CreateMirror",
                 "cluster %s has an object with the marks of its mirror but no valid seal: no mirror is created until "
                 "that object is deleted or sealed",
                 engine->names[mirror->facts.cluster]);
}

// A mirror without marks is not in the watch: once the host's finalizer is off, its deletion has to be polled.
static void ask_again(const struct engine *engine, struct mirror *mirror, int64_t after_ns) {
    if (!mirror->unmarked || !mirror->facts.being_deleted || mirror->facts.finalizer)
        return;
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns = engine->now.mono_ns + after_ns;
}

static void verified(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    if (response->reason == REASON_NOT_FOUND) {
        if (mirror->facts.present && !mirror->facts.unsure)
            return; // it was seen since
        mirror->facts.unsure = mirror->facts.may_exist = false;
        mirror->looked_up = true;
        if (mirror->facts.present)
            observe_mirror_gone(engine, entry, mirror, true);
        else
            known_absent(engine, entry, mirror);
        return;
    }
    if (response->reason != REASON_OK || !response->object) {
        mirror->facts.not_before_ns = next_try_ns(engine, response, &mirror->failures);
        if (is_permanent(response->reason)) // its watch will show it
            mirror->facts.may_exist = false;
        return;
    }
    mirror->facts.may_exist = false;
    struct object *object = take_object(response);
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    if (ownership != OWNERSHIP_NONE) {
        uint64_t before = mirror->facts.present ? text_hash(TEXT_HASH, doc_version(&engine->store, &mirror->doc)) : 0;
        observe_mirror(engine, entry, mirror, object, ownership);
        if (!is_newest(engine, &mirror->doc, before)) // else what failed would be repeated as it was
            mirror->failures = 0;
        mirror->facts.unsure = false;
        ask_again(engine, mirror, GONE_LATER_NS);
        return;
    }
    if (mirror->facts.present) // its name was reused; if it had no marks, no watch shows that
        observe_mirror_gone(engine, entry, mirror, true);
    bool maybe = may_be_ours(engine, entry, mirror, object->value);
    object_free(object);
    mirror->failures = 0;
    mirror->facts.unsure = false;
    if (maybe && !*mirror->uid) {
        wait_for_seal(engine, entry, mirror);
        return;
    }
    if (*mirror->uid && mirror->facts.of_workload && mirror->facts.attempt == entry->facts.attempt)
        entry->facts.gone_attempt = entry->facts.attempt; // deleted, and the name was reused
    engine->stats.conflicts++;
    exclude(engine, entry, mirror, "NameConflict", "a foreign object of the same name exists");
}

static void updated(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct pending *pending,
                    struct response *response) {
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = 0;
        uint64_t version = text_hash(TEXT_HASH, object_version(response->object->value));
        observe_answer(engine, entry, mirror, response);
        repeat_updated(mirror, pending);
        if (pending->marks && !mirror->facts.finished)
            refuse_marks(engine, entry, mirror, pending, mirror->refusals);
        mirror->facts.update_due = true; // compared once more: the server may have changed what was sent
        mirror->noop_patch_hash = is_newest(engine, &mirror->doc, version) ? pending->patch_hash : 0;
        mirror->uncompared = true;
        mirror->stop_only &= pending->stop_only;
        return;
    }
    mirror->facts.update_due = true;
    int64_t next_ns = next_try_ns(engine, response, &mirror->failures);
    if (response->reason == REASON_NOT_FOUND)
        mirror->facts.unsure = true;
    if (!is_permanent(response->reason)) {
        mirror->facts.not_before_ns = next_ns;
        return;
    }
    // Does not delay its deletion, a suspension alone, or another change.
    mirror->denied_patch_hash = pending->patch_hash;
    mirror->denied_until_ns = next_ns;
    mirror->facts.update_at_ns = pending->stops && !pending->stop_only ? 0 : next_ns;
    mirror->stop_only |= pending->stops;
    report_event(engine, entry, true, reason_text(response->reason), "CarryChange",
                 "cluster %s rejected a change of the mirror: %s", engine->names[mirror->facts.cluster],
                 response->message);
}

// The mirror now has what was sent.
static void keep_record(struct mirror *mirror, struct pending *pending) {
    if (!pending->record)
        return;
    free(mirror->record);
    mirror->record = pending->record;
    mirror->record_unsure = false;
    pending->record = NULL;
}

static void released(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = 0;
        observe_answer(engine, entry, mirror, response);
        mirror->facts.finalizer = false;
        ask_again(engine, mirror, GONE_SOON_NS);
        return;
    }
    mirror->facts.not_before_ns = next_try_ns(engine, response, &mirror->failures);
    // The watch may lag, and no longer shows a mirror that lost its marks.
    mirror->facts.unsure |= response->reason == REASON_NOT_FOUND || response->reason == REASON_CONFLICT;
    if (is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "DeleteMirror",
                     "cluster %s rejected the removal of the finalizer " MARK_FINALIZER ": %s",
                     engine->names[mirror->facts.cluster], response->message);
}

static void deleted(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    switch (response->reason) {
    case REASON_OK:
        mirror->failures = 0;
        mirror->facts.being_deleted = true; // the watch shows when it is gone
        ask_again(engine, mirror, GONE_SOON_NS);
        break;
    case REASON_NOT_FOUND:
        observe_mirror_gone(engine, entry, mirror, true);
        break;
    default:
        mirror->facts.not_before_ns = next_try_ns(engine, response, &mirror->failures);
        if (is_permanent(response->reason))
            report_event(engine, entry, true, reason_text(response->reason), "DeleteMirror",
                         "cluster %s rejected the deletion of the mirror: %s", engine->names[mirror->facts.cluster],
                         response->message);
    }
}

// The object was deleted while the request was in flight, and the answer predates that.
static bool is_older(const struct mirror *mirror, const struct pending *pending, const struct response *response) {
    if (pending->type == PENDING_DELETE || pending->type == PENDING_RELEASE)
        return true;
    bool same = response->object && strcmp(mirror->uid, object_uid(response->object->value)) == 0;
    return response->object && same == !mirror->facts.present;
}

static void mirror_answered(struct engine *engine, struct entry *entry, struct pending *pending,
                            struct response *response) {
    struct mirror *mirror = entry_mirror(entry, pending->cluster);
    if (!mirror)
        return;
    mirror->facts.busy = false;
    bool outdated = mirror->outdated;
    mirror->outdated = false;
    if (outdated && is_older(mirror, pending, response)) {
        if (!mirror->facts.present && pending->type != PENDING_DELETE && pending->type != PENDING_RELEASE)
            mirror->facts.unsure = true;
        return;
    }
    bool done = response->reason == REASON_OK && response->object;
    switch (pending->type) {
    case PENDING_CREATE:
        created(engine, entry, mirror, pending, response);
        break;
    case PENDING_VERIFY:
        verified(engine, entry, mirror, response);
        break;
    case PENDING_UPDATE:
        updated(engine, entry, mirror, pending, response);
        break;
    case PENDING_RELEASE:
        released(engine, entry, mirror, response);
        break;
    case PENDING_DELETE:
        deleted(engine, entry, mirror, response);
        break;
    case PENDING_NAMESPACE:
        if (is_permanent(response->reason))
            exclude(engine, entry, mirror, reason_text(response->reason), response->message);
        else if (response->reason != REASON_OK && response->reason != REASON_ALREADY_EXISTS)
            mirror->facts.not_before_ns = next_try_ns(engine, response, &mirror->failures);
        break;
    default:
        break;
    }
    if (done)
        keep_record(mirror, pending);
    else if (pending->record && !certainly_not_done(response->reason))
        mirror->record_unsure = true;
    // What it may have suspended is read, before another patch overwrites the record of that.
    mirror->facts.unsure |= pending->stops && !done && !certainly_not_done(response->reason);
}

void answer_handle(struct engine *engine, struct engine_event *event) {
    uint64_t id = event->answer.command;
    struct response *response = event->answer.response;
    uint64_t place = id & UINT32_MAX;
    if (place == 0 || place > engine->n_pending)
        return;
    struct pending *slot = &engine->pending[place - 1];
    if (!slot->used || slot->generation != (uint32_t)(id >> 32))
        return;
    struct pending pending = *slot;
    slot->used = false;
    slot->record = NULL;
    slot->next_free = engine->free_pending;
    engine->free_pending = (uint32_t)place;
    engine->in_flight--;
    struct entry *entry = pending.entry;
    static const enum verb verbs[] = {
        [PENDING_PLACE] = VERB_MERGE_PATCH,   [PENDING_CREATE] = VERB_CREATE,    [PENDING_UPDATE] = VERB_MERGE_PATCH,
        [PENDING_STATUS] = VERB_STATUS_PATCH, [PENDING_DELETE] = VERB_DELETE,    [PENDING_RELEASE] = VERB_MERGE_PATCH,
        [PENDING_VERIFY] = VERB_GET,          [PENDING_NAMESPACE] = VERB_CREATE, [PENDING_OWNER] = VERB_RAW_GET,
        [PENDING_WRITER] = VERB_RAW_GET};
    enum verb verb = verbs[pending.type];
    pacing_answered(engine, pending.cluster, verb == VERB_GET || verb == VERB_RAW_GET ? WINDOW_READ : WINDOW_WRITE,
                    response, event->answer.sent_ns ? engine->received_ns - event->answer.sent_ns : 0);
    rewound_answer(engine, &pending, response);
    if (response->object && response->object->too_large) { // a stub does not show what was written
        object_free(response->object);
        response->object = NULL;
    }
    engine->stats.clusters[pending.cluster].answers[verb][response->reason]++;
    if (pending.type == PENDING_WRITER)
        repeat_writer_answered(engine, entry, &pending, response);
    else if (pending.type == PENDING_PLACE || pending.type == PENDING_STATUS || pending.type == PENDING_OWNER)
        workload_answered(engine, entry, &pending, response);
    else
        mirror_answered(engine, entry, &pending, response);
    free(pending.record);
    queue_entry(engine, entry);
}
