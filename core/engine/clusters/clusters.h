// SPDX-License-Identifier: Apache-2.0
// The numbers of the clusters, the tables indexed by number, and the identity of a cluster. A number without a worker
// is vacant: never connected or eligible, and the engine ignores its events.
#pragma once

#include "core/base/error.h"
#include "core/config/worker_settings.h"

#define IDENTITY_ANNOTATION "wharf.dev/cluster-uid" // on a worker's Secret: the uid of the cluster that joined

struct engine;
struct engine_options;

// The management cluster and the first workers. On failure slots_free is still called.
struct error *slots_init(struct engine *engine, const struct engine_options *options);
void slots_free(struct engine *engine); // after the store: entries wait in the clusters' queues

// Gives a vacant number, which may be the first one beyond the tables, to a cluster. Takes the texts of the settings.
// False when out of memory: nothing changed.
bool slot_take(struct engine *engine, size_t cluster, const char *name, const struct worker_settings *settings);
// Empties the tables' rows; no entry may refer to the cluster, and no request to the cluster may be in flight.
void slot_vacate(struct engine *engine, size_t cluster);

// A worker's uid, from the Secret and from the host's records (engine_event.worker); NULL: unknown.
void identity_expect(struct engine *engine, size_t cluster, const char *uid, const char *recorded);
void identity_left(struct engine *engine); // a worker left
