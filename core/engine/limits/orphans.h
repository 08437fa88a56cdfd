// SPDX-License-Identifier: Apache-2.0
// Orphans: mirrors whose workload does not exist.
#pragma once

#include "core/engine/engine_internal.h"

// An object of the management cluster shows how far its versions have gone.
void orphans_note_revision(struct engine *engine, size_t kind, const struct json *object);

// For an entry without a workload: sets held_until_ns of mirrors that must not be deleted yet.
void orphans_check(struct engine *engine, struct entry *entry);
// Only counts them, where another host decides.
void orphans_account(struct engine *engine, struct entry *entry);
// After a complete list of the management cluster, before it is acted on.
void orphans_listed(struct engine *engine, size_t cluster, size_t kind);
// The orphan as it is stored: its name and marks only, or unchanged. `object` is taken.
struct object *orphans_by_name(const struct engine *engine, size_t cluster, size_t kind, struct object *object,
                               bool *name_only);
// Its worker left.
void orphans_forget(struct engine *engine, struct mirror *mirror);
// The workload with this uid was seen being deleted or replaced.
void orphans_seen_deleted(struct engine *engine, struct entry *entry, const char *uid);
// It is the last one of its name of which that was seen.
bool orphans_was_deleted(const struct entry *entry, const char *uid);
