// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/rival.h"

#include "core/adapter/phase.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/facts.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/part.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/final_status.h"
#include "core/engine/status/repeat.h"
#include "core/engine/status/rival_state.h"
#include "core/engine/status/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FREE_QUESTIONS 2
#define FRESH_NS (10 * CLOCK_SECOND) // a write so much older than this host's last one is not the one in question

static uint32_t status_hash(const struct json *object) {
    const struct json *status = json_get(object, "status");
    uint64_t hash = json_is(status, JSON_OBJECT) && json_size(status) > 0 ? json_hash(status) : 0;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool is_disputed(const struct entry *entry) {
    const struct mirror *placed = facts_placed_mirror(entry);
    return decide_is_disputed(&entry->workload->facts, placed ? &placed->facts : NULL);
}

static void ask(struct engine *engine, struct entry *entry) {
    struct rival *rival = rival_make(entry);
    if (!rival || rival->asking)
        return;
    if (rival->questions.at_ns > engine->now.mono_ns) {
        queue_wake(engine, entry, rival->questions.at_ns);
        return;
    }
    throttle_next(&rival->questions, engine->now.mono_ns, FREE_QUESTIONS);
    rival->asking = writer_ask(engine, entry, ENGINE_MANAGEMENT, WRITER_STATUS);
    if (!rival->asking)
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

// A sign of it: the controller runs this workload.
static void mark(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    rival->seen_ns = engine->now.mono_ns;
    rival_sign(engine, entry);
    engine->stats.kinds[entry->kind].also_run += !rival->runs;
    rival->runs = true;
    queue_entry(engine, entry);
}

// A status that is neither known nor of a write in flight. While the outcome of a write is unknown, it may be that one;
// of a suspended workload, Kueue writes the status too.
static void judge_status(struct engine *engine, struct entry *entry, uint32_t hash) {
    if (hash == entry->workload->status.status_seen || entry->busy)
        return;
    entry->workload->status.status_seen = hash;
    entry->workload->status.status_is_own = false;
    if (entry->workload->unsure || entry->workload->facts.suspended || entry->workload->facts.finished ||
        !shard_is_held(engine, entry))
        return;
    struct rival *rival = rival_make(entry);
    if (rival && rival->runs)
        mark(engine, entry);
    else if (rival)
        rival->suspected = true;
}

static void unmark(struct engine *engine, struct entry *entry) {
    if (entry->workload->status.rival)
        engine->stats.kinds[entry->kind].also_run -= entry->workload->status.rival->runs;
    free(entry->workload->status.rival);
    entry->workload->status.rival = NULL;
}

// What was not placed, and runs here, would run twice: it waits until it has finished here, is deleted, or is retried.
static void unmark_if_rested(struct engine *engine, struct entry *entry) {
    const struct rival *rival = entry->workload->status.rival;
    const struct workload_facts *w = &entry->workload->facts;
    if (!rival->runs)
        return;
    int64_t rested_ns = clock_after(rival->seen_ns, RIVAL_REST_NS);
    if (w->finished ? !is_disputed(entry) : w->attempt > 0 && rested_ns <= engine->now.mono_ns)
        unmark(engine, entry);
    else if (rested_ns > engine->now.mono_ns)
        queue_wake(engine, entry, rested_ns);
}

static void report_run(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    const struct kind *kind = engine->kinds[entry->kind];
    if (rival->told)
        return;
    rival->told = true;
    report_event(
        engine, entry, true, "AlsoRunHere", "Observe",
        "a controller in the management cluster runs it too, although it is delegated: %s%s; %s%s%s",
        *rival->object ? "it made " : "its status was written by ", *rival->object ? rival->object : rival->who,
        kind->hybrid ? "this is permitted for " : "stop that controller for delegated objects: new workloads of ",
        kind->plural_group, kind->hybrid ? "" : " wait until then");
}

// The controller of an object in the management cluster.
static struct entry *owner_of(const struct engine *engine, const struct json *object) {
    const struct json *owner = object_controller(object);
    const char *kind = owner ? json_string(json_get(owner, "kind")) : NULL;
    const char *group = json_string_or(json_get(owner, "apiVersion"), "");
    for (size_t k = 0; kind && k < engine->n_kinds; k++) {
        const wharf_kind *abi = &engine->kinds[k]->abi;
        size_t len = strlen(abi->group);
        if (strcmp(abi->kind, kind) != 0 || strncmp(group, abi->group, len) != 0 || (len && group[len] != '/'))
            continue;
        struct entry *entry =
            store_get(&engine->store, k, object_namespace(object), json_string_or(json_get(owner, "name"), ""));
        return entry && entry->workload->facts.exists &&
                       text_equal(json_string(json_get(owner, "uid")), entry->workload->uid)
                   ? entry
                   : NULL;
    }
    return NULL;
}

void rival_seen(struct engine *engine, const struct json *object) {
    struct entry *entry = owner_of(engine, object);
    if (!entry || entry->workload->facts.being_deleted || object_is_being_deleted(object) ||
        (entry->workload->facts.finished && !is_disputed(entry)))
        return;
    struct rival *rival = rival_make(entry);
    if (!rival)
        return;
    snprintf(rival->object, sizeof rival->object, "%.60s %.130s", json_string_or(json_get(object, "kind"), "object"),
             object_name(object));
    mark(engine, entry);
    report_run(engine, entry);
}

void rival_observed(struct engine *engine, struct entry *entry, bool had) {
    uint32_t hash = status_hash(doc_tree(&engine->store, &entry->workload->doc));
    if (had) {
        judge_status(engine, entry, hash);
        return;
    }
    entry->workload->status.status_seen = hash;
    bool runs = hash && entry->workload->facts.attempt == 0 && !entry->workload->facts.suspended &&
                entry->workload->phase == WHARF_ACTIVE;
    struct rival *rival = runs ? rival_make(entry) : NULL;
    if (rival)
        rival->suspected = true;
}

void rival_status_answered(struct entry *entry, const struct json *object) {
    entry->workload->status.status_seen = status_hash(object);
    entry->workload->status.status_is_own = true;
}

static bool is_own(struct engine *engine, struct entry *entry) {
    return entry->workload->status.status_is_own &&
           entry->workload->status.status_seen == status_hash(doc_tree(&engine->store, &entry->workload->doc));
}

// The mirror has come to the same end.
static bool ends_so(struct engine *engine, struct entry *entry, struct mirror *placed, wharf_phase_kind end) {
    wharf_phase phase;
    const struct json *object = placed->facts.finished ? doc_tree(&engine->store, &placed->doc) : NULL;
    return object && final_status_reached(engine, entry, object, &phase) && phase.phase == end;
}

bool rival_believes_end(struct engine *engine, struct entry *entry, wharf_phase_kind end, bool had) {
    struct mirror *placed = facts_placed_mirror(entry);
    // The host's own final status is that of an earlier attempt, if the mirror runs. Its write has a precondition, so
    // that no other writer's status is in it.
    bool own = is_own(engine, entry);
    bool believed =
        placed ? own || ends_so(engine, entry, placed, end) : own || !had || entry->workload->facts.attempt == 0;
    entry->workload->facts.ended |= placed && own;
    entry->workload->facts.end_untold = had && !believed;
    return believed;
}

static void report_end(struct engine *engine, struct entry *entry, struct doc *doc) {
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    wharf_phase phase;
    if (adapter_phase(&call, doc_tree(&engine->store, doc), &phase) == WHARF_OK && phase_is_final(phase.phase)) {
        attempt_history_finished(engine, entry, &phase);
        if (phase.phase == (wharf_phase_kind)entry->workload->phase)
            report_finished(engine, entry);
        else
            report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                         "%s in %s (attempt %u), but its status here is that of another writer (%s), and cannot be "
                         "taken back",
                         phase.phase == WHARF_FAILED ? "failed" : "succeeded",
                         engine->clusters[entry->workload->facts.cluster].name, entry->workload->facts.attempt,
                         entry->workload->status.rival && *entry->workload->status.rival->who
                             ? entry->workload->status.rival->who
                             : "unknown");
    }
    adapter_call_end(&call);
}

// The end of its mirror is the workload's, whatever its status says.
static void settle(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    bool untold = entry->workload->facts.end_untold, foreign = w->foreign_end;
    w->ended = true;
    w->foreign_end = entry->workload->facts.end_untold = false;
    if (!untold && !foreign)
        return;
    w->retain_until_ns = clock_after(engine->now.mono_ns, engine->settings.mirror_retention_ns);
    queue_entry(engine, entry);
    report_end(engine, entry, &mirror->doc);
}

// The mirror has finished: its status is written, if the API takes it.
static void settle_if_written(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    if (entry->workload->facts.end_untold && !w->foreign_end) {
        w->foreign_end = true; // before it was known whose final status that is
        w->status_due = true;
        queue_entry(engine, entry);
    }
    bool refused = w->status_refusals >= DECIDE_STATUS_REFUSALS;
    if (w->foreign_end && (w->status_due || entry->busy) && !refused)
        return;
    settle(engine, entry, mirror);
}

// Without a mirror: it is reported as its end if this host wrote it.
static void judge_end(struct engine *engine, struct entry *entry) {
    if (!is_own(engine, entry)) {
        ask(engine, entry);
        return;
    }
    entry->workload->facts.end_untold = false;
    report_end(engine, entry, &entry->workload->doc);
}

static void check(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    struct workload_facts *w = &entry->workload->facts;
    if (!w->exists || w->being_deleted)
        return;
    if (entry->workload->status.rival)
        unmark_if_rested(engine, entry);
    bool suspected = entry->workload->status.rival &&
                     (entry->workload->status.rival->suspected || entry->workload->status.rival->twin);
    struct mirror *placed = w->finished && !w->ended ? facts_placed_mirror(entry) : NULL;
    if (placed && placed->facts.finished)
        settle_if_written(engine, entry, placed);
    else if (placed ? !w->foreign_end && !placed->facts.unsure : suspected)
        ask(engine, entry);
    else if (!placed && entry->workload->facts.end_untold && !entry->busy)
        judge_end(engine, entry);
}

static void report_foreign_end(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (rival->end_told)
        return;
    rival->told = rival->end_told = true;
    report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                 "its final status is of another writer (%s), which seems to run it in the management cluster%s%s%s; "
                 "stop the other writer",
                 *rival->who ? rival->who : "unknown", placed ? ": its mirror in " : "",
                 placed ? engine->clusters[placed->facts.cluster].name : "",
                 placed ? " has not finished, and is kept until then" : "");
}

