// SPDX-License-Identifier: Apache-2.0
// Progress of the objects that a kind's controller makes for a mirror (wharf_kind.children). The host lists them,
// without a watch: before a planned move, to keep their progress in the workload (children_kept.h), and while a new
// mirror is owed progress. After the loss of a worker, only the workload's status and what was kept earlier count.
#pragma once

#include "core/engine/mirror/mirror.h"

struct engine;
struct entry;
struct mirror;

// Whether children of the new mirror get progress, so that the mirror is owed it.
bool children_need(struct engine *engine, struct entry *entry, const struct mirror_context *context);

enum children_step {
    CHILDREN_DONE, // all that exist have their progress, or there is nothing to give: the mirror may run
    CHILDREN_WAIT  // requests are in flight, or children do not exist yet: the part sets facts.update_due again
};
// The mirror is suspended and has its own progress. For a refusal see progress_refuse.
enum children_step children_step(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                 const struct mirror_context *context);

// Before a planned deletion of a mirror: its children's progress is in the workload. False: not yet; a request is in
// flight, or the mirror waits.
bool children_are_saved(struct engine *engine, struct entry *entry, struct mirror *mirror);
