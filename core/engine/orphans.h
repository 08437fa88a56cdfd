// SPDX-License-Identifier: Apache-2.0
// Mirrors whose workload is not there.
#ifndef WHARF_ENGINE_ORPHANS_H
#define WHARF_ENGINE_ORPHANS_H

#include "core/engine/engine_internal.h"

// Looks at the mirrors of an entry whose workload is not there: sets held_until_ns of those that must not be deleted.
void orphans_check(struct engine *engine, struct entry *entry);
// A complete list of the management cluster, before it is acted on.
void orphans_listed(struct engine *engine, size_t cluster, size_t kind);
// The mirror without a workload as it is to be kept: by its name and marks, or as it is. `object` is taken.
struct object *orphans_by_name(const struct engine *engine, size_t cluster, size_t kind, struct object *object,
                               bool *name_only);
// The workload with this uid was seen being deleted, or replaced by another one.
void orphans_seen_deleted(struct engine *engine, struct entry *entry, const char *uid);

#endif
