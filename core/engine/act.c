// SPDX-License-Identifier: Apache-2.0
// One entry is looked at: its facts are put before decide(), and what it says is turned into commands.
#include "core/engine/engine_internal.h"
#include "core/engine/kueue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED_BASE_NS (5 * CLOCK_SECOND) // of what the adapter or the host refuses
#define REFUSED_MAX_NS (10 * CLOCK_MINUTE)

void act_begin_call(const struct engine *engine, const struct entry *entry, wharf_mirror_state state,
                    struct adapter_call *call) {
    bool known = entry->facts.cluster && entry->facts.cluster != DECIDE_UNKNOWN_CLUSTER;
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = engine_feed(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    adapter_call_begin(call, &(struct call_context){
                                 .kind = &kind->abi,
                                 .given = kind->given,
                                 .adapter = kind->adapter ? kind->adapter->name : NULL,
                                 .now = engine->now,
                                 .cluster = known ? engine->names[entry->facts.cluster] : NULL,
                                 .attempt = entry->facts.attempt,
                                 .version = version ? version : kind->abi.versions[0], // not heard of it yet
                                 .object = entry->key,
                                 .mirror_state = state,
                                 .clock = engine->clock,
                             });
}

struct mirror *act_placed_mirror(const struct entry *entry) {
    return (struct mirror *)decide_placed(&(struct decide_facts){.workload = &entry->facts, .mirrors = entry->mirrors});
}

struct mirror *act_current_mirror(const struct engine *engine, const struct entry *entry) {
    struct decide_facts facts = facts_of(engine, entry);
    return (struct mirror *)decide_followed(&facts);
}

// It was placed in a worker that cannot be reached, or that the configuration does not have.
static bool is_out_of_reach(const struct engine *engine, const struct entry *entry) {
    return entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER ||
           (entry->facts.cluster && !engine->workers[entry->kind][entry->facts.cluster].connected);
}

static wharf_mirror_state mirror_state(const struct engine *engine, const struct entry *entry,
                                       const struct mirror *mirror) {
    if (mirror)
        return WHARF_MIRROR_PRESENT;
    return is_out_of_reach(engine, entry) ? WHARF_MIRROR_LOST : WHARF_MIRROR_NONE;
}

struct mirror_job act_job(struct engine *engine, struct entry *entry, struct mirror *mirror,
                          struct adapter_call *call) {
    size_t where = mirror                                           ? mirror->facts.cluster
                   : entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER ? ENGINE_MANAGEMENT
                                                                    : entry->facts.cluster;
    return (struct mirror_job){.kind = engine->kinds[entry->kind],
                               .origin = engine->origin,
                               .call = call,
                               .workload = doc_tree(&engine->store, &entry->doc),
                               .mirror = mirror ? doc_tree(&engine->store, &mirror->doc) : NULL,
                               .attempt = entry->facts.attempt,
                               .had_status = mirror && mirror->had_status,
                               .finalizer = engine->mirror_finalizer,
                               .seals = engine->seals,
                               .cluster = engine->names[where]};
}

int64_t act_not_ok(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                   const char *action, uint16_t *refusals) {
    engine->stats.kinds[entry->kind].adapter_errors++;
    if (result == WHARF_REFUSED) {
        command_note(engine, entry, true, adapter_answer_reason(call, "Refused"), action, "%s",
                     adapter_answer_message(call, "the adapter refused it without a reason"));
        if (*refusals < UINT16_MAX)
            (*refusals)++;
        return engine->now.mono_ns + answer_backoff_ns(engine, *refusals, REFUSED_BASE_NS, REFUSED_MAX_NS);
    }
    uint32_t retry_after_ms = call->answer.retry_after_ms;
    return engine->now.mono_ns + (retry_after_ms ? retry_after_ms * CLOCK_MS : CLOCK_SECOND);
}

// An adapter that did what it was asked for may still have something to say about it.
void act_note_remark(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action) {
    if (call->answer.message)
        command_note(engine, entry, true, adapter_answer_reason(call, "Incomplete"), action, "%s",
                     adapter_answer_message(call, "the adapter's remark cannot be shown"));
}

bool act_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                    struct command_spec spec) {
    size_t len = 0;
    AUTO_TEXT body = json_text(patch, &len);
    if (!body)
        return false;
    if (len > MIRROR_BODY_MAX && spec.type != PENDING_CREATE) {
        command_note(engine, entry, true, "TooLarge", mirror ? "CarryChange" : "CopyStatus",
                     "the change of its %s has %zu bytes, more than the %zu that an API server takes: it is not made",
                     mirror ? "mirror" : "status", len, MIRROR_BODY_MAX);
        return true;
    }
    spec.body = body;
    spec.body_len = len;
    uint64_t id = command_send(engine, entry, &spec);
    if (mirror)
        mirror->facts.busy = id;
    else
        entry->facts.busy = id;
    return id != 0;
}

