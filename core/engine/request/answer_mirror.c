// SPDX-License-Identifier: Apache-2.0
// Answers to requests about mirrors.
#include "core/engine/request/answer_parts.h"

#include "core/engine/facts.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/mirror/dropped.h"
#include "core/engine/mirror/marks.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/observe.h"
#include "core/engine/observe/observe_parts.h"
#include "core/engine/part.h"
#include "core/engine/placement/namespace_retry.h"
#include "core/engine/placement/namespaces.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/request/pacing.h"
#include "core/engine/status/repeat.h"
#include "core/engine/store/backoff.h"
#include "core/engine/unstarted/unstarted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GONE_SOON_NS (200 * CLOCK_MS) // to poll a deletion that no watch shows
#define GONE_LATER_NS (10 * CLOCK_SECOND)
#define FAILURES_REPORTED 4 // transient failures of a create before they are reported

static void exclude(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *reason,
                    const char *message) {
    if (mirror->refusals < UINT16_MAX)
        mirror->refusals++;
    mirror->facts.excluded_until_ns =
        engine->now.mono_ns + backoff_ns(engine, mirror->refusals, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    namespace_retry_wait(engine, entry, mirror->facts.cluster, reason);
    attempt_history_rejected(engine, entry, mirror, reason, message);
    report_event(engine, entry, true, reason, "CreateMirror", "cluster %s rejected the mirror: %s",
                 engine->clusters[mirror->facts.cluster].name, message);
}

static void create_namespace(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    char space[254], body[512];
    entry_namespace(entry, space);
    int len = snprintf(body, sizeof body,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", space);
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = REQUEST_NAMESPACE,
                                                             .verb = VERB_CREATE,
                                                             .cluster = mirror->facts.cluster,
                                                             .attempt = entry->workload->facts.attempt,
                                                             .body = body,
                                                             .body_len = (size_t)len});
}

// True: the stored mirror lacks marks. The host deletes the mirror and treats the worker like one that rejected it.
static bool refuse_marks(struct engine *engine, struct entry *entry, struct mirror *mirror,
                         const struct request_in_flight *request, uint16_t refusals) {
    const char *lost =
        entry->workload->facts.exists && mirror->facts.present && entry->workload->facts.attempt == request->attempt
            ? marks_lost(engine, entry, mirror, request->attempt)
            : NULL;
    if (!lost)
        return false;
    marks_adopt(entry, mirror, request->attempt);
    mirror->refusals = refusals;
    AUTO_TEXT message = text_format("a policy there removes or changes %s, which identifies mirrors; exempt it from "
                                    "the policy. The mirror is deleted",
                                    lost);
    exclude(engine, entry, mirror, "MarksTaken", message ? message : lost);
    return true;
}

static uint32_t source_of(uint64_t carry_hash) {
    uint32_t hash = (uint32_t)(carry_hash ^ carry_hash >> 32);
    return hash ? hash : 1;
}

// A worker that drops fields. True: the fields are required, and the host deletes the mirror.
static bool refuse_dropped(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt,
                           uint16_t refusals) {
    AUTO_BUFFER(fields, DROPPED_TEXT_MAX);
    const struct json *stored = doc_tree(&engine->store, &mirror->doc);
    bool current = entry->workload->facts.exists && mirror->facts.present && !mirror->unmarked &&
                   entry->workload->facts.attempt == attempt;
    if (!current || !stored || dropped_of(engine, entry, stored, &fields) == 0)
        return false;
    mirror->dropping_reported = true;
    const char *names = fields.len > 0 ? fields.data : "fields";
    if (!dropped_are_refused(engine, entry)) {
        report_event(engine, entry, true, "FieldsDropped", "CreateMirror",
                     "cluster %s does not keep %s of the mirror: its API server does not know them, or a policy there "
                     "removes them",
                     engine->clusters[mirror->facts.cluster].name, names);
        return false;
    }
    mirror->facts.marks_stripped = true;
    mirror->refusals = refusals;
    AUTO_TEXT message = text_format("it does not keep %s, although the trial before kept them "
                                    "(requireFields). The mirror, which may have begun to run, is deleted",
                                    names);
    exclude(engine, entry, mirror, "FieldsDropped", message ? message : names);
    return true;
}

