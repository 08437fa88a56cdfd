// SPDX-License-Identifier: Apache-2.0
// The election of a host: on a thread and over a connection of its own, so that no list and no flood of events delays a
// renewal.
#ifndef WHARF_HOST_ELECTIONS_H
#define WHARF_HOST_ELECTIONS_H

#include "core/config/config.h"
#include "core/host/election.h"

struct elections;

// `config` is not owned. `post` is called on the election's thread.
struct error *elections_new(const struct config *config, void (*post)(void *ctx, struct engine_event *event), void *ctx,
                            struct elections **out);
void elections_free(struct elections *elections); // NULL is allowed

// Of the engine: 0 without election.
uint32_t elections_shards(const struct elections *elections);
struct gates *elections_gates(struct elections *elections); // NULL without election

// On the engine's thread, once the origin is known.
void elections_start(struct elections *elections, const char *origin, const struct exec_policy *policy);

// The host stops: the Leases are given back, and waited for so long at most. 0: they expire.
void elections_leave(struct elections *elections, int64_t for_ns);

void elections_read(struct elections *elections, struct election_state *state); // from any thread

#endif
