// SPDX-License-Identifier: Apache-2.0
// A mirror that is suspended by this host, or that this host fails to resume, though its workload is to run. The
// workload waits for that (WAITING_RESUME): `wharf explain` says so, and an Event if it takes longer than a minute.
// What the worker suspended is not meant: see SuspendedInWorker and QueuedInWorker in docs/events.md.
#pragma once

#include "core/engine/engine_internal.h"

// After the mirror was seen.
void unresumed_read(const struct engine *engine, const struct entry *entry, struct mirror *mirror,
                    const struct json *object);

// What it waits for, as a sentence without an end.
void unresumed_put(const struct engine *engine, const struct entry *entry, struct buffer *out);
