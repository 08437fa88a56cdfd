// SPDX-License-Identifier: Apache-2.0
// Before the first write in a worker in a new term, the workload is read: see shard.h. So is one of which a list had an
// older version: see stale_version.h.
#ifndef WHARF_ENGINE_CONFIRM_H
#define WHARF_ENGINE_CONFIRM_H

#include "core/engine/engine_internal.h"

// The action, or ACTION_READ instead.
struct action confirm_action(struct engine *engine, struct entry *entry, struct action action);
bool confirm_read(struct engine *engine, struct entry *entry);

#endif