// Left out under load: not worth a third of the requests for a short workload.
static void report_created(struct engine *engine, struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    if (mirror->created_reported == attempt)
        return;
    mirror->created_reported = attempt;
    if (pacing_is_calm(engine, ENGINE_MANAGEMENT))
        report_event(engine, entry, false, "Dispatched", "CreateMirror", "created in cluster %s (attempt %u)",
                     engine->clusters[mirror->facts.cluster].name, attempt);
    else
        engine->stats.events_dropped++;
}

static void count_dispatch(struct engine *engine, struct entry *entry, uint32_t attempt) {
    if (!entry->workload->facts.exists)
        return;
    if (entry->workload->ready_ns > 0 && attempt == 1)
        histogram_add(&engine->stats.dispatch_latency, STATS_DISPATCH_NS,
                      engine->received_ns - entry->workload->ready_ns);
    entry->workload->ready_ns = 0;
}

// A create or dry-run create was rejected or failed.
static void not_created(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        const struct response *response) {
    if (response->reason == REASON_ALREADY_EXISTS) {
        mirror->facts.unsure = !mirror->facts.present;
        int64_t again_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (mirror->failures > 1) // a read found nothing
            mirror->facts.not_before_ns = again_ns;
    } else if (response->reason == REASON_NAMESPACE_NOT_FOUND && engine->settings.create_namespaces) {
        create_namespace(engine, entry, mirror);
    } else if (reason_is_permanent(response->reason)) {
        exclude(engine, entry, mirror, reason_text(response->reason), response->message);
    } else {
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        // Reads the mirror by name; if absent, and no create can still take effect, the host may reschedule the
        // workload.
        mirror->facts.unsure |= mirror->failures >= FAILURES_REPORTED;
        if (mirror->failures >= FAILURES_REPORTED)
            report_event(engine, entry, true, reason_text(response->reason), "CreateMirror",
                         "cluster %s fails to create the mirror, which is retried: %s",
                         engine->clusters[mirror->facts.cluster].name, response->message);
    }
}

// The workload was made anew while the create was in flight. The marks keep the mirror from passing for that of the
// new workload.
static void of_former_workload(struct entry *entry, struct mirror *mirror) {
    if (mirror->unmarked) {
        mirror->workload_uid[0] = '\0';
        observe_set_of_workload(entry, mirror);
    }
}

static void created(struct engine *engine, struct entry *entry, struct mirror *mirror,
                    const struct request_in_flight *request, struct response *response) {
    if (entry->workload->facts.exists && request->was_clean && answer_certainly_not_done(response->reason) &&
        entry->workload->facts.attempt == request->attempt &&
        entry->workload->facts.cluster == request->cluster) // else another create may have followed
        entry->workload->facts.clean_attempt = entry->workload->facts.attempt;
    mirror->facts.may_exist |= !answer_certainly_not_done(response->reason);
    uint32_t source = source_of(request->wanted);
    if (!answer_certainly_not_done(response->reason))
        mirror->unchecked_source = source;
    if (response->reason == REASON_OK && response->object) {
        bool comparable = source == source_of(entry->workload->carry_hash);
        if (comparable)
            mirror->unchecked_source = 0;
        uint16_t refusals = mirror->refusals;
        uint64_t version = text_hash(TEXT_HASH, object_version(response->object->value));
        mirror->failures = 0;
        answer_observe(engine, entry, mirror, response);
        mirror->facts.proven = true;
        if (request->workload != text_hash(TEXT_HASH, entry->workload->uid)) {
            mirror->unchecked_source = 0;
            of_former_workload(entry, mirror);
            return;
        }
        if (refuse_marks(engine, entry, mirror, request, refusals) ||
            (comparable && refuse_dropped(engine, entry, mirror, request->attempt, refusals)))
            return;
        if (mirror->unmarked) // placed elsewhere meanwhile
            mirror->facts.attempt = request->attempt;
        else if (request->wanted == entry->workload->carry_hash && answer_is_newest(engine, &mirror->doc, version))
            mirror->facts.update_due = false; // no change of the workload or the mirror since
        count_dispatch(engine, entry, request->attempt);
        report_created(engine, entry, mirror, request->attempt);
    } else {
        not_created(engine, entry, mirror, response);
        if (!answer_is_heard(response->reason))
            mirror->facts.unanswered_ns = engine->now.mono_ns;
    }
}

