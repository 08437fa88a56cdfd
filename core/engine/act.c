// SPDX-License-Identifier: Apache-2.0
// Reconciles one entry: calls decide() with its facts and turns the action into commands.
#include "core/engine/act.h"

#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/unknown.h"
#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"
#include "core/engine/fence/fence.h"
#include "core/engine/history/changes.h"
#include "core/engine/history/story.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/kueue/kueue_ticket.h"
#include "core/engine/limits/large_mirrors.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/mirror/act_update.h"
#include "core/engine/mirror/dropped.h"
#include "core/engine/mirror/finalizer.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/pause/pause.h"
#include "core/engine/pending/give_up.h"
#include "core/engine/pending/pending_mirror.h"
#include "core/engine/placement/completions.h"
#include "core/engine/placement/namespace_retry.h"
#include "core/engine/placement/placement_queue.h"
#include "core/engine/queue.h"
#include "core/engine/report/news.h"
#include "core/engine/report/report.h"
#include "core/engine/report/waiting.h"
#include "core/engine/request/answer_parts.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"
#include "core/engine/request/confirm.h"
#include "core/engine/request/pacing.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/final_status.h"
#include "core/engine/status/own_record.h"
#include "core/engine/status/repeat.h"
#include "core/engine/status/retry.h"
#include "core/engine/status/rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wharf_mirror_state mirror_state(const struct engine *engine, const struct entry *entry,
                                       const struct mirror *mirror) {
    if (mirror)
        return WHARF_MIRROR_PRESENT;
    return facts_worker_is_lost(engine, entry) ? WHARF_MIRROR_LOST : WHARF_MIRROR_NONE;
}

static void count_latency(struct engine *engine, const struct mirror *mirror) {
    if (!mirror || mirror->seen_ns == 0)
        return;
    histogram_add(&engine->stats.status_latency, STATS_STATUS_NS, engine->now.mono_ns - mirror->seen_ns);
}

