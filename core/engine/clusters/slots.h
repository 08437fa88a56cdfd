// SPDX-License-Identifier: Apache-2.0
// The numbers of the clusters, and the tables that they index. A number without a worker is vacant: it is never
// connected or eligible, and events of it are ignored.
#pragma once

#include "core/engine/engine_internal.h"

// The management cluster and the first workers; engine->pacing is set. On failure slots_free is still called.
struct error *slots_init(struct engine *engine, const char *const *worker_names, size_t n_workers);
void slots_free(struct engine *engine); // after the store: entries wait in the clusters' queues

// Gives a vacant number, which may be the first one beyond the tables, to a cluster. Takes the texts of the settings.
// False when out of memory: nothing changed.
bool slot_take(struct engine *engine, size_t cluster, const char *name, const struct worker_settings *settings);
// Empties the tables' rows; no entry may refer to the cluster, and no request to it may be in flight.
void slot_vacate(struct engine *engine, size_t cluster);
