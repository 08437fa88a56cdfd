// SPDX-License-Identifier: Apache-2.0
// Mirrors that are much larger than their workloads: their worker decides how large a status is, and the engine keeps
// it. Those of one worker together have a limit. A mirror beyond it is handled as one that is too large (oversized.h),
// until others are smaller.
#pragma once

#include "core/engine/engine_internal.h"

#define LARGE_MIRRORS_ALLOWED ((size_t)32 << 10) // bytes more than the workload that are not counted
#define LARGE_MIRRORS_SHARE ((size_t)6 << 10)    // of the limit, for each of max_orphans: together a memory budget

// Replaces an object of a worker by a stub if it is beyond the limit.
void large_mirrors_bound(struct engine *engine, size_t cluster, size_t kind, struct object **object);
// Counts the entry's mirrors as they are now. In a step.
void large_mirrors_account(struct engine *engine, const struct entry *entry);
void large_mirrors_forget(struct engine *engine, struct mirror *m);