// What a patch wants, without the precondition that changes from try to try.
uint64_t act_wish_hash(const struct json *patch) {
    uint64_t hash = 0;
    for (const struct json *m = json_first(patch); m; m = json_next(m))
        if (strcmp(json_key(m), "metadata") != 0)
            hash = hash * 31 + json_hash(m);
    for (const struct json *m = json_first(json_get(patch, "metadata")); m; m = json_next(m))
        if (strcmp(json_key(m), "resourceVersion") != 0)
            hash = hash * 31 + json_hash(m);
    return hash ? hash : 1;
}

void act_retry_soon(struct engine *engine, int64_t *not_before_ns) {
    *not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}

static void note_latency(struct engine *engine, const struct mirror *mirror) {
    if (!mirror || mirror->seen_ns == 0)
        return;
    struct stats *stats = &engine->stats;
    int64_t latency_ns = engine->now.mono_ns - mirror->seen_ns;
    size_t bucket = 0;
    while (bucket + 1 < STATS_BUCKETS && latency_ns > (INT64_C(50000) << bucket))
        bucket++;
    stats->status_latency[bucket]++;
    stats->status_latency_count++;
    stats->status_latency_sum_ns += latency_ns;
}

static bool do_status(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = act_current_mirror(engine, entry);
    if (mirror && mirror->facts.too_large) { // which was told
        entry->facts.status_due = false;
        return true;
    }
    bool last = !mirror && decide_has_final_status(&entry->facts);
    AUTO_JSON said = last ? last_word_tree(entry) : NULL;
    struct adapter_call call;
    act_begin_call(engine, entry, last ? WHARF_MIRROR_PRESENT : mirror_state(engine, entry, mirror), &call);
    struct mirror_job job = act_job(engine, entry, mirror, &call);
    if (last)
        job.mirror = said;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    enum carry_state carry = mirror ? mirror->carry : CARRY_UNKNOWN;
    job.carry = &carry;
    bool known = job.workload && (job.mirror || (!mirror && !last));
    wharf_result result = known ? mirror_status(&job, &patch, &wanted) : WHARF_RETRY;
    if (mirror)
        mirror->carry = (uint8_t)carry;
    if (result != WHARF_OK)
        entry->facts.not_before_ns = act_not_ok(engine, entry, result, &call, "CopyStatus", &entry->refusals);
    adapter_call_end(&call);
    if (result != WHARF_OK)
        return true;
    entry->refusals = 0;
    uint64_t wish = patch ? act_wish_hash(patch) : 0;
    if (patch && wish == entry->denied_status && entry->denied_until_ns > engine->now.mono_ns) {
        entry->facts.not_before_ns = entry->denied_until_ns;
        return true;
    }
    entry->facts.status_due = entry->facts.status_held = false;
    // The same patch was accepted and left the status as it was: the server does not keep it.
    if (patch && wish == entry->refused_patch)
        return true;
    entry->refused_patch = 0;
    if (!patch)
        repeat_nothing_to_write(engine, entry, wanted);
    uint32_t source = patch ? repeat_source(entry, job.mirror) : 0;
    if (!patch || !repeat_may_write(engine, entry, source))
        return true;
    bool own = (engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (!act_send_patch(engine, entry, NULL, patch,
                        (struct command_spec){.type = PENDING_STATUS,
                                              .verb = own ? VERB_STATUS_PATCH : VERB_MERGE_PATCH,
                                              .patch_hash = wish,
                                              .wanted = wanted,
                                              .source = source})) {
        entry->facts.status_due = true;
        act_retry_soon(engine, &entry->facts.not_before_ns);
        return true;
    }
    aside_status_sent(engine, entry->kind);
    note_latency(engine, mirror);
    if (mirror)
        mirror->seen_ns = 0;
    return true;
}

// The mirror that is to be written down was found: it is not placed, but remembered.
static bool is_there(const struct entry *entry, const struct action *action) {
    const struct mirror *mirror = entry_mirror(entry, action->cluster);
    return mirror && mirror->facts.present && mirror->facts.of_workload && mirror->facts.attempt == action->attempt;
}

static bool do_place(struct engine *engine, struct entry *entry, const struct action *action) {
    if (action->attempt > MIRROR_ATTEMPT_MAX) {
        command_note(engine, entry, true, "TooManyAttempts", "Place",
                     MARK_ATTEMPT " is %u, the highest there is: it is not placed again until somebody lowers it",
                     entry->facts.attempt);
        entry->facts.not_before_ns = engine->now.mono_ns + 10 * CLOCK_MINUTE;
        return true;
    }
    if (entry->facts.attempt == 0 && !is_there(entry, action) &&
        (!act_passes_trial(engine, entry) || !kueue_permits(engine, entry)))
        return true;
    char body[512];
    int len =
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"annotations\":{\"" MARK_CLUSTER
                 "\":\"%s\",\"" MARK_ATTEMPT "\":\"%u\"}}}",
                 entry->uid, doc_version(&engine->store, &entry->doc), engine->names[action->cluster], action->attempt);
    if (len < 0 || (size_t)len >= sizeof body) {
        act_retry_soon(engine, &entry->facts.not_before_ns);
        return true;
    }
    entry->facts.busy =
        command_send(engine, entry,
                     &(struct command_spec){.type = PENDING_PLACE,
                                            .verb = VERB_MERGE_PATCH,
                                            .body = body,
                                            .body_len = (size_t)len,
                                            .attempt = action->attempt,
                                            .was_clean = !entry_mirror(entry, action->cluster) ||
                                                         !entry_mirror(entry, action->cluster)->doc.text});
    if (!entry->facts.busy) {
        act_retry_soon(engine, &entry->facts.not_before_ns);
        return true;
    }
    entry->asked_cluster = (uint32_t)action->cluster;
    entry->asked_attempt = action->attempt;
    if (action->attempt > 1 && entry->facts.attempt && entry->facts.attempt != action->attempt) {
        engine->stats.replacements++;
        if (!repeat_placed(engine, entry))
            command_note(engine, entry, true, "PlacedAgain", "Place", "attempt %u goes to cluster %s: %s",
                         action->attempt, engine->names[action->cluster], action->why);
    } else if (action->attempt != entry->facts.attempt) {
        engine->stats.placements++;
    }
    // Counted at once, so that a burst of placements spreads over the workers.
    engine_count_active(engine, entry, (uint32_t)action->cluster);
    return true;
}

