// SPDX-License-Identifier: Apache-2.0
// The election of a host: on a thread and over a connection of its own, so that no list and no flood of events delays a
// renewal.
#pragma once

#include "core/config/config.h"
#include "core/host/lease/election.h"

struct election_thread;

// `config` is not owned. The election's thread calls `post`.
struct error *election_thread_new(const struct config *config, void (*post)(void *ctx, struct engine_event *event),
                                  void *ctx, struct election_thread **out);
void election_thread_free(struct election_thread *thread); // NULL is allowed

// The engine's number of shards: 0 without election.
uint32_t election_thread_shards(const struct election_thread *thread);
struct gates *election_thread_gates(struct election_thread *thread); // NULL without election

// On the engine's thread, once the origin is known.
void election_thread_start(struct election_thread *thread, const char *origin, const struct exec_policy *policy);

// The host stops: releases the Leases, and waits at most `for_ns`. 0: the Leases expire.
void election_thread_leave(struct election_thread *thread, int64_t for_ns);

void election_thread_read(struct election_thread *thread, struct election_state *state); // from any thread
