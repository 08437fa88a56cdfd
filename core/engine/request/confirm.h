// SPDX-License-Identifier: Apache-2.0
// The host reads the workload before the first write in a worker in a new term (shard.h), and after a list with an
// older version of the workload (stale_version.h).
#pragma once

#include "core/engine/engine_internal.h"

// Returns the action, or ACTION_READ.
struct action confirm_action(struct engine *engine, struct entry *entry, struct action action);
bool confirm_read(struct engine *engine, struct entry *entry);
