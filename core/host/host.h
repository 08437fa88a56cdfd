// SPDX-License-Identifier: Apache-2.0
// The running host: one I/O thread per cluster; the engine and the adapters run on the calling thread.
#pragma once

#include "core/adapter/adapters.h"
#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/host/check/rights.h"
#include "core/host/lease/election.h"
#include "core/host/reload.h"

struct host;

// Reads the kubeconfigs and creates everything that needs no network. The config and the adapters are not owned and
// must outlive the host. A worker with an unusable kubeconfig is logged and counts as unreachable; an unusable
// kubeconfig of the management cluster is an error.
struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out);

// Runs until host_stop; then takes no new work, waits for requests in flight (at most 8 s) and returns.
struct error *host_run(struct host *host);

// From any thread, also before host_run: shares another configuration. Its live settings apply soon.
void host_configure(struct host *host, const struct config *config);

// The adapters: the table of host_new, or the newest added table. From any thread; all tables stay valid until
// host_free. The kinds of each table begin with the kinds of the former one, in the same order.
const struct adapters *host_adapters(const struct host *host);

// Takes a table that adapters_extend made of host_adapters(). From any thread, one at a time. All clusters watch the
// new kinds soon, with no disturbance of the others.
void host_add_adapters(struct host *host, struct adapters *adapters);

// From any thread, any number of times.
void host_stop(struct host *host);

// Open while this host may do global tasks, such as renewing tokens; NULL: always. Valid until
// host_free.
struct gate *host_gate(const struct host *host);

struct worker_records;
struct worker_records *host_records(const struct host *host);

struct watcher; // see watchers/watcher.h
// From any thread: starts a watcher outside of the table soon on the thread of the management cluster, also before the
// engine starts. False: out of memory, or the host is stopping; no function is called then. `stop` is called once, at
// the latest when the host stops, even after a failed start.
bool host_attach(struct host *host, const struct watcher *row, void *state);
// From any thread: the watchers of the management cluster step soon.
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
    int64_t inbox_since_ns;  // how long the oldest event has waited; 0: no events
};

// State for metrics and health: a copy made by the engine's thread at most a quarter of a second ago.
struct host_snapshot {
    struct stats stats;               // owned
    struct cluster_reading *readings; // of the clusters of `stats`, owned
    struct rights_features features;  // of the configuration in use
    struct histogram steps;           // of the engine, first bound TURN_STEP_NS
    char *waits_for;                  // owned; not running: why the engine has not started; NULL: not known yet
    const char **names;               // owned by stats.clusters; [0] "management"
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