static bool do_status(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = facts_followed_mirror(engine, entry);
    if (mirror && mirror->facts.too_large) { // reported already
        entry->workload->facts.status_due = false;
        return true;
    }
    bool last = !mirror && decide_has_final_status(&entry->workload->facts);
    AUTO_JSON said = last ? final_status_tree(entry) : NULL;
    struct adapter_call call;
    call_begin(engine, entry, last ? WHARF_MIRROR_PRESENT : mirror_state(engine, entry, mirror), &call);
    struct mirror_context context = call_context(engine, entry, mirror, &call);
    if (last)
        context.mirror = said;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    enum carry_state carry = mirror ? mirror->carry : CARRY_UNKNOWN;
    context.carry = &carry;
    bool known = context.workload && (context.mirror || (!mirror && !last));
    wharf_result result = known ? mirror_status(&context, &patch, &wanted) : WHARF_RETRY;
    if (mirror)
        mirror->carry = (uint8_t)carry;
    if (result != WHARF_OK)
        entry->workload->facts.not_before_ns =
            call_failed(engine, entry, result, &call, "CopyStatus", &entry->workload->refusals);
    adapter_call_end(&call);
    if (result != WHARF_OK)
        return true;
    entry->workload->refusals = 0;
    uint64_t hash = patch ? mirror_patch_hash(patch) : 0;
    if (patch && hash == entry->workload->denied_status_hash &&
        entry->workload->denied_until_ns > engine->now.mono_ns) {
        entry->workload->facts.not_before_ns = entry->workload->denied_until_ns;
        return true;
    }
    entry->workload->facts.status_due = entry->workload->facts.status_held = entry->workload->uncompared = false;
    // The same patch was accepted and changed nothing: the server drops those fields.
    if (patch && hash == entry->workload->noop_patch_hash)
        return true;
    entry->workload->noop_patch_hash = 0;
    if (!patch)
        repeat_nothing_to_write(entry, wanted);
    uint32_t source = patch ? repeat_source(entry, context.mirror) : 0;
    if (!patch || !repeat_may_write(engine, entry, source))
        return true;
    bool own = (engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (!command_send_patch(engine, entry, NULL, patch,
                            (struct command_spec){.type = PENDING_STATUS,
                                                  .verb = own ? VERB_STATUS_PATCH : VERB_MERGE_PATCH,
                                                  .patch_hash = hash,
                                                  .wanted = wanted,
                                                  .source = source,
                                                  .attempt = entry->workload->facts.attempt,
                                                  .is_final = mirror ? mirror->facts.finished : last})) {
        entry->workload->facts.status_due = true;
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    pause_status_sent(engine, entry->kind);
    count_latency(engine, mirror);
    if (mirror)
        mirror->seen_ns = 0;
    return true;
}

// The mirror exists already: it is recorded in the annotations, not placed.
static bool is_there(const struct entry *entry, const struct action *action) {
    const struct mirror *mirror = entry_mirror(entry, action->cluster);
    return mirror && mirror->facts.present && mirror->facts.of_workload && mirror->facts.attempt == action->attempt;
}

// For its story.
static enum outcome why_it_leaves(const struct engine *engine, const struct entry *entry) {
    if (entry->workload->pending && entry->workload->pending->withdrawn_attempt &&
        entry->workload->pending->withdrawn_attempt == entry->workload->facts.attempt)
        return OUTCOME_WITHDRAWN;
    if (entry->workload->facts.attempt == 0 || entry->workload->facts.gone_attempt == entry->workload->facts.attempt)
        return entry->workload->facts.drained_attempt &&
                       entry->workload->facts.drained_attempt == entry->workload->facts.attempt
                   ? OUTCOME_DRAINED
                   : OUTCOME_DELETED;
    return facts_worker_is_lost(engine, entry) ? OUTCOME_LOST : OUTCOME_REPLACED;
}

// Its worker may be removed and added again before the next mirror is created.
static void note_given_up(const struct engine *engine, struct entry *entry, const struct action *action) {
    if (entry->workload->facts.attempt == 0 || entry->workload->facts.attempt == action->attempt ||
        !facts_worker_is_lost(engine, entry))
        return;
    const char *name = facts_worker_name(engine, entry);
    uint32_t hash = name ? decide_name_hash(name) : DECIDE_GIVEN_UP_SEVERAL;
    bool other = entry->workload->facts.given_up && entry->workload->facts.given_up != hash;
    entry->workload->facts.given_up = other ? DECIDE_GIVEN_UP_SEVERAL : hash;
}

// Rule 4: uid and resourceVersion are preconditions.
static bool do_place(struct engine *engine, struct entry *entry, const struct action *action) {
    if (action->attempt > MIRROR_ATTEMPT_MAX) {
        report_event(engine, entry, true, "TooManyAttempts", "Place",
                     MARK_ATTEMPT " is %u, the maximum: it is not placed again until the annotation is lowered",
                     entry->workload->facts.attempt);
        entry->workload->facts.not_before_ns = engine->now.mono_ns + 10 * CLOCK_MINUTE;
        return true;
    }
    if (entry->workload->facts.attempt == 0 && !is_there(entry, action) &&
        (!act_accepts(engine, entry) || !kueue_permits(engine, entry)))
        return true;
    char body[640];
    const char *name = engine->names[action->cluster];
    int len =
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"annotations\":{\"" MARK_CLUSTER
                 "\":\"%s\",\"" MARK_ATTEMPT "\":\"%u\"},\"labels\":{\"" MARK_CLUSTER "\":\"%s\"}}}",
                 entry->workload->uid, doc_version(&engine->store, &entry->workload->doc), name, action->attempt, name);
    if (len < 0 || (size_t)len >= sizeof body) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    entry->busy =
        command_send(engine, entry,
                     &(struct command_spec){.type = PENDING_PLACE,
                                            .verb = VERB_MERGE_PATCH,
                                            .body = body,
                                            .body_len = (size_t)len,
                                            .attempt = action->attempt,
                                            .was_clean = !entry_mirror(entry, action->cluster) ||
                                                         !entry_mirror(entry, action->cluster)->doc.text.own});
    if (!entry->busy) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    if (action->attempt != entry->workload->facts.attempt)
        story_leaves(entry, why_it_leaves(engine, entry));
    note_given_up(engine, entry, action);
    // A write that was rejected is repeated: that is the same placement.
    bool again = entry->workload->requested_attempt == action->attempt;
    entry->workload->requested_cluster = (uint32_t)action->cluster;
    entry->workload->requested_attempt = action->attempt;
    entry->workload->had_choice = action->had_choice;
    if (action->attempt > 1 && entry->workload->facts.attempt && entry->workload->facts.attempt != action->attempt) {
        engine->stats.replacements += !again;
        bool hot = !again && repeat_placed(engine, entry);
        if (!hot && entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER)
            unknown_placed_again(engine, entry, action);
        else if (!hot)
            news_rescheduled(engine, entry, action);
    } else if (action->attempt != entry->workload->facts.attempt) {
        engine->stats.placements += !again;
    }
    pending_placed(engine, entry, action->cluster);
    // Counted immediately, so that a burst of placements spreads over the workers.
    cluster_count_active(engine, entry, (uint32_t)action->cluster);
    capacity_placed(engine, entry, action->cluster);
    return true;
}

// An earlier process placed it, and may have created a mirror without a seal that this one knows; a worker that rejects
// the create would not show that it exists.
static bool has_to_be_asked_for(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    return seal_keys_any(engine->seals) && entry->workload->placed_attempt != entry->workload->facts.attempt &&
           !mirror->facts.absent_ns;
}

static bool do_create(struct engine *engine, struct entry *entry, const struct action *action) {
    struct mirror *mirror = entry_make_mirror(entry, action->cluster);
    if (!mirror) {
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    if (has_to_be_asked_for(engine, entry, mirror)) {
        mirror->facts.unsure = true;
        return true;
    }
    if (!own_record(entry) && !act_accepts(engine, entry)) {
        mirror->facts.not_before_ns = entry->workload->facts.not_before_ns;
        return true;
    }
    if (!kueue_permits(engine, entry)) { // not known to a restarted host
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    struct mirror_record record = {.bare = entry->workload->kueue == KUEUE_ADMITTED && !engine->settings.kueue_carried};
    AUTO_JSON body = NULL;
    context.record = &record;
    wharf_result result = context.workload ? mirror_make(&context, &body) : WHARF_RETRY;
    if (result == WHARF_OK && entry->workload->doc.text.len >= ENGINE_LARGE)
        result = act_check_body(&call, body);
    if (result != WHARF_OK)
        mirror->facts.not_before_ns = call_failed(engine, entry, result, &call, "CreateMirror", &mirror->denials);
    else
        call_report_message(engine, entry, &call, "CreateMirror");
    adapter_call_end(&call);
    if (result != WHARF_OK) {
        mirror_record_cleanup(&record);
        return true;
    }
    mirror->denials = 0;
    struct json *annotations = json_get(json_get(body, "metadata"), "annotations");
    (void)json_set(annotations, MARK_VERSION, json_new_string(doc_version(&engine->store, &entry->workload->doc)));
    if (!mirror->tried && dropped_are_refused(engine, entry)) {
        struct command_spec trial = {.type = PENDING_TRIAL,
                                     .verb = VERB_CREATE,
                                     .cluster = mirror->facts.cluster,
                                     .attempt = entry->workload->facts.attempt,
                                     .wanted = entry->workload->carry_hash};
        if (!command_send_patch(engine, entry, mirror, body, trial))
            queue_retry_soon(engine, &mirror->facts.not_before_ns);
        mirror_record_cleanup(&record);
        return true;
    }
    mirror->tried = false; // for the next one
    struct command_spec spec = {.type = PENDING_CREATE,
                                .verb = VERB_CREATE,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->workload->facts.attempt,
                                .wanted = entry->workload->carry_hash,
                                .record = &record.next,
                                .was_clean = entry->workload->facts.clean_attempt == entry->workload->facts.attempt};
    if (!command_send_patch(engine, entry, mirror, body, spec))
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else
        entry->workload->facts.clean_attempt = 0;
    if (mirror->facts.busy)
        completions_created(engine, entry);
    if (mirror->facts.busy && !own_record(entry)) {
        own_record_accept(engine, entry);
        capacity_placed(engine, entry, mirror->facts.cluster);
    }
    if (spec.was_clean)
        mirror->facts.unanswered_ns = 0;
    else if (mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // another process's requests are not known
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    mirror_record_cleanup(&record);
    return true;
}

// It runs, and is deleted only to be placed elsewhere.
static bool is_drained(const struct entry *entry, const struct mirror *mirror) {
    return entry->workload->facts.exists && !entry->workload->facts.finished && !entry->workload->facts.being_deleted &&
           mirror == facts_placed_mirror(entry);
}

// Why a mirror is deleted; NULL: its workload has finished.
static const char *stale_because(const struct entry *entry, const struct mirror *mirror) {
    if (!entry->workload->facts.exists)
        return "its workload is gone";
    if (entry->workload->facts.being_deleted)
        return "its workload is being deleted";
    if (!mirror->facts.of_workload)
        return "it belongs to an earlier workload of this name";
    if (is_drained(entry, mirror))
        return "its worker is drained";
    return mirror == facts_placed_mirror(entry) ? NULL : "it does not belong to the current attempt";
}

static void report_deletion(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    const char *stale = stale_because(entry, mirror);
    if (!mirror->was_of_workload)
        report_log(engine, LOG_WARN, mirror->facts.cluster, entry->kind,
                   "orphan %s (uid %s) is deleted: its workload %s does not exist", entry->key, mirror->uid,
                   mirror->workload_uid);
    else if (mirror->facts.of_workload && mirror->facts.attempt > entry->workload->facts.attempt &&
             entry->workload->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        report_event(
            engine, entry, true, "SecondMirror", "DeleteMirror",
            "two mirrors exist: that of attempt %u in cluster %s is deleted, that of attempt %u in cluster %s stays",
            mirror->facts.attempt, engine->names[mirror->facts.cluster], entry->workload->facts.attempt,
            engine->names[entry->workload->facts.cluster]);
    else if (is_drained(entry, mirror))
        report_event(engine, entry, false, "Drained", "DeleteMirror",
                     "cluster %s is drained: the mirror of attempt %u is deleted there, and %s",
                     engine->names[mirror->facts.cluster], entry->workload->facts.attempt,
                     entry->workload->facts.suspended ? "none is created before it is resumed"
                                                      : "another one is created in another cluster once it is gone");
    else if (stale)
        report_mirror(engine, LOG_INFO, entry, mirror, "the mirror of attempt %u (uid %s) is deleted: %s",
                      mirror->facts.attempt, mirror->uid, stale);
}

// Rules 3 and 4: the uid is a precondition; of one that is deleted because it runs, also what was seen of it: it may
// have finished since, and would run again.
static bool do_delete(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    char body[320], version[64] = "";
    const char *seen = doc_version(&engine->store, &mirror->doc);
    if (is_drained(entry, mirror) && strcmp(seen, STORE_VERSION_NONE) != 0)
        snprintf(version, sizeof version, ",\"resourceVersion\":\"%.40s\"", seen);
    int len = snprintf(body, sizeof body,
                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
                       "\"preconditions\":{\"uid\":\"%s\"%s}}",
                       mirror->uid, version);
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = PENDING_DELETE,
                                                             .verb = VERB_DELETE,
                                                             .cluster = mirror->facts.cluster,
                                                             .body = body,
                                                             .body_len = (size_t)len});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else if (!entry->workload->facts.exists && mirror->failures == 0)
        engine->stats.orphans++;
    if (mirror->facts.busy && is_drained(entry, mirror))
        entry->workload->facts.drained_attempt = entry->workload->facts.attempt;
    if (mirror->facts.busy && mirror->failures == 0)
        report_deletion(engine, entry, mirror);
    return true;
}

// Rule 2: only in the state that was seen, in which it had not started.
static bool do_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    AUTO_BUFFER(body, 512);
    if (!pending_withdraw(engine, entry, mirror, &body)) {
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
        return true;
    }
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = PENDING_DELETE,
                                                             .verb = VERB_DELETE,
                                                             .cluster = mirror->facts.cluster,
                                                             .body = body.data,
                                                             .body_len = body.len,
                                                             .withdraws = true});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else
        pending_withdrawn(engine, entry, mirror);
    return true;
}