void answer_check_dropped(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = entry_mirror(entry, entry->workload->facts.cluster);
    if (!mirror || !mirror->unchecked_source || mirror->facts.busy || mirror != facts_placed_mirror(entry))
        return;
    if (mirror->unchecked_source != source_of(entry->workload->carry_hash) && mirror->facts.update_due)
        return; // the workload has changed since: wait until the change is carried
    mirror->unchecked_source = 0;
    if (!mirror->facts.finished)
        (void)refuse_dropped(engine, entry, mirror, mirror->facts.attempt, mirror->refusals);
}

// The server rejects a dry-run create: a webhook has side effects.
static bool cannot_be_tried(const struct response *response) {
    return response->reason == REASON_BAD_REQUEST && strstr(response->message, "does not support dry run");
}

static void tried(struct engine *engine, struct entry *entry, struct mirror *mirror,
                  const struct request_in_flight *request, struct response *response) {
    AUTO_BUFFER(fields, DROPPED_TEXT_MAX);
    bool current = request->wanted == entry->workload->carry_hash && request->attempt == entry->workload->facts.attempt;
    size_t dropped = current && response->value ? dropped_of(engine, entry, response->value, &fields) : 0;
    if (dropped > 0) {
        AUTO_TEXT message = text_format("it does not keep %s, which requireFields asks for; nothing was created",
                                        fields.len > 0 ? fields.data : "all fields");
        exclude(engine, entry, mirror, "FieldsDropped", message ? message : "it does not keep all fields");
    } else if (response->reason == REASON_OK || cannot_be_tried(response)) {
        mirror->failures = 0;
        mirror->tried = current;
    } else if (response->reason == REASON_BAD_REQUEST && strstr(response->message, "unknown field")) {
        exclude(engine, entry, mirror, "FieldsDropped", response->message);
    } else {
        not_created(engine, entry, mirror, response);
    }
}

// A read by name found nothing.
static void known_absent(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    bool heard = decide_absent_at_ns(&mirror->facts, engine->settings.worker_lost_timeout_ns) <= engine->now.mono_ns;
    bool existed =
        *mirror->uid != '\0' && mirror->facts.of_workload && mirror->facts.attempt == entry->workload->facts.attempt;
    if (existed && mirror->facts.cluster == entry->workload->facts.cluster)
        entry->workload->facts.gone_attempt = entry->workload->facts.attempt;
    else if (!existed && mirror->failures >= FAILURES_REPORTED && heard)
        exclude(engine, entry, mirror, "CreateFailed", "creates keep failing there and the object does not exist");
}

// The object has the marks of this very attempt: an earlier process may have created the object without a seal, or
// with another key. A second mirror would run beside that object.
static bool may_be_ours(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                        const struct json *object) {
    return mirror_is_ours(engine->kinds[entry->kind], engine->origin, object) &&
           mirror->facts.cluster == entry->workload->facts.cluster &&
           mirror_attempt(object) == entry->workload->facts.attempt &&
           entry->workload->placed_attempt != entry->workload->facts.attempt &&
           text_equal(object_label(object, MARK_UID), entry->workload->uid);
}

static void wait_for_seal(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->refusals < UINT16_MAX)
        mirror->refusals++;
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns =
        engine->now.mono_ns + backoff_ns(engine, mirror->refusals, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    report_event(engine, entry, true, "NotSealed", "CreateMirror",
                 "cluster %s has an object with the marks of its mirror but no valid seal: no mirror is created until "
                 "that object is deleted or sealed (without a seal it may be from before there was a key: a start with "
                 "seal.adoptUnsealed: true seals it)",
                 engine->clusters[mirror->facts.cluster].name);
}

