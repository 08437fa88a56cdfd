// SPDX-License-Identifier: Apache-2.0
// The input of decide() for one entry.
#pragma once

#include "core/engine/engine_internal.h"

// The namespace, for rules about namespaces.
struct namespaces_subject facts_namespace(const struct engine *engine, const struct entry *entry);
struct action facts_decide(struct engine *engine, struct entry *entry);

// The mirror that the annotations name, or NULL; for the status, NULL also after the host gave the worker up.
struct mirror *facts_placed_mirror(const struct entry *entry);
struct mirror *facts_followed_mirror(const struct engine *engine, const struct entry *entry);

// Whether the worker of the placement is unreachable or not in the configuration.
bool facts_worker_is_lost(const struct engine *engine, const struct entry *entry);
// The worker of the placement, even without configuration; NULL: none, or out of memory.
const char *facts_worker_name(const struct engine *engine, const struct entry *entry);
