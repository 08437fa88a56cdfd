// SPDX-License-Identifier: Apache-2.0
// Rule 8. Reports a wait of more than a minute: an Event on the workload, once per reason, and a metric.
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/unresumed.h"
#include "core/engine/part.h"
#include "core/engine/placement/placing.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"

#define WAITING_REPORTED_NS (60 * CLOCK_SECOND)
#define UNSCHEDULABLE_NS (10 * CLOCK_SECOND)

static uint64_t bit_of(uint8_t waiting) {
    _Static_assert(WAITINGS <= 64, "struct entry has a bit for each");
    return UINT64_C(1) << waiting;
}

static void count(struct engine *engine, const struct entry *entry, bool more) {
    if ((entry->workload->report.waiting_reported & bit_of(entry->workload->waiting)) == 0)
        return;
    if (more)
        engine->stats.waiting[entry->workload->waiting]++;
    else
        engine->stats.waiting[entry->workload->waiting]--;
}

static void end_waiting(struct engine *engine, struct entry *entry) {
    count(engine, entry, false);
    entry->workload->waiting = WAITING_NOT;
    entry->workload->report.waiting_reported = 0;
    entry->workload->report.reported = entry->workload->report.unschedulable_reported = false;
}

static enum waiting waiting_of(const struct entry *entry) {
    return (enum waiting)entry->workload->waiting;
}

// The reason of each worker, in one Event.
static void report_unschedulable(struct engine *engine, struct entry *entry) {
    int64_t at_ns = entry->workload->waiting_since_ns + UNSCHEDULABLE_NS;
    if (entry->workload->report.unschedulable_reported || !waiting_is_for_a_worker(waiting_of(entry)))
        return;
    if (engine->now.mono_ns < at_ns) {
        queue_wake(engine, entry, at_ns);
        return;
    }
    AUTO_BUFFER(text, 8192);
    worker_reasons_put(engine, entry, engine->now.mono_ns, &text);
    entry->workload->report.unschedulable_reported = true;
    report_event(engine, entry, true, "Unschedulable", "Place", "%s",
                 text.len > 0 ? text.data : "no worker accepts it");
}

static void tell_denied(struct engine *engine, struct entry *entry) {
    char space[254];
    entry_namespace(entry, space);
    report_event(engine, entry, true, "NamespaceDenied", "Place",
                 "it is not placed: the host's configuration does not permit namespace %s (namespaces)", space);
}

static void report(struct engine *engine, struct entry *entry, const struct action *action) {
    entry->workload->report.waiting_reported |= bit_of(entry->workload->waiting);
    count(engine, entry, true);
    // Causes of a retry or delay were reported at their start; others have their own Events.
    if ((entry->workload->waiting == WAITING_BACKOFF || entry->workload->waiting == WAITING_REPEATED) &&
        entry->workload->report.reported)
        return;
    if (entry->workload->waiting == WAITING_BYTES) // reported for the worker
        return;
    if (entry->workload->waiting == WAITING_QUEUED || entry->workload->waiting == WAITING_KUEUE ||
        entry->workload->waiting == WAITING_CHECK_REJECTED)
        return;
    if (waiting_is_for_a_worker(waiting_of(entry)) ||
        ((entry->workload->waiting == WAITING_WORKER || entry->workload->waiting == WAITING_KEPT ||
          entry->workload->waiting == WAITING_UNGUARDED) &&
         entry->workload->loss_reported_ns) ||
        entry->workload->waiting == WAITING_START || entry->workload->waiting == WAITING_GAVE_UP) // Events of their own
        return;
    if (entry->workload->waiting == WAITING_NAMESPACE) {
        tell_denied(engine, entry);
        return;
    }
    bool somewhere = action->cluster != 0 && action->cluster < engine->n_clusters;
    const char *refused = somewhere ? engine->stats.clusters[action->cluster].refused : "";
    bool detail = entry->workload->waiting == WAITING_IDENTITY && *refused;
    AUTO_BUFFER(resume, 8192);
    if (entry->workload->waiting == WAITING_RESUME)
        unresumed_put(engine, entry, &resume);
    report_event(engine, entry, true, "Waiting", "Wait", "waiting for more than a minute: %s%s%s%s%s%s",
                 resume.len > 0 ? resume.data : waiting_text(action->waiting), somewhere ? " (cluster " : "",
                 somewhere ? engine->clusters[action->cluster].name : "", somewhere ? ")" : "", detail ? ": " : "",
                 detail ? refused : "");
}

static void count_unplaced(struct engine *engine, struct entry *entry, enum waiting waiting) {
    const struct workload_facts *w = &entry->workload->facts;
    bool unplaced = w->exists && w->attempt == 0 && !w->finished && !w->suspended && !w->being_deleted;
    if (unplaced == entry->workload->report.counted_unplaced &&
        (!unplaced || waiting == entry->workload->report.unplaced))
        return;
    if (entry->workload->report.counted_unplaced)
        engine->stats.unplaced[entry->workload->report.unplaced]--;
    if (unplaced)
        engine->stats.unplaced[waiting]++;
    entry->workload->report.counted_unplaced = unplaced;
    entry->workload->report.unplaced = (uint8_t)waiting;
}

static void forget(struct engine *engine, struct entry *entry) {
    if (!entry->workload->facts.exists)
        return;
    end_waiting(engine, entry);
    if (entry->workload->report.counted_unplaced)
        engine->stats.unplaced[entry->workload->report.unplaced]--;
    entry->workload->report.counted_unplaced = false;
}

static void update(struct engine *engine, struct entry *entry, const struct action *action) {
    enum waiting waiting = action->waiting;
    if (waiting == WAITING_ANSWER)
        return;
    if (waiting == WAITING_NOT || waiting == WAITING_STOPPING || !entry->workload->facts.exists ||
        entry->workload->facts.finished) {
        end_waiting(engine, entry);
        return;
    }
    if (entry->workload->waiting == WAITING_NOT)
        entry->workload->waiting_since_ns = engine->now.mono_ns;
    if (entry->workload->waiting != waiting) {
        count(engine, entry, false);
        entry->workload->waiting = (uint8_t)waiting;
        count(engine, entry, true);
    }
    report_unschedulable(engine, entry);
    if (entry->workload->report.waiting_reported & bit_of(entry->workload->waiting))
        return;
    if (waiting == WAITING_NAMESPACE || engine->now.mono_ns >= entry->workload->waiting_since_ns + WAITING_REPORTED_NS)
        report(engine, entry, action);
    else
        queue_wake(engine, entry, entry->workload->waiting_since_ns + WAITING_REPORTED_NS);
}

static void after(struct engine *engine, struct entry *entry, const struct action *action) {
    count_unplaced(engine, entry, action->waiting);
    update(engine, entry, action);
}

const struct part part_report = {.name = "waiting", .stand_by = forget, .after = after, .workload_ends = forget};
