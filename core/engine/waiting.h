// SPDX-License-Identifier: Apache-2.0
// What is waited for longer than a minute is reported.
#ifndef WHARF_ENGINE_WAITING_H
#define WHARF_ENGINE_WAITING_H

#include "core/engine/engine_internal.h"

// After each decision.
void waiting_update(struct engine *engine, struct entry *entry, const struct action *action);
void waiting_end(struct engine *engine, struct entry *entry);

#endif
