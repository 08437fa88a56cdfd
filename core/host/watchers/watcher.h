// SPDX-License-Identifier: Apache-2.0
// What else runs on the management cluster's thread, with its connection: reflectors and clients that the engine has
// nothing to do with.
#ifndef WHARF_HOST_WATCHERS_WATCHER_H
#define WHARF_HOST_WATCHERS_WATCHER_H

#include "core/host/host.h"
#include "core/host/io/cluster_connection.h"

struct host_guest {
    // Does what is due; returns the monotonic time of the next call needed. Also called after every handler of the
    // transport. The connection is open and stays the same until `stop`.
    int64_t (*tick)(void *ctx, const struct cluster_connection *connection, struct moment now);
    // Releases what it made of the connection. Called once, at the latest when the host stops; no tick follows.
    void (*stop)(void *ctx);
    void *ctx;
};

// From any thread: ticks begin soon. False: out of memory, or the host is stopping; nothing is called then.
bool host_attach(struct host *host, const struct host_guest *guest);

// From any thread: the guests are called soon.
void host_call_guests(struct host *host);

// The host's side, on the management cluster's thread.
struct cluster_thread;
int64_t guests_tick(struct cluster_thread *thread, struct moment now); // when the next call is needed
void guests_stop(struct cluster_thread *thread);

#endif
