// SPDX-License-Identifier: Apache-2.0
// The workloads that wait for room in a worker: until others finish, they fit nowhere. Namespaces and kinds take turns,
// so that none waits for all of another; within one they are tried in the order in which they began to wait. No more
// are tried than may fit.
#ifndef WHARF_ENGINE_PLACEMENT_QUEUE_H
#define WHARF_ENGINE_PLACEMENT_QUEUE_H

#include "core/engine/engine_internal.h"

// What was decided for an entry: it waits for room (keeps its turn, if it did), has found a worker and not been sent
// there yet (keeps it, too), or neither.
enum placement_turn { PLACEMENT_TURN_NONE, PLACEMENT_TURN_USED, PLACEMENT_TURN_WANTED };
void placement_queue_note(struct engine *engine, struct entry *entry, enum placement_turn need);
// It is about to get the room of this worker that others have waited for, and it has not: it waits in turn, too.
bool placement_queue_overtakes(struct engine *engine, struct entry *entry, size_t cluster);

// There may be room in some worker that there was not.
void placement_queue_retry(struct engine *engine);
// The next one to be tried, until there is no more room; NULL: none now. Returns it to be reconciled.
struct entry *placement_queue_next(struct engine *engine);
// When to call engine_step for it.
int64_t placement_queue_wake_ns(const struct engine *engine);

#endif
