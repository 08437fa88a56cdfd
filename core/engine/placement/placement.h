// SPDX-License-Identifier: Apache-2.0
// The choice of a worker: a part of decide().
#ifndef WHARF_ENGINE_PLACEMENT_H
#define WHARF_ENGINE_PLACEMENT_H

#include "core/engine/decide/decide.h"
#include "core/engine/placement/placement_types.h"

// The worker to place a workload in: eligible, not excluded, best by the policy, or first of those that it names.
// DECIDE_UNPLACED: none. `next_ns` is lowered to the end of the earliest exclusion.
size_t placement_choose(const struct decide_facts *f, int64_t *next_ns);
// It may be placed in this worker now. Otherwise *next_ns is lowered to when that may change, if that is known.
bool placement_permits(const struct decide_facts *f, size_t cluster, int64_t *next_ns);
// Some worker's state is not known yet, and is waited for.
bool placement_is_settling(const struct decide_facts *f);
// Rule 2: until when, at most, a worker of unknown state may have an earlier mirror: after a restart, any; else the one
// that the earlier mirror was given up in, left, and has joined again. 0: none has.
int64_t placement_unsettled_until_ns(const struct decide_facts *f);
// A new attempt in the best worker. Rule 2: the old attempt's mirror is known to be gone or given up.
struct action placement_move(const struct decide_facts *f, const char *why);

#endif
