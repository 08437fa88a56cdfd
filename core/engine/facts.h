// SPDX-License-Identifier: Apache-2.0
// What is known of one entry, as decide() is told it.
#ifndef WHARF_ENGINE_FACTS_H
#define WHARF_ENGINE_FACTS_H

#include "core/engine/engine_internal.h"

struct action facts_decide(struct engine *engine, struct entry *entry);

// The mirror that the annotations speak of, if it is there; the same unless its worker was given up, for the status.
struct mirror *facts_placed_mirror(const struct entry *entry);
struct mirror *facts_followed_mirror(const struct engine *engine, const struct entry *entry);

// It was placed in a worker that cannot be reached, or that the configuration does not have.
bool facts_out_of_reach(const struct engine *engine, const struct entry *entry);

#endif
