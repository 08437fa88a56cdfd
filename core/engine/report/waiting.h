// SPDX-License-Identifier: Apache-2.0
// What is waited for longer than a minute is reported.
#ifndef WHARF_ENGINE_WAITING_H
#define WHARF_ENGINE_WAITING_H

#include "core/engine/engine_internal.h"

// After each decision.
void waiting_update(struct engine *engine, struct entry *entry, const struct action *action);
// Also after each decision, of workloads that are not placed and could be.
void waiting_unplaced(struct engine *engine, struct entry *entry, enum waiting waiting);
void waiting_end(struct engine *engine, struct entry *entry);
// Another host acts on it: what it waits for is not known here.
void waiting_elsewhere(struct engine *engine, struct entry *entry);

#endif
