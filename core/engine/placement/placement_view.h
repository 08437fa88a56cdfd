// SPDX-License-Identifier: Apache-2.0
// The placement view of one workload.
#pragma once

#include "core/engine/placement/placement_types.h"

struct engine;
struct entry;

// Whether the workload needs a view: false if no setting limits its placement.
bool placement_is_limited(const struct engine *engine, const struct entry *entry);
// False: out of memory. The caller clears the view with placement_view_clear.
bool placement_view_make(struct engine *engine, struct entry *entry, struct placement_view *out);
void placement_view_clear(struct placement_view *view); // also for __attribute__((cleanup))

// maxActive: the limit, of all kinds or of the entry's, whichever is reached, and the number of workloads in the worker
// without this one. False: the number is unknown, since *kind is not listed.
bool placement_limit_of(const struct engine *engine, const struct entry *entry, size_t cluster, size_t *limit,
                        size_t *active, size_t *kind);
