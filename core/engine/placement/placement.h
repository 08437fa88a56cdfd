// SPDX-License-Identifier: Apache-2.0
// The choice of a worker: a part of decide().
#pragma once

#include "core/engine/decide/decide.h"
#include "core/engine/placement/placement_types.h"

// The worker to place a workload in: eligible, not excluded, best by the policy, or first of the annotation.
// DECIDE_UNPLACED: none. `next_ns` is lowered to the end of the earliest exclusion.
size_t placement_choose(const struct decide_facts *f, int64_t *next_ns);
// The workload may be placed in this worker now. Otherwise *next_ns is lowered to the time of a possible change.
bool placement_permits(const struct decide_facts *f, size_t cluster, int64_t *next_ns);
// The engine waits for the state of a worker.
bool placement_is_settling(const struct decide_facts *f);
// Rule 2: until this time a worker of unknown state may have an earlier mirror. After a restart: any worker; else the
// worker of the mirror that was given up, if that worker left and joined again. 0: none.
int64_t placement_unsettled_until_ns(const struct decide_facts *f);
// A new attempt in the best worker. Rule 2: the mirror of the old attempt is gone or given up.
struct action placement_move(const struct decide_facts *f, const char *why);