// The watch does not show a mirror without marks: without the host's finalizer, only polling shows its deletion.
static void ask_again(const struct engine *engine, struct mirror *mirror, int64_t after_ns) {
    if (!mirror->unmarked || !mirror->facts.being_deleted || mirror->facts.finalizer)
        return;
    mirror->facts.unsure = true;
    mirror->facts.not_before_ns = engine->now.mono_ns + after_ns;
}

static void verified(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    if (response->reason == REASON_NOT_FOUND) {
        if (mirror->facts.present && !mirror->facts.unsure)
            return; // seen since
        mirror->facts.unsure = mirror->facts.may_exist = false;
        mirror->facts.absent_ns = engine->now.mono_ns;
        if (mirror->facts.present)
            observe_mirror_gone(engine, entry, mirror, true);
        else
            known_absent(engine, entry, mirror);
        return;
    }
    if (response->reason != REASON_OK || !response->object) {
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (reason_is_permanent(response->reason)) // the watch will show the change
            mirror->facts.may_exist = false;
        return;
    }
    mirror->facts.may_exist = false;
    struct object *object = answer_take_object(response);
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    if (ownership != OWNERSHIP_NONE) {
        uint64_t before = mirror->facts.present ? text_hash(TEXT_HASH, doc_version(&engine->store, &mirror->doc)) : 0;
        observe_mirror(engine, entry, mirror, object, ownership);
        if (!answer_is_newest(engine, &mirror->doc, before)) // else the same patch would fail again
            mirror->failures = 0;
        mirror->facts.unsure = false;
        ask_again(engine, mirror, GONE_LATER_NS);
        return;
    }
    if (mirror->facts.present) // the name was reused; without marks no watch shows that
        observe_mirror_gone(engine, entry, mirror, true);
    bool maybe = may_be_ours(engine, entry, mirror, object->value);
    object_free(object);
    mirror->failures = 0;
    mirror->facts.unsure = false;
    if (maybe && !*mirror->uid) {
        wait_for_seal(engine, entry, mirror);
        return;
    }
    if (*mirror->uid && mirror->facts.of_workload && mirror->facts.attempt == entry->workload->facts.attempt)
        entry->workload->facts.gone_attempt = entry->workload->facts.attempt; // deleted, and the name was reused
    engine->stats.conflicts++;
    exclude(engine, entry, mirror, "NameConflict", "a foreign object of the same name exists");
}

static void updated(struct engine *engine, struct entry *entry, struct mirror *mirror,
                    const struct request_in_flight *request, struct response *response) {
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = mirror->refused ? mirror->failures : 0;
        uint64_t version = text_hash(TEXT_HASH, object_version(response->object->value));
        answer_observe(engine, entry, mirror, response);
        if (request->piece == PIECE_WHOLE)
            repeat_updated(mirror, request);
        if (request->marks && !mirror->facts.finished)
            refuse_marks(engine, entry, mirror, request, mirror->refusals);
        mirror->facts.update_due = true; // compare once more: the server may have changed the fields
        mirror->noop_patch_hash = answer_is_newest(engine, &mirror->doc, version) ? request->patch_hash : 0;
        mirror->uncompared = true;
        return;
    }
    mirror->facts.update_due = true;
    bool piece = request->piece != PIECE_WHOLE && mirror->refused && reason_is_permanent(response->reason);
    int64_t next_ns = piece ? mirror->refused->until_ns : answer_next_try_ns(engine, response, &mirror->failures);
    if (response->reason == REASON_NOT_FOUND)
        mirror->facts.unsure = true;
    if (!reason_is_permanent(response->reason)) {
        mirror->facts.not_before_ns = next_ns;
        return;
    }
    // Does not delay the deletion, the other pieces, or another change.
    bool noted = rejections_add(&mirror->refused, request->patch_hash, response, next_ns);
    mirror->facts.update_at_ns = noted ? 0 : next_ns;
}

