// SPDX-License-Identifier: Apache-2.0
// Progress: a second or later attempt goes on where the former one was. The new mirror is created suspended, gets the
// status that the adapter derives from the workload's (wharf_kind.progress), and is resumed by the patch that records
// the result. The mirror's annotation wharf.dev/progress says which step is next, so each step may happen in another
// process than the one before (docs/lifecycle.md, rules P1 to P8).
#pragma once

#include "core/engine/continuity/refusal.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/client/types.h"

struct engine;
struct entry;
struct mirror;
struct response;

// Before the create of a mirror: context->progress is OWED if there is something to give, else NONE. Not WHARF_OK: no
// result of the adapter, as of any of its functions.
wharf_result continuity_needs(struct engine *engine, struct entry *entry, struct mirror_context *context);

// Before the patch of a mirror. True: the patch may follow, with context->progress as the new mark. False: the mirror
// is owed progress, and a request is in flight, or the host waits for a change or until facts.update_at_ns.
bool continuity_step(struct engine *engine, struct entry *entry, struct mirror *mirror, struct mirror_context *context);

// A new version of the mirror; after its phase is read.
void continuity_read(const struct engine *engine, struct mirror *mirror, const struct json *object);

// The worker accepted the progress; or see continuity_rejected.
void continuity_accepted(struct mirror *mirror);
