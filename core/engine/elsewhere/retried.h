// SPDX-License-Identifier: Apache-2.0
// The workers that failed a workload, by its annotation wharf.dev/retried (retryElsewhere).
#pragma once

#include "core/engine/engine_internal.h"

unsigned retried_count(const char *names); // at most 255; `names` NULL: none
// As the annotation has them. NULL: none.
const char *retried_names(struct engine *engine, const struct entry *entry);
// Whether there is one.
bool retried_any(const struct entry *entry);
// Whether this worker is one.
bool retried_from(struct engine *engine, const struct entry *entry, size_t cluster);
// "tried in w1, w2 (retryElsewhere.max 1)", for a failure after such attempts. NULL: there were none, or out of memory.
// free()
char *retried_text(struct engine *engine, const struct entry *entry);
