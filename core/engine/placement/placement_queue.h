// SPDX-License-Identifier: Apache-2.0
// The workloads that wait because every worker has reached maxActive: until others finish. Namespaces and kinds take
// turns, so that none waits for all workloads of another; within one of them the order of arrival counts. The engine
// tries no more workloads than the workers may take.
#pragma once

#include "core/engine/engine_internal.h"

// The decision for an entry: it waits (WANTED, and keeps its turn), it has found a worker and its request is not sent
// yet (USED, and keeps its turn), or neither.
enum placement_turn { PLACEMENT_TURN_NONE, PLACEMENT_TURN_USED, PLACEMENT_TURN_WANTED };
void placement_queue_note(struct engine *engine, struct entry *entry, enum placement_turn need);
// The entry would overtake others that wait for this worker: from now on it waits in turn.
bool placement_queue_overtakes(struct engine *engine, struct entry *entry, size_t cluster);

// A worker may take more workloads than before.
void placement_queue_retry(struct engine *engine);
// The next entry to reconcile, until the workers take no more; NULL: none now.
struct entry *placement_queue_next(struct engine *engine);
// The time of the next engine_step for the queue.
int64_t placement_queue_wake_ns(const struct engine *engine);