// An earlier process placed it, and what it may have made has no seal that this one knows: a worker that refuses a
// create would not tell that it is there.
static bool has_to_be_asked_for(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    return seal_keys_any(engine->seals) && entry->placed_attempt != entry->facts.attempt && !mirror->asked_for;
}

static bool do_create(struct engine *engine, struct entry *entry, const struct action *action) {
    struct mirror *mirror = entry_make_mirror(entry, action->cluster);
    if (!mirror) {
        engine_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    if (has_to_be_asked_for(engine, entry, mirror)) {
        mirror->facts.unsure = true;
        return true;
    }
    if (!kueue_permits(engine, entry)) { // a host that was started since does not know
        engine_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    struct adapter_call call;
    act_begin_call(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_job job = act_job(engine, entry, NULL, &call);
    struct mirror_record record = {.bare = entry->kueue == KUEUE_ADMITTED && !engine->kueue_carried};
    AUTO_JSON body = NULL;
    job.record = &record;
    wharf_result result = job.workload ? mirror_make(&job, &body) : WHARF_RETRY;
    if (result == WHARF_OK && entry->doc.len >= ENGINE_LARGE)
        result = act_check_body(&call, body);
    if (result != WHARF_OK)
        mirror->facts.not_before_ns = act_not_ok(engine, entry, result, &call, "CreateMirror", &mirror->denials);
    else
        act_note_remark(engine, entry, &call, "CreateMirror");
    adapter_call_end(&call);
    if (result != WHARF_OK) {
        mirror_record_cleanup(&record);
        return true;
    }
    mirror->denials = 0;
    struct command_spec spec = {.type = PENDING_CREATE,
                                .verb = VERB_CREATE,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->facts.attempt,
                                .wanted = entry->carry_hash,
                                .record = &record.next,
                                .was_clean = entry->facts.clean_attempt == entry->facts.attempt};
    if (!act_send_patch(engine, entry, mirror, body, spec))
        act_retry_soon(engine, &mirror->facts.not_before_ns);
    else
        entry->facts.clean_attempt = 0;
    if (spec.was_clean)
        mirror->unheard_ns = 0;
    else if (mirror->failures == 0 && mirror->unheard_ns == 0) // of what another process sent, nothing is known
        mirror->unheard_ns = engine->now.mono_ns;
    mirror_record_cleanup(&record);
    return true;
}

// Deletions that nobody would expect.
static void tell_deletion(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    if (!mirror->was_of_workload)
        engine_remark(engine, true, mirror->facts.cluster, entry->kind,
                      "mirror %s (uid %s) is deleted: its marks name workload %s, which is not there", entry->key,
                      mirror->uid, mirror->workload_uid);
    else if (mirror->facts.of_workload && mirror->facts.attempt > entry->facts.attempt &&
             entry->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        command_note(engine, entry, true, "SecondMirror", "DeleteMirror",
                     "the mirror of attempt %u in cluster %s is deleted: that of attempt %u in cluster %s stays",
                     mirror->facts.attempt, engine->names[mirror->facts.cluster], entry->facts.attempt,
                     engine->names[entry->facts.cluster]);
}

static bool do_delete(struct engine *engine, struct entry *entry, struct mirror *mirror, const char *why) {
    char body[256];
    int len = snprintf(body, sizeof body,
                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
                       "\"preconditions\":{\"uid\":\"%s\"}}",
                       mirror->uid);
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = PENDING_DELETE,
                                                             .verb = VERB_DELETE,
                                                             .cluster = mirror->facts.cluster,
                                                             .body = body,
                                                             .body_len = (size_t)len});
    if (!mirror->facts.busy)
        act_retry_soon(engine, &mirror->facts.not_before_ns);
    else if (strcmp(why, "orphan") == 0 && mirror->failures == 0)
        engine->stats.orphans++;
    if (mirror->facts.busy && mirror->failures == 0)
        tell_deletion(engine, entry, mirror);
    return true;
}

static bool do_verify(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    mirror->facts.busy = command_send(
        engine, entry,
        &(struct command_spec){.type = PENDING_VERIFY, .verb = VERB_GET, .cluster = mirror->facts.cluster});
    if (!mirror->facts.busy)
        act_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}

// Mirrors that are not there and of which nothing more needs to be known.
static void drop_empty_mirrors(struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry), *next; m; m = next) {
        next = mirror_next(m);
        if (m->facts.present || m->facts.busy)
            continue;
        bool elsewhere = m->facts.cluster != entry->facts.cluster && m->refusals == 0 && !m->facts.unsure;
        if (!entry->facts.exists || entry->facts.finished || elsewhere)
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
        return do_delete(engine, entry, mirror, action->why);
    case ACTION_RELEASE:
        finalizer_take_off(engine, entry, mirror);
        return true;
    case ACTION_VERIFY:
        return do_verify(engine, entry, mirror);
    default:
        return false;
    }
}

void act_on_entry(struct engine *engine, struct entry *entry) {
    orphans_look(engine, entry);
    drop_empty_mirrors(engine, entry);
    // A lost worker may have become a given-up one: then the status is the workload's own business again.
    if (entry->facts.exists && !entry->facts.finished && is_out_of_reach(engine, entry))
        entry->facts.status_due = true;
    struct action action;
    do {
        action = facts_decide(engine, entry);
    } while (perform(engine, entry, &action));
    entry->blocked = action.blocked;
    entry->why = action.why;
    waiting_look(engine, entry, &action);
    if (action.type == ACTION_FORGET && !entry->facts.busy && entry->asking == 0) {
        heap_remove(&engine->timers, &entry->timer);
        store_remove(&engine->store, entry);
        return;
    }
    if (action.type == ACTION_WAIT)
        engine_wake(engine, entry, action.at_ns);
}
