// SPDX-License-Identifier: Apache-2.0
#include "core/engine/rival.h"

#include "core/adapter/phase.h"
#include "core/engine/call.h"
#include "core/engine/command.h"
#include "core/engine/facts.h"
#include "core/engine/news.h"
#include "core/engine/queue.h"
#include "core/engine/report.h"
#include "core/engine/shard.h"
#include "core/engine/story.h"
#include "core/engine/writer.h"

#include <stdlib.h>
#include <string.h>

#define FREE_QUESTIONS 2
#define FRESH_NS (10 * CLOCK_SECOND) // a write so much older than this host's last one is not the one in question

// Of a workload whose status this host did not write, as it seemed at least once.
struct rival {
    struct throttle questions; // for the writer
    bool asking, suspected;
    bool end_told; // whose final status that is
    char who[96];  // the manager; "": none was found
};

static struct rival *rival_of(struct entry *entry) {
    if (!entry->rival)
        entry->rival = calloc(1, sizeof *entry->rival);
    return entry->rival;
}

static uint32_t status_hash(const struct json *object) {
    const struct json *status = json_get(object, "status");
    uint64_t hash = json_is(status, JSON_OBJECT) && json_size(status) > 0 ? json_hash(status) : 0;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool is_disputed(const struct entry *entry) {
    const struct mirror *placed = facts_placed_mirror(entry);
    return decide_is_disputed(&entry->facts, placed ? &placed->facts : NULL);
}

static void ask(struct engine *engine, struct entry *entry) {
    struct rival *rival = rival_of(entry);
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

// A status that is neither known nor of a write in flight. While the outcome of a write is unknown, it may be that one;
// of a suspended workload, Kueue writes the status too.
static void judge_status(struct engine *engine, struct entry *entry, uint32_t hash) {
    if (hash == entry->status_seen || entry->facts.busy)
        return;
    entry->status_seen = hash;
    if (entry->unsure || entry->facts.suspended || entry->facts.finished || !shard_is_held(engine, entry))
        return;
    struct rival *rival = rival_of(entry);
    if (rival)
        rival->suspected = true;
}

void rival_observed(struct engine *engine, struct entry *entry, bool had) {
    uint32_t hash = status_hash(doc_tree(&engine->store, &entry->doc));
    if (had)
        judge_status(engine, entry, hash);
    else
        entry->status_seen = hash;
}

void rival_status_answered(struct entry *entry, const struct json *object) {
    entry->status_seen = status_hash(object);
}

bool rival_believes_end(struct entry *entry, bool had) {
    entry->end_untold = had && is_disputed(entry);
    return !is_disputed(entry);
}

// The end of its mirror is the workload's, whatever its status says.
static void settle(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->facts;
    bool untold = entry->end_untold, foreign = w->foreign_end;
    w->ended = true;
    w->foreign_end = entry->end_untold = false;
    if (!untold && !foreign)
        return;
    w->retain_until_ns = clock_after(engine->now.mono_ns, engine->retention_ns);
    queue_entry(engine, entry);
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    wharf_phase phase;
    if (adapter_phase(&call, doc_tree(&engine->store, &mirror->doc), &phase) == WHARF_OK) {
        bool failed = phase.phase == WHARF_FAILED;
        story_finished(engine, entry, &phase);
        if (phase.phase == (wharf_phase_kind)entry->phase)
            news_finished(engine, entry);
        else
            report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                         "%s in %s (attempt %u), but its status here is that of another writer (%s), and cannot be "
                         "taken back",
                         failed ? "failed" : "succeeded", engine->names[mirror->facts.cluster], entry->facts.attempt,
                         entry->rival && *entry->rival->who ? entry->rival->who : "unknown");
    }
    adapter_call_end(&call);
}

// The mirror has finished: its status is written, if the API takes it.
static void settle_if_written(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->facts;
    if (entry->end_untold && !w->foreign_end) {
        w->foreign_end = true; // before it was known whose final status that is
        w->status_due = true;
    }
    bool refused = w->status_refusals >= DECIDE_STATUS_REFUSALS;
    if (w->foreign_end && (w->status_due || w->busy) && !refused)
        return;
    settle(engine, entry, mirror);
}

void rival_check(struct engine *engine, struct entry *entry) {
    struct workload_facts *w = &entry->facts;
    if (!w->exists || w->being_deleted)
        return;
    struct mirror *placed = w->finished && !w->ended ? facts_placed_mirror(entry) : NULL;
    if (placed && placed->facts.finished)
        settle_if_written(engine, entry, placed);
    else if (placed && !w->foreign_end && !placed->facts.unsure)
        ask(engine, entry);
    else if (entry->rival && entry->rival->suspected)
        ask(engine, entry);
}

static void report_foreign_end(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->rival;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (rival->end_told || !placed)
        return;
    rival->end_told = true;
    report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                 "its final status is of another writer (%s), which seems to run it in the management cluster: its "
                 "mirror in %s has not finished, and is kept until then; stop the other writer",
                 *rival->who ? rival->who : "unknown", engine->names[placed->facts.cluster]);
}

// The last write of the status, or one shortly before, is another's.
static bool is_fresh(const struct writers *writers) {
    int64_t own_ns = 0, other_ns = 0;
    return !clock_parse_rfc3339(writers->own_at, &own_ns) || !clock_parse_rfc3339(writers->other_at, &other_ns) ||
           other_ns >= own_ns - FRESH_NS;
}

void rival_answered(struct engine *engine, struct entry *entry, const struct pending *pending,
                    const struct response *response) {
    struct workload_facts *w = &entry->facts;
    struct rival *rival = entry->rival;
    if (!rival || pending->workload != text_hash(TEXT_HASH, entry->uid))
        return;
    rival->asking = false;
    if (response->reason != REASON_OK || strcmp(object_uid(response->value), entry->uid) != 0)
        return;
    rival->suspected = false;
    bool subresource = !(engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE);
    struct writers writers = writer_read(response->value, true, subresource);
    // One that wrote before it was placed here may have been its controller until then.
    bool other = writers.other && strcmp(writers.other_at, writers.recorded_at) >= 0;
    if (!is_disputed(entry)) {
        if (other && is_fresh(&writers))
            text_copy(rival->who, sizeof rival->who, writers.other);
        return;
    }
    if (!other && *writers.own_at) {
        w->ended = true;
        return;
    }
    text_copy(rival->who, sizeof rival->who, other ? writers.other : "");
    w->foreign_end = w->status_due = true;
    report_foreign_end(engine, entry);
}

void rival_forget(struct engine *engine, struct entry *entry) {
    (void)engine;
    free(entry->rival);
    entry->rival = NULL;
    entry->status_seen = 0;
}