// The mirror now has the fields that were sent.
static void keep_record(struct mirror *mirror, struct request_in_flight *request) {
    if (!request->record)
        return;
    free(mirror->record);
    mirror->record = request->record;
    mirror->record_unsure = false;
    request->record = NULL;
}

static void released(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    if (response->reason == REASON_OK && response->object) {
        mirror->failures = 0;
        answer_observe(engine, entry, mirror, response);
        mirror->facts.finalizer = false;
        ask_again(engine, mirror, GONE_SOON_NS);
        return;
    }
    mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
    // The watch may lag, and does not show a mirror without marks.
    mirror->facts.unsure |= response->reason == REASON_NOT_FOUND || response->reason == REASON_CONFLICT;
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "DeleteMirror",
                     "cluster %s rejected the removal of the finalizer " MARK_FINALIZER ": %s",
                     engine->clusters[mirror->facts.cluster].name, response->message);
}

static void deleted(struct engine *engine, struct entry *entry, struct mirror *mirror,
                    const struct request_in_flight *request, struct response *response) {
    switch (response->reason) {
    case REASON_OK:
        mirror->failures = 0;
        mirror->facts.being_deleted = true; // the watch will show the deletion
        ask_again(engine, mirror, GONE_SOON_NS);
        break;
    case REASON_NOT_FOUND:
        observe_mirror_gone(engine, entry, mirror, true);
        break;
    default:
        mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        if (request->withdraws && answer_certainly_not_done(response->reason))
            unstarted_kept(entry, mirror, response->reason);
        mirror->facts.unsure |= response->reason == REASON_CONFLICT; // a changed object, or another one
        if (reason_is_permanent(response->reason))
            report_event(engine, entry, true, reason_text(response->reason), "DeleteMirror",
                         "cluster %s rejected the deletion of the mirror: %s",
                         engine->clusters[mirror->facts.cluster].name, response->message);
    }
}

// The object was deleted while the request was in flight, before which the answer was made.
static bool is_older(const struct mirror *mirror, const struct request_in_flight *request,
                     const struct response *response) {
    if (request->type == REQUEST_DELETE || request->type == REQUEST_RELEASE)
        return true;
    bool same = response->object && strcmp(mirror->uid, object_uid(response->object->value)) == 0;
    return response->object && same == !mirror->facts.present;
}

void answer_of_mirror(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                      struct response *response) {
    struct mirror *mirror = entry_mirror(entry, request->cluster);
    if (!mirror)
        return;
    mirror->facts.busy = false;
    bool outdated = mirror->outdated;
    mirror->outdated = false;
    if (outdated && is_older(mirror, request, response)) {
        if (!mirror->facts.present && request->type != REQUEST_DELETE && request->type != REQUEST_RELEASE)
            mirror->facts.unsure = true;
        return;
    }
    bool done = response->reason == REASON_OK && response->object;
    switch (request->type) {
    case REQUEST_CREATE:
        created(engine, entry, mirror, request, response);
        break;
    case REQUEST_TRIAL:
        tried(engine, entry, mirror, request, response);
        break;
    case REQUEST_VERIFY:
        verified(engine, entry, mirror, response);
        break;
    case REQUEST_UPDATE:
        updated(engine, entry, mirror, request, response);
        break;
    case REQUEST_RELEASE:
        released(engine, entry, mirror, response);
        break;
    case REQUEST_DELETE:
        deleted(engine, entry, mirror, request, response);
        break;
    case REQUEST_NAMESPACE:
        if (reason_is_permanent(response->reason))
            exclude(engine, entry, mirror, reason_text(response->reason), response->message);
        else if (response->reason != REASON_OK && response->reason != REASON_ALREADY_EXISTS)
            mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        break;
    default:
        break;
    }
    if (done)
        keep_record(mirror, request);
    else if (request->record && !answer_certainly_not_done(response->reason))
        mirror->record_unsure = true;
    // Reads a possibly suspended mirror before another patch overwrites its record.
    mirror->facts.unsure |= request->stops && !done && !answer_certainly_not_done(response->reason);
}

const struct part part_dropped = {.name = "dropped fields", .before = answer_check_dropped};