static bool do_verify(struct engine *engine, struct entry *entry, size_t cluster) {
    struct mirror *mirror = entry_make_mirror(entry, cluster);
    if (!mirror) {
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    bool earlier = entry->workload->facts.cluster == cluster &&
                   entry->workload->facts.clean_attempt != entry->workload->facts.attempt;
    if (earlier && mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // as for a create
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    mirror->facts.busy = command_send(
        engine, entry,
        &(struct command_spec){.type = PENDING_VERIFY, .verb = VERB_GET, .cluster = mirror->facts.cluster});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}

static bool do_release(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    AUTO_JSON patch = object ? finalizer_patch_off(object) : NULL;
    struct command_spec spec = {.type = PENDING_RELEASE,
                                .verb = VERB_MERGE_PATCH,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->workload->facts.attempt};
    if (!patch || !command_send_patch(engine, entry, mirror, patch, spec))
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}

// Removes mirrors that do not exist and whose state is no longer needed.
static void drop_empty_mirrors(struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry), *next; m; m = next) {
        next = mirror_next(m);
        if (m->facts.present || m->facts.busy)
            continue;
        bool elsewhere = m->facts.cluster != entry->workload->facts.cluster && m->refusals == 0 && !m->facts.tried &&
                         !m->facts.unsure && !m->facts.may_exist;
        if (!entry->workload->facts.exists || entry->workload->facts.finished || elsewhere)
            entry_remove_mirror(&engine->store, entry, m);
    }
}

