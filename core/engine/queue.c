// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine_internal.h"

#include "core/engine/engine.h"

#define LEAST_NS INT64_C(1000) // per object, so that lanes take turns without a clock too

size_t queue_lane(const struct engine *engine, const struct entry *entry) {
    size_t cluster = entry->workload->facts.cluster;
    if (cluster == ENGINE_MANAGEMENT && entry->mirrors)
        cluster = entry->mirrors->cluster;
    return cluster < engine->n_clusters ? cluster : ENGINE_MANAGEMENT;
}

void queue_charge(struct engine *engine, size_t cluster) {
    int64_t now_ns = engine->queue.processor ? engine->queue.processor() : 0,
            took_ns = now_ns - engine->queue.charged_ns;
    engine->queue.charged_ns = now_ns;
    if (cluster >= engine->n_clusters)
        return;
    struct lane *lane = &engine->clusters[cluster].lane;
    lane->used_ns += clock_later(took_ns, LEAST_NS);
    lane->time.spent_ns += took_ns;
    if (took_ns > ENGINE_COSTLY_NS)
        lane->time.costly_ns += took_ns;
}

void queue_entry(struct engine *engine, struct entry *entry) {
    if (entry->queued)
        return;
    entry->queued = true;
    entry->next_queued = NULL;
    struct lane *lane = &engine->clusters[queue_lane(engine, entry)].lane;
    if (!lane->last)
        lane->used_ns = clock_later(lane->used_ns, engine->queue.lane_level_ns);
    *(lane->last ? &lane->last->next_queued : &lane->first) = entry;
    lane->last = entry;
    engine->stats.queued++;
}

struct entry *queue_take(struct engine *engine) {
    struct lane *next = NULL;
    for (size_t c = 0; c < engine->n_clusters && engine->stats.queued > 0; c++) {
        struct lane *lane = &engine->clusters[c].lane;
        if (lane->first && (!next || lane->used_ns < next->used_ns))
            next = lane;
    }
    if (!next)
        return NULL;
    struct entry *entry = next->first;
    next->first = entry->next_queued;
    if (!next->first)
        next->last = NULL;
    engine->queue.lane_level_ns = next->used_ns;
    entry->queued = false;
    engine->stats.queued--;
    return entry;
}

void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns) {
    if (entry->timer.place != HEAP_NOT_IN && entry->timer.at_ns <= at_ns && entry->timer.at_ns > engine->now.mono_ns)
        return;
    // Without memory for a timer, the next step reconciles the entry.
    if (!heap_set(&engine->queue.timers, &entry->timer, at_ns))
        queue_entry(engine, entry);
}

bool queue_is_early(struct engine *engine, struct entry *entry, int64_t at_ns) {
    bool early = engine->now.mono_ns < at_ns;
    if (early)
        queue_wake(engine, entry, at_ns);
    return early;
}

void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns) {
    *not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}

struct engine_time engine_time_of(const struct engine *engine, size_t cluster) {
    return cluster < engine->n_clusters ? engine->clusters[cluster].lane.time : (struct engine_time){0};
}

// Rule 8.
int64_t backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns) {
    int64_t delay_ns = clock_doubled(base_ns, failures > 0 ? failures - 1 : 0, max_ns);
    return delay_ns + (int64_t)random_below(&engine->random, (uint64_t)delay_ns / 2 + 1);
}
