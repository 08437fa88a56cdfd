// SPDX-License-Identifier: Apache-2.0
// The workers that failed a workload, by its annotation wharf.dev/retried (retryElsewhere).
#pragma once

#include "core/engine/engine_internal.h"

// The next of the names "w1,w2", which advance. NULL: no more.
const char *retried_next_name(const char **names, size_t *len);
// Whether an attempt of the workload has failed because of a worker.
bool retried_any(const struct entry *entry);
// "tried in w1, w2 (retryElsewhere.max 1)", for a failure after such attempts. NULL: there were none, or out of memory.
// free()
char *retried_text(struct engine *engine, const struct entry *entry);
// Whether an attempt failed because of this worker.
bool retried_from(struct engine *engine, const struct entry *entry, size_t cluster);
