// SPDX-License-Identifier: Apache-2.0
// The facts that the engine needs before its start: the origin (the uid of the management cluster's namespace
// kube-system unless configured) and the seal keys, if in a Secret. Reads both from the management cluster, on its
// thread, and retries until known.
#pragma once

#include "core/config/config.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/io/cluster_connection.h"

struct startup;

// `config` is not owned. `over` is called once, on the thread of startup_tick, when all facts are known. Reads or
// creates the key file.
struct error *startup_new(const struct config *config, void (*over)(void *ctx), void *ctx, struct startup **out);
void startup_free(struct startup *startup); // after startup_stop

// On the management cluster's thread: sends the requests that are due. Returns the monotonic time of the next call
// needed.
int64_t startup_tick(struct startup *startup, const struct cluster_connection *connection, struct moment now);
void startup_stop(struct startup *startup); // on that thread too; releases the connection

// From any thread.
bool startup_is_over(const struct startup *startup);
// The problem that delays the start, as one sentence; NULL: no problem known. free().
char *startup_problem(struct startup *startup);

// Valid from when startup is over until startup_free.
const char *startup_origin(const struct startup *startup);
const struct seal_keys *startup_seals(const struct startup *startup); // NULL: mirrors are not sealed
// Until when the host may adopt mirrors without a seal, see seal_source.h; 0: never, CLOCK_NEVER: always.
int64_t startup_adopt_until_ns(const struct startup *startup);
