// SPDX-License-Identifier: Apache-2.0
#include "core/base/heap.h"

#include "core/base/memory.h"

#include <stdlib.h>

void heap_init(struct heap *heap) {
    *heap = (struct heap){0};
}

void heap_free(struct heap *heap) {
    for (size_t i = 0; i < heap->count; i++)
        heap->items[i]->place = HEAP_NOT_IN;
    free(heap->items);
    heap_init(heap);
}

void timer_init(struct timer *timer) {
    *timer = (struct timer){.place = HEAP_NOT_IN};
}

static void put_at(struct heap *heap, size_t place, struct timer *timer) {
    heap->items[place] = timer;
    timer->place = place;
}

static void move_up(struct heap *heap, struct timer *timer) {
    size_t place = timer->place;
    while (place > 0) {
        size_t parent = (place - 1) / 2;
        if (heap->items[parent]->at_ns <= timer->at_ns)
            break;
        put_at(heap, place, heap->items[parent]);
        place = parent;
    }
    put_at(heap, place, timer);
}

static void move_down(struct heap *heap, struct timer *timer) {
    size_t place = timer->place;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1]->at_ns < heap->items[child]->at_ns)
            child++;
        if (heap->items[child]->at_ns >= timer->at_ns)
            break;
        put_at(heap, place, heap->items[child]);
        place = child;
    }
    put_at(heap, place, timer);
}

bool heap_set(struct heap *heap, struct timer *timer, int64_t at_ns) {
    if (timer->place == HEAP_NOT_IN) {
        if (!array_reserve(&heap->items, &heap->capacity, heap->count + 1, sizeof *heap->items))
            return false;
        put_at(heap, heap->count++, timer);
    }
    timer->at_ns = at_ns;
    move_up(heap, timer);
    move_down(heap, timer);
    return true;
}

void heap_remove(struct heap *heap, struct timer *timer) {
    if (timer->place == HEAP_NOT_IN)
        return;
    size_t place = timer->place;
    struct timer *last = heap->items[--heap->count];
    timer->place = HEAP_NOT_IN;
    if (last == timer)
        return;
    put_at(heap, place, last);
    move_up(heap, last);
    move_down(heap, last);
}

struct timer *heap_first(const struct heap *heap) {
    return heap->count ? heap->items[0] : NULL;
}
