// SPDX-License-Identifier: Apache-2.0
// The host put together: one thread a cluster for input and output, the calling thread for the engine and the adapters.
#ifndef WHARF_HOST_HOST_H
#define WHARF_HOST_HOST_H

#include "core/adapter/adapters.h"
#include "core/config/config.h"
#include "core/engine/engine.h"

struct host;

// Reads the kubeconfigs and makes everything that can be made without the network. The config and the adapters stay the
// caller's and must outlive the host. A worker whose kubeconfig cannot be used is told in the log and treated as a
// worker that cannot be reached; only the management cluster's is an error.
struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out);

// Runs until host_stop; then takes no new work, finishes what is in flight (at most 8 s) and returns.
struct error *host_run(struct host *host);

// From any thread, any number of times.
void host_stop(struct host *host);

void host_free(struct host *host); // not while it runs

// How long there has been work without the engine's thread finishing anything; 0 when all is well. From any thread,
// without memory, and without waiting for the engine.
int64_t host_stalled_ns(struct host *host);

// What others may look at: a copy made by the engine's thread at most a quarter of a second ago.
struct host_snapshot {
    struct stats stats;       // owned
    char *waits_for;          // owned; not running: why the engine has not begun; NULL: nothing is known of it yet
    const char *const *names; // of clusters, [0] "management"
    const struct kind *const *kinds;
    bool running; // the engine has begun
    bool in_sync; // see engine_in_sync
    bool stopping;
    int64_t started_wall_ns;
    int64_t stalled_ns; // see host_stalled_ns
    size_t workloads;   // tracked
};
// From any thread. ERROR_NO_MEMORY only.
struct error *host_snapshot(struct host *host, struct host_snapshot *out);
void host_snapshot_free(struct host_snapshot *snapshot);

#endif