static bool perform(struct engine *engine, struct entry *entry, const struct action *action) {
    struct mirror *mirror = entry_mirror(entry, action->cluster);
    switch (action->type) {
    case ACTION_PLACE:
        return do_place(engine, entry, action);
    case ACTION_CREATE:
        return do_create(engine, entry, action);
    case ACTION_UPDATE:
        return act_update(engine, entry, mirror);
    case ACTION_STATUS:
        return do_status(engine, entry);
    case ACTION_DELETE:
        return action->withdraws ? do_withdraw(engine, entry, mirror) : do_delete(engine, entry, mirror);
    case ACTION_RELEASE:
        return do_release(engine, entry, mirror);
    case ACTION_VERIFY:
        return do_verify(engine, entry, action->cluster);
    case ACTION_READ:
        return confirm_read(engine, entry);
    case ACTION_GIVE_UP:
        return give_up(engine, entry);
    default:
        return false;
    }
}

static void forget(struct engine *engine, struct entry *entry) {
    namespace_retry_forget(engine, entry);
    store_remove(&engine->store, entry);
}

// Another host writes: only what is no longer needed is forgotten.
static void stand_by(struct engine *engine, struct entry *entry) {
    orphans_account(engine, entry);
    waiting_elsewhere(engine, entry);
    placement_queue_note(engine, entry, PLACEMENT_TURN_NONE);
    capacity_forget(engine, entry); // what it asks for waits, or is reserved, with the other host
    drop_empty_mirrors(engine, entry);
    pacing_begin(entry);
    pacing_end(entry);
    if (!entry->workload->facts.exists && !entry->mirrors && !entry->busy && entry->lookups == 0)
        forget(engine, entry);
}

