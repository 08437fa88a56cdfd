// SPDX-License-Identifier: Apache-2.0
// What has to be known before the engine can begin: the origin that mirrors are signed with, which is the uid of the
// management cluster's namespace kube-system unless the configuration gives a name, and the keys of seals, where they
// are in a Secret. Both are asked of the management cluster, on its thread, until they are there.
#ifndef WHARF_HOST_STARTUP_H
#define WHARF_HOST_STARTUP_H

#include "core/engine/seal.h"
#include "core/host/connect.h"

struct startup;

// `config` is not owned. `over` is called once, on the thread of startup_tick, when all is known that was not at first.
// Reads the file with the keys of seals, or makes it.
struct error *startup_new(const struct config *config, void (*over)(void *ctx), void *ctx, struct startup **out);
void startup_free(struct startup *startup); // after startup_stop

// On the management cluster's thread: asks for what is missing. Returns the monotonic time of the next call that is
// needed.
int64_t startup_tick(struct startup *startup, const struct connection *connection, struct moment now);
void startup_stop(struct startup *startup); // on that thread too; lets go of the connection

// From any thread.
bool startup_is_over(struct startup *startup);
// What it waits for, as one sentence with the cause; NULL: nothing that is known. free().
char *startup_problem(struct startup *startup);

// Once it is over, and until startup_free.
const char *startup_origin(const struct startup *startup);
const struct seal_keys *startup_seals(const struct startup *startup); // NULL: mirrors are not sealed

#endif
