// SPDX-License-Identifier: Apache-2.0
// The entries to reconcile, and when. They wait in a lane for each cluster, that of their mirror; the lane that has
// used the least of the engine's processor time is served first, so that costly objects of one worker delay those of
// another by one object's time at most.
#ifndef WHARF_ENGINE_QUEUE_H
#define WHARF_ENGINE_QUEUE_H

#include "core/engine/engine_internal.h"

void queue_entry(struct engine *engine, struct entry *entry);
struct entry *queue_take(struct engine *engine); // the next one; NULL: there is none
// Sets the entry's timer unless it is set to something earlier that has not passed.
void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns);
// A request could not be sent for lack of memory.
void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns);

// The cluster whose lane an entry is in: where it is placed or has a mirror, else the management cluster.
size_t queue_lane(const struct engine *engine, const struct entry *entry);
// Charges a cluster with the processor time since the last call.
void queue_charge(struct engine *engine, size_t cluster);

#endif
