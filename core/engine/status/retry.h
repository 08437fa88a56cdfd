// SPDX-License-Identifier: Apache-2.0
// The annotation wharf.dev/retry: with a new value on a workload, whatever was delayed for it is tried at once.
#pragma once

#include "core/engine/engine_internal.h"

#define RETRY_REST_NS CLOCK_SECOND // between two of them for a workload

// After an object of the workload was seen; `had`: not for the first time.
void retry_read(const struct engine *engine, struct entry *entry, const struct json *object, bool had);

// Ends all delays of it and of its mirrors; of one mirror.
void retry_free(struct entry *entry);
void retry_mirror(struct mirror *mirror);
