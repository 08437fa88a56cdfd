// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placing.h"

#define MISSES_MAX 64             // failed tries, after which the next round waits
#define ROUND_NS (100 * CLOCK_MS) // between such rounds
#define UNBOUNDED ((size_t)256)   // tried at most for a worker without maxActive

static void put_in_queue(struct engine *engine, struct entry *entry) {
    struct placement_queue *queue = &engine->placement.queue;
    // Without memory the engine tries the entry again when a worker changes.
    (void)fair_queue_put(&queue->waiting, &entry->placement_turn, entry, WORK_CREATE, entry->kind, entry->key,
                         entry->name_at - 1U);
}

bool placement_queue_overtakes(struct engine *engine, struct entry *entry, size_t cluster) {
    struct placement_queue *queue = &engine->placement.queue;
    bool limited = engine->clusters[cluster].settings.max_active > 0 || engine->clusters[cluster].settings.max_kinds;
    if (!limited || entry->placement_turn.flow || queue->waiting.count == 0 || !(queue->freed || queue->trying))
        return false;
    put_in_queue(engine, entry);
    queue->freed = true;
    return entry->placement_turn.flow;
}

void placement_queue_note(struct engine *engine, struct entry *entry, enum placement_turn need) {
    if (need == PLACEMENT_TURN_NONE)
        fair_queue_remove(&entry->placement_turn);
    else if (need == PLACEMENT_TURN_WANTED)
        put_in_queue(engine, entry);
    if (entry != engine->placement.queue.tried)
        return;
    engine->placement.queue.tried = NULL;
    if (need == PLACEMENT_TURN_WANTED)
        engine->placement.queue.misses++;
    else if (engine->placement.queue.left > 0)
        engine->placement.queue.left--;
}

void placement_queue_retry(struct engine *engine) {
    engine->placement.queue.freed |= engine->placement.queue.waiting.count > 0;
}

// How many more workloads all workers together may get, at most.
static size_t free_slots(const struct engine *engine) {
    size_t left = 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        const struct engine_cluster *slot = &engine->clusters[c];
        size_t active = engine->stats.clusters[c].active;
        if (!engine->clusters[c].name || slot->settings.policy != WORKER_ACTIVE)
            continue;
        if (slot->settings.max_active == 0)
            left += UNBOUNDED;
        else if (slot->settings.max_active > active)
            left += slot->settings.max_active - active;
    }
    return left;
}

static bool begin_round(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    if (!queue->freed || queue->next_ns > engine->now.mono_ns)
        return false;
    queue->freed = false;
    queue->misses = 0;
    fair_queue_begin_round(&queue->waiting);
    queue->left = free_slots(engine);
    queue->trying = true;
    return true;
}

static void end_round(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    queue->trying = false;
    queue->tried = NULL;
    queue->next_ns = queue->misses > MISSES_MAX ? engine->now.mono_ns + ROUND_NS : 0;
}

struct entry *placement_queue_next(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    queue->tried = NULL;
    if (!queue->trying && !begin_round(engine))
        return NULL;
    if (queue->left > 0)
        queue->tried = fair_queue_look(&queue->waiting, WORK_CREATE);
    if (!queue->tried)
        end_round(engine);
    return queue->tried;
}

int64_t placement_queue_wake_ns(const struct engine *engine) {
    const struct placement_queue *queue = &engine->placement.queue;
    if (queue->trying)
        return engine->now.mono_ns;
    return queue->freed ? clock_later(queue->next_ns, engine->now.mono_ns) : CLOCK_NEVER;
}
