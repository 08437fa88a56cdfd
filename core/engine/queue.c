// SPDX-License-Identifier: Apache-2.0
#include "core/engine/queue.h"

#include "core/engine/engine_internal.h"

void queue_entry(struct engine *engine, struct entry *entry) {
    if (entry->queued)
        return;
    entry->queued = true;
    entry->next_queued = NULL;
    if (engine->queue_last)
        engine->queue_last->next_queued = entry;
    else
        engine->queue_first = entry;
    engine->queue_last = entry;
    engine->stats.queued++;
}

struct entry *queue_take(struct engine *engine) {
    struct entry *entry = engine->queue_first;
    engine->queue_first = entry->next_queued;
    if (!engine->queue_first)
        engine->queue_last = NULL;
    entry->queued = false;
    engine->stats.queued--;
    return entry;
}

void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns) {
    if (entry->timer.place != HEAP_NOT_IN && entry->timer.at_ns <= at_ns && entry->timer.at_ns > engine->now.mono_ns)
        return;
    // Without memory for a timer the entry is queued for the next step, so that it is not forgotten.
    if (!heap_set(&engine->timers, &entry->timer, at_ns))
        queue_entry(engine, entry);
}

void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns) {
    *not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}
