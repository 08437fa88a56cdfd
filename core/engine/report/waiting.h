// SPDX-License-Identifier: Apache-2.0
// Reports waits of more than a minute.
#ifndef WHARF_ENGINE_WAITING_H
#define WHARF_ENGINE_WAITING_H

#include "core/engine/engine_internal.h"

// After each decision.
void waiting_update(struct engine *engine, struct entry *entry, const struct action *action);
// Also after each decision: counts workloads that could be placed and are not.
void waiting_unplaced(struct engine *engine, struct entry *entry, enum waiting waiting);
void waiting_end(struct engine *engine, struct entry *entry);
// Another host acts on the workload, so this one does not know why it waits.
void waiting_elsewhere(struct engine *engine, struct entry *entry);

#endif
