// SPDX-License-Identifier: Apache-2.0
// maxActive: whether a worker may have one more workload.
#ifndef WHARF_ENGINE_PLACEMENT_LIMIT_H
#define WHARF_ENGINE_PLACEMENT_LIMIT_H

#include "core/engine/engine_internal.h"

// It has as many workloads as maxActive allows, without this one, or it is not known how many.
bool placement_limit_is_reached(const struct engine *engine, const struct entry *entry, size_t cluster);
// The number that it may have, of all kinds or of the entry's, whichever is reached; and how many it has. False: it is
// not known how many it has, since *kind is not listed.
bool placement_limit_of(const struct engine *engine, const struct entry *entry, size_t cluster, size_t *limit,
                        size_t *active, size_t *kind);

#endif
