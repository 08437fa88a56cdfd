// SPDX-License-Identifier: Apache-2.0
// Rule 8. A wait of more than a minute is reported: an Event on the workload, once per reason, and a metric.
#include "core/engine/waiting.h"

#include "core/engine/engine_internal.h"
#include "core/engine/queue.h"
#include "core/engine/report.h"

#define WAITING_REPORTED_NS (60 * CLOCK_SECOND)

static uint32_t bit_of(uint8_t waiting) {
    return UINT32_C(1) << waiting;
}

static void count(struct engine *engine, const struct entry *entry, bool more) {
    if ((entry->waiting_reported & bit_of(entry->waiting)) == 0)
        return;
    if (more)
        engine->stats.waiting[entry->waiting]++;
    else
        engine->stats.waiting[entry->waiting]--;
}

void waiting_end(struct engine *engine, struct entry *entry) {
    count(engine, entry, false);
    entry->waiting = WAITING_NOT;
    entry->waiting_reported = 0;
    entry->reported = false;
}

static void report(struct engine *engine, struct entry *entry, const struct action *action) {
    entry->waiting_reported |= bit_of(entry->waiting);
    count(engine, entry, true);
    // The cause of a retry or delay was reported when it began.
    if ((entry->waiting == WAITING_BACKOFF || entry->waiting == WAITING_REPEATED) && entry->reported)
        return;
    bool somewhere = action->cluster != 0 && action->cluster < engine->n_clusters;
    const char *refused = somewhere ? engine->stats.clusters[action->cluster].refused : "";
    bool detail = entry->waiting == WAITING_IDENTITY && *refused;
    report_event(engine, entry, true, "Waiting", "Wait", "waiting for more than a minute: %s%s%s%s%s%s",
                 waiting_text(action->waiting), somewhere ? " (cluster " : "",
                 somewhere ? engine->names[action->cluster] : "", somewhere ? ")" : "", detail ? ": " : "",
                 detail ? refused : "");
}

void waiting_unplaced(struct engine *engine, struct entry *entry, enum waiting waiting) {
    const struct workload_facts *w = &entry->facts;
    bool unplaced = w->exists && w->attempt == 0 && !w->finished && !w->suspended && !w->being_deleted;
    if (unplaced == entry->counted_unplaced && (!unplaced || waiting == entry->unplaced))
        return;
    if (entry->counted_unplaced)
        engine->stats.unplaced[entry->unplaced]--;
    if (unplaced)
        engine->stats.unplaced[waiting]++;
    entry->counted_unplaced = unplaced;
    entry->unplaced = (uint8_t)waiting;
}

void waiting_update(struct engine *engine, struct entry *entry, const struct action *action) {
    enum waiting waiting = action->waiting;
    if (waiting == WAITING_ANSWER)
        return;
    if (waiting == WAITING_NOT || waiting == WAITING_STOPPING || !entry->facts.exists || entry->facts.finished) {
        waiting_end(engine, entry);
        return;
    }
    if (entry->waiting == WAITING_NOT)
        entry->waiting_since_ns = engine->now.mono_ns;
    if (entry->waiting != waiting) {
        count(engine, entry, false);
        entry->waiting = (uint8_t)waiting;
        count(engine, entry, true);
    }
    if (entry->waiting_reported & bit_of(entry->waiting))
        return;
    if (engine->now.mono_ns >= entry->waiting_since_ns + WAITING_REPORTED_NS)
        report(engine, entry, action);
    else
        queue_wake(engine, entry, entry->waiting_since_ns + WAITING_REPORTED_NS);
}
