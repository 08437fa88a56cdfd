// SPDX-License-Identifier: Apache-2.0
// The running host: one I/O thread per cluster; the engine and the adapters run on the calling thread.
#pragma once

#include "core/adapter/adapters.h"
#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/host/check/rights.h"
#include "core/host/lease/election.h"
#include "core/host/sources/sources.h"
#include "core/host/words/words.h"

// Results of the sources of workers and of the last reload of the configuration: part of a snapshot.
struct reload_note {
    int64_t at_wall_ns;      // of the last attempt; the first is the start
    int64_t success_wall_ns; // of the last one that succeeded
    bool successful;         // the last one
    char *message;           // the problems, or the keys that need a restart; NULL: neither
};

struct reload_notes {
    struct reload_note reload;
    struct source_note *sources;
    size_t n_sources;
};
struct error *reload_notes_copy(const struct reload_notes *from, struct reload_notes *to);
void reload_notes_free(struct reload_notes *notes);

struct host;

// Reads the kubeconfigs and creates everything that needs no network. The config and the adapters are not owned and
// must outlive the host. A worker with an unusable kubeconfig is logged and counts as unreachable; an unusable
// kubeconfig of the management cluster is an error.
struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out);

// Before host_run: workloads with calls that ended former processes. The marks outlive the host.
struct marks;
void host_use_marks(struct host *host, const struct marks *marks);

// Runs until host_stop; then takes no new work, waits for requests in flight (at most 8 s) and returns.
struct error *host_run(struct host *host);

// From any thread, also before host_run: shares another configuration. Its live settings apply soon.
void host_configure(struct host *host, const struct config *config);

// From any thread, also before host_run; until then the configuration's set applies. Takes the complete set, which
// replaces the former set: `specs`, from malloc, with all texts, valid names, and each name once. A leaving worker that
// returns to the set stays, with its workloads. A spec with another kubeconfig, context or revision gets a new
// connection. Applied on the engine's thread soon after.
void host_set_workers(struct host *host, struct worker_spec *specs, size_t count, enum removal removal);

// From any thread. Copies `message`.
void host_report_reload(struct host *host, bool successful, int64_t wall_ns, const char *message);
void host_report_sources(struct host *host, struct source_note *notes, size_t count); // takes the notes

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
    struct rights_features features;  // of the configuration in use; its texts are owned
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
    struct moment taken;
    int64_t stalled_ns;        // see host_stalled_ns
    size_t workloads;          // tracked
    struct reload_notes notes; // owned
    struct election_state election;
    struct words_counts words;
};
// From any thread. ERROR_NO_MEMORY only.
struct error *host_snapshot(struct host *host, struct host_snapshot *out);
void host_snapshot_free(struct host_snapshot *snapshot);
