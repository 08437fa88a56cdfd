// SPDX-License-Identifier: Apache-2.0
// What follows for a worker from what is known of its guard; see fence.h.
#pragma once

#include "core/engine/engine_internal.h"

// The worker is not connected any longer: what the guard does from now on is not known.
void fence_forget(struct engine *engine, size_t cluster);
void fence_count(struct engine *engine, size_t cluster); // brings the statistics up to date
// Rule 2: what runs in the worker is not given up before that, however long it is unreachable; 0: no such time.
int64_t fence_until_ns(const struct engine *engine, const struct entry *entry, size_t cluster);
// What follows for decide().
void fence_refresh(const struct engine *engine, size_t cluster, struct worker_facts *facts);
// This host begins to hold the shard: the one before it may have renewed the Leases until now.
void fence_begin(struct engine *engine, uint32_t shard, struct moment now);
