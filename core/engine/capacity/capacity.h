// SPDX-License-Identifier: Apache-2.0
// What workloads ask for against what workers have left (docs/capacity.md). A workload that was placed is reserved in
// its worker until its pods can be expected among those that the worker's nodes are seen to have. A worker of which
// nothing is known yet, or nothing recent, gets no workload that asks for pods.
#ifndef WHARF_ENGINE_CAPACITY_H
#define WHARF_ENGINE_CAPACITY_H

#include "core/engine/engine_internal.h"

#define CAPACITY_STALE_NS (60 * CLOCK_SECOND)   // how long a view counts after its watch was lost
#define CAPACITY_RESERVE_NS (30 * CLOCK_SECOND) // how long a mirror may take to get its pods
#define CAPACITY_SEEN_NS (3 * CLOCK_SECOND)     // from when it has started, until they are in the view
#define CAPACITY_RETRY_NS (30 * CLOCK_SECOND)   // at the latest, what waits is looked at again

void capacity_take(struct engine *engine, const struct engine_event *event); // EVENT_CAPACITY; takes its nodes
void capacity_tick(struct engine *engine);                                   // what is due: reservations that end
int64_t capacity_wake_ns(const struct engine *engine);
void capacity_free(struct engine *engine);
void capacity_left(struct engine *engine, size_t cluster); // the worker left

// Whether the worker has room for the workload, as far as is known. If not, *next_ns is lowered to when to ask again.
bool capacity_has_room(struct engine *engine, struct entry *entry, size_t cluster, int64_t *next_ns);
// The entry is placed there: what it asks for is reserved.
void capacity_placed(struct engine *engine, struct entry *entry, size_t cluster);
// After each reconciliation: what it has reserved follows its state. `waits`: it waits for room.
void capacity_follow(struct engine *engine, struct entry *entry, bool waits);
void capacity_forget(struct engine *engine, struct entry *entry);

// Of a workload that waits for room: why there is none, in a few words ("lacks 3 nvidia.com/gpu"); false: there is.
bool capacity_lacks(const struct engine *engine, const struct entry *entry, size_t cluster, char *out, size_t size);
// Why the free capacity of a worker, which should be known, is not; NULL: it is, or need not be.
const char *capacity_problem(const struct engine *engine, size_t cluster);
// See room_fullness; 0 where nothing is known.
unsigned capacity_fullness(struct engine *engine, struct entry *entry, size_t cluster);

#endif
