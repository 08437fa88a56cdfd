// SPDX-License-Identifier: Apache-2.0
// A binary heap of timers, earliest first. A timer is embedded in the owner and stores the index, for moves and
// removals in O(log n).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_NOT_IN SIZE_MAX

struct timer {
    int64_t at_ns;
    size_t place; // index in the heap, or HEAP_NOT_IN
};

struct heap {
    struct timer **items;
    size_t count, capacity;
};

void heap_init(struct heap *heap);
void heap_free(struct heap *heap); // does not free the timers

void timer_init(struct timer *timer);

// Sets or moves a timer. False when out of memory; the timer is then unchanged. Moving does not allocate.
bool heap_set(struct heap *heap, struct timer *timer, int64_t at_ns);

// Does nothing if the timer is not in the heap.
void heap_remove(struct heap *heap, struct timer *timer);

// The earliest timer, or NULL. It is not removed.
struct timer *heap_first(const struct heap *heap);