// The last write of the status, or one shortly before, is another's.
static bool is_fresh(const struct writers *writers) {
    int64_t own_ns = 0, other_ns = 0;
    return !clock_parse_rfc3339(writers->own_at, &own_ns) || !clock_parse_rfc3339(writers->other_at, &other_ns) ||
           other_ns >= own_ns - FRESH_NS;
}

// Any other writer counts: this host may have written since, of what it may change.
static void judge_final(struct engine *engine, struct entry *entry, const struct writers *writers) {
    struct workload_facts *w = &entry->workload->facts;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (placed && placed->facts.finished) // which settles it
        return;
    if (!writers->other && *writers->own_at) {
        w->ended = placed;
        if (entry->workload->facts.end_untold)
            report_end(engine, entry, &entry->workload->doc);
        entry->workload->facts.end_untold = false;
        return;
    }
    if (!placed)
        entry->workload->facts.end_untold = false;
    if (placed) {
        w->foreign_end = w->status_due = true;
        mark(engine, entry);
    }
    report_foreign_end(engine, entry);
}

static void writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response) {
    struct workload_facts *w = &entry->workload->facts;
    struct rival *rival = entry->workload->status.rival;
    if (!rival || request->workload != text_hash(TEXT_HASH, entry->workload->uid))
        return;
    rival->asking = false;
    if (response->reason != REASON_OK || strcmp(object_uid(response->value), entry->workload->uid) != 0)
        return;
    bool twin = rival->twin;
    rival->suspected = rival->twin = false;
    bool subresource = !(engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE);
    struct writers writers = writer_read(response->value, true, subresource);
    // One that wrote before it was placed here may have been its controller until then.
    bool other = writers.other && strcmp(writers.other_at, writers.recorded_at) >= 0;
    text_copy(rival->who, sizeof rival->who, writers.other ? writers.other : "");
    if (w->finished && !w->ended)
        judge_final(engine, entry, &writers);
    else if (other && is_fresh(&writers)) {
        mark(engine, entry);
        report_run(engine, entry);
    } else if (twin) {
        repeat_other_host(engine, entry);
    }
}

void rival_retried(struct engine *engine, struct entry *entry) {
    unmark(engine, entry);
    cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->also_run = (struct also_run){.until_ns = 0};
}

static void forget(struct engine *engine, struct entry *entry) {
    unmark(engine, entry);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->also_run_until_ns = rival_until_ns(engine, entry);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    entry->lookups--;
    if (!entry->workload->facts.exists)
        return;
    if (request->source == WRITER_STATUS)
        writer_answered(engine, entry, request, response);
    else
        repeat_writer_answered(engine, entry, request, response);
}

const struct part part_rival = {.name = "other writers",
                                .facts = facts,
                                .after = check,
                                .requests = PART_REQUEST(REQUEST_WRITER),
                                .answered = answered,
                                .workload_ends = forget};
