// SPDX-License-Identifier: Apache-2.0
// The running host: one I/O thread per cluster; the engine and the adapters run on the calling thread.
#ifndef WHARF_HOST_HOST_H
#define WHARF_HOST_HOST_H

#include "core/adapter/adapters.h"
#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/host/check/rights.h"
#include "core/host/lease/election.h"
#include "core/host/reload.h"

struct host;

// Reads the kubeconfigs and makes everything that does not need the network. The config and the adapters are not owned
// and must outlive the host. A worker whose kubeconfig cannot be used is logged and treated as unreachable; only the
// management cluster's is an error.
struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out);

// Runs until host_stop; then takes no new work, waits for requests in flight (at most 8 s) and returns.
struct error *host_run(struct host *host);

// From any thread, also before host_run: shares another configuration. Its live settings take effect soon.
void host_configure(struct host *host, const struct config *config);

// The adapters: those of host_new, or the newer table that was added last. From any thread; it stays valid until
// host_free, and so do all earlier tables. Its kinds begin with theirs, in their order.
const struct adapters *host_adapters(const struct host *host);

// A table that adapters_extend made of host_adapters(); taken. From any thread, one at a time. The kinds that are new
// are watched soon in all clusters; nothing else is disturbed.
void host_add_adapters(struct host *host, struct adapters *adapters);

// From any thread, any number of times.
void host_stop(struct host *host);

// Open while this host may do global tasks, such as renewing tokens; NULL: always. Valid until
// host_free.
struct gate *host_gate(const struct host *host);

struct worker_records;
struct worker_records *host_records(const struct host *host);

struct watcher; // see watchers/watcher.h
// From any thread: the watcher, which is not in the table, starts soon on the thread of the management cluster, also
// before the engine does. False: out of memory, or the host is stopping; nothing is called then. Its `stop` is called
// once, at the latest when the host stops, even if it could not be started.
bool host_attach(struct host *host, const struct watcher *row, void *state);
// From any thread: the watchers of the management cluster are stepped soon.
void host_step_watchers(struct host *host);

void host_free(struct host *host); // not while host_run runs

// How long the engine's thread has had work without progress; 0: not stalled. From any thread; allocates nothing and
// does not wait for the engine.
int64_t host_stalled_ns(struct host *host);

// The counters of a cluster in a snapshot.
struct cluster_reading {
    struct meter_reading meter;
    struct histogram recent; // see meter_recent
    int64_t silence_ns;      // since the last byte from the server, or since the host was made:
    bool unheard;            // there was none
    uint64_t inbox;          // events that wait for the engine
    int64_t inbox_since_ns;  // how long the oldest of them has waited; 0: there is none
};

// State for metrics and health: a copy made by the engine's thread at most a quarter of a second ago.
struct host_snapshot {
    struct stats stats;               // owned
    struct cluster_reading *readings; // of the clusters of `stats`, owned
    struct rights_features features;  // of the configuration in use
    struct histogram steps;           // of the engine, first bound TURN_STEP_NS
    char *waits_for;                  // owned; not running: why the engine has not started; NULL: not known yet
    const char **names;               // of stats.clusters, which own them; [0] "management"
    const struct kind *const *kinds;
    bool running;       // the engine has started
    bool in_sync;       // see engine_in_sync
    bool been_in_sync;  // at least once
    const char *origin; // of mirrors; NULL: not known yet
    bool stopping;
    int64_t started_wall_ns;
    int64_t stalled_ns;        // see host_stalled_ns
    size_t workloads;          // tracked
    struct reload_notes notes; // owned
    struct election_state election;
};
// From any thread. ERROR_NO_MEMORY only.
struct error *host_snapshot(struct host *host, struct host_snapshot *out);
void host_snapshot_free(struct host_snapshot *snapshot);

#endif
