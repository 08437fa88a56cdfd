// SPDX-License-Identifier: Apache-2.0
// A list with gaps: an entry knows its place, and the list is closed up when most of it is gaps.
#include "core/engine/placement_queue.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define GAPS_MIN 64
#define MISSES_MAX 64                // tried in vain, after which the next round waits
#define ROUND_NS (100 * CLOCK_MS)    // between such rounds
#define ROOM_UNBOUNDED ((size_t)256) // tried at most for a worker without maxActive

void placement_queue_free(struct placement_queue *queue) {
    free(queue->list);
    *queue = (struct placement_queue){.list = NULL};
}

static void close_gaps(struct placement_queue *queue) {
    size_t kept = 0, cursor = queue->cursor;
    for (size_t i = 0; i < queue->count; i++) {
        if (i == queue->cursor)
            cursor = kept;
        if (!queue->list[i])
            continue;
        queue->list[kept++] = queue->list[i];
        queue->list[kept - 1]->room_place = (uint32_t)kept;
    }
    queue->cursor = queue->cursor >= queue->count ? kept : cursor;
    queue->count = kept;
    queue->gaps = 0;
}

static void add(struct engine *engine, struct entry *entry) {
    struct placement_queue *queue = &engine->room;
    if (!array_reserve(&queue->list, &queue->capacity, queue->count + 1, sizeof(struct entry *)))
        return; // it is tried again when a worker changes
    queue->list[queue->count++] = entry;
    entry->room_place = (uint32_t)queue->count;
}

void placement_queue_remove(struct engine *engine, struct entry *entry) {
    struct placement_queue *queue = &engine->room;
    if (entry->room_place == 0)
        return;
    queue->list[entry->room_place - 1] = NULL;
    entry->room_place = 0;
    if (++queue->gaps > GAPS_MIN && queue->gaps > queue->count / 2)
        close_gaps(queue);
}

void placement_queue_note(struct engine *engine, struct entry *entry, enum room_need need) {
    if (need == ROOM_NONE)
        placement_queue_remove(engine, entry);
    else if (need == ROOM_WANTED && entry->room_place == 0)
        add(engine, entry);
    if (entry != engine->room.tried)
        return;
    engine->room.tried = NULL;
    if (need == ROOM_WANTED)
        engine->room.misses++;
    else if (engine->room.left > 0)
        engine->room.left--;
}

void placement_room(struct engine *engine) {
    engine->room.freed |= engine->room.count > engine->room.gaps;
}

// How many more workloads all workers together may get, at most.
static size_t room_left(const struct engine *engine) {
    size_t left = 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        const struct worker_slot *slot = &engine->slots[c];
        size_t active = engine->stats.clusters[c].active;
        if (!engine->names[c] || slot->policy != WORKER_ACTIVE)
            continue;
        if (slot->max_active == 0)
            left += ROOM_UNBOUNDED;
        else if (slot->max_active > active)
            left += slot->max_active - active;
    }
    return left;
}

static bool begin_round(struct engine *engine) {
    struct placement_queue *queue = &engine->room;
    if (!queue->freed || queue->next_ns > engine->now.mono_ns)
        return false;
    queue->freed = false;
    queue->cursor = queue->misses = 0;
    queue->left = room_left(engine);
    queue->trying = true;
    return true;
}

static void end_round(struct engine *engine) {
    struct placement_queue *queue = &engine->room;
    queue->trying = false;
    queue->tried = NULL;
    queue->next_ns = queue->misses > MISSES_MAX ? engine->now.mono_ns + ROUND_NS : 0;
}

struct entry *placement_queue_next(struct engine *engine) {
    struct placement_queue *queue = &engine->room;
    queue->tried = NULL;
    if (!queue->trying && !begin_round(engine))
        return NULL;
    while (queue->left > 0 && queue->cursor < queue->count) {
        struct entry *entry = queue->list[queue->cursor++];
        if (entry)
            return queue->tried = entry;
    }
    end_round(engine);
    return NULL;
}

int64_t placement_queue_wake_ns(const struct engine *engine) {
    const struct placement_queue *queue = &engine->room;
    if (queue->trying)
        return engine->now.mono_ns;
    return queue->freed ? clock_later(queue->next_ns, engine->now.mono_ns) : CLOCK_NEVER;
}