// After each decision.
static void follow_workload(struct engine *engine, struct entry *entry, const struct action *action) {
    rival_check(engine, entry);
    capacity_follow(engine, entry, action->waiting == WAITING_CAPACITY);
    waiting_unplaced(engine, entry, action->waiting);
    waiting_update(engine, entry, action);
    changes_note(engine, entry, action);
    news_check(engine, entry, action);
    kueue_ticket_check(engine, entry);
}

void act_reconcile(struct engine *engine, struct entry *entry) {
    heap_remove(&engine->timers, &entry->timer); // what it still has to wait for is found anew
    own_record_count(engine, entry);
    large_mirrors_account(engine, entry);
    if (!shard_is_held(engine, entry)) {
        stand_by(engine, entry);
        return;
    }
    orphans_check(engine, entry);
    retry_if_due(engine, entry);
    fence_check(engine, entry);
    pending_check(engine, entry);
    answer_check_dropped(engine, entry);
    drop_empty_mirrors(engine, entry);
    // A lost worker may have been given up: the status is then no longer copied from the mirror.
    if (entry->workload->facts.exists && !entry->workload->facts.finished && facts_worker_is_lost(engine, entry))
        entry->workload->facts.status_due = true;
    pacing_begin(entry);
    struct action action;
    do {
        action = confirm_action(engine, entry, facts_decide(engine, entry));
        report_decision(engine, entry, &action);
    } while (!pacing_admits(engine, entry, &action) || perform(engine, entry, &action));
    pacing_end(entry);
    entry->blocked = action.blocked;
    entry->why = action.why;
    if (entry->workload->facts.exists)
        follow_workload(engine, entry, &action);
    if (action.type == ACTION_FORGET && !entry->busy && entry->lookups == 0) {
        forget(engine, entry);
        return;
    }
    if (action.type == ACTION_WAIT)
        queue_wake(engine, entry, action.at_ns);
}
