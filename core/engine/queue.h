// SPDX-License-Identifier: Apache-2.0
// The entries to reconcile, and when.
#ifndef WHARF_ENGINE_QUEUE_H
#define WHARF_ENGINE_QUEUE_H

#include "core/engine/engine_internal.h"

void queue_entry(struct engine *engine, struct entry *entry);
struct entry *queue_take(struct engine *engine); // the first one; there is one
// Sets the entry's timer unless it is set to something earlier that has not passed.
void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns);
// A request could not be sent for lack of memory.
void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns);

#endif
