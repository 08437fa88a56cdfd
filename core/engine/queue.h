// SPDX-License-Identifier: Apache-2.0
// The entries to reconcile, and their times. Entries wait in a lane for each cluster, that of their mirror. The lane
// that has used the least processor time comes first, so that a costly object of one worker delays others for no longer
// than the object takes.
#pragma once

#include "core/engine/engine_internal.h"

void queue_entry(struct engine *engine, struct entry *entry);
struct entry *queue_take(struct engine *engine); // NULL: none
// Sets the entry's timer unless a future, earlier time is set.
void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns);
// True before the time; then the engine reconciles the entry again at the time.
bool queue_is_early(struct engine *engine, struct entry *entry, int64_t at_ns);
// For a request that failed for lack of memory.
void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns);

// The cluster of an entry's lane: the cluster of the placement or mirror, else the management cluster.
size_t queue_lane(const struct engine *engine, const struct entry *entry);
// Charges a cluster with the processor time since the last call.
void queue_charge(struct engine *engine, size_t cluster);

// The delay before a retry: `base_ns` after the first of `failures` in a row, doubling up to `max_ns`, with jitter.
int64_t backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns);
