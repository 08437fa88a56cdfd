// SPDX-License-Identifier: Apache-2.0
// Shared by host.c (life cycle, turns, live settings), host_clusters.c (the table of clusters, workers that come and
// go), io/host_threads.c (their connections) and host_snapshot.c (state for other threads, and trimming).
#pragma once

#include "core/host/check/rights.h"
#include "core/host/host.h"
#include "core/host/io/cluster_thread.h"
#include "core/host/sources/sources.h"
#include "core/host/startup/startup.h"
#include "core/host/turn/query.h"
#include "core/host/turn/turn.h"
#include "core/host/words/words.h"

#include <pthread.h>
#include <stdatomic.h>

#define HOST_PUBLISH_NS (250 * CLOCK_MS) // maximum age of a snapshot
#define HOST_TRIM_EVENTS 2000            // events that make trimming worthwhile
#define HOST_TRIM_AFTER_NS (4 * CLOCK_SECOND)

enum membership {
    CLUSTER_VACANT, // no worker has this number
    CLUSTER_USED,
    CLUSTER_LEAVING, // no longer in the set of workers; `removal` says how the worker ends
    CLUSTER_LEFT     // the engine has removed the worker; references remain
};

struct host_cluster {
    size_t index;
    char *name;
    enum membership state;
    struct worker_spec spec; // of a worker, with the map of namespaces in use; of the management cluster, none
    char *next_map;          // the configured map, see host_namespaces.c
    bool watched, remaps;    // the map was in use; the configured one is another one
    enum removal removal;
    bool joined;                   // the engine knows the worker,
    struct worker_settings posted; // the settings that the engine has
    bool posted_awaiting;
    uint64_t recorded;                  // hash of its record, see worker_records_set
    struct cluster_thread *fenced;      // the connection that renews the Leases of `renews`, see fences_tick
    uint64_t renews;                    // shards
    struct meter meter;                 // of all connections of the cluster
    struct cluster_thread *thread;      // NULL: not open
    struct cluster_thread *opening;     // NULL: none is being opened
    struct cluster_thread *replacement; // opened, and waits for `replaced`,
    struct cluster_thread *replaced;    // which is being closed, to be quiet
    bool reopen;                        // other credentials or address: needs another thread
    int64_t open_at_ns;                 // next attempt to open one; CLOCK_NEVER: none is due
    int64_t open_wait_ns;               // backoff before that attempt; 0: none has failed
};

struct host {
    const struct config *config;
    const struct adapters *first;            // adapters as given to host_new
    const struct adapters *_Atomic adapters; // see host_adapters
    struct thread_settings thread_settings;  // in use, with the kinds that the engine has
    unsigned configured;                     // number of changes
    bool all_configured;                     // each connection has the settings
    int64_t configure_at_ns;                 // next attempt after a lack of memory
    struct startup *startup;
    struct election_thread *election;
    struct inbox *inbox;
    struct turn turn; // turn.engine is NULL until startup is over
    struct host_cluster **clusters;
    const char **names; // as dispatch.names
    size_t n_clusters;
    struct queries *queries; // of other threads
    struct worker_records *records;
    struct word_keeper *words;
    struct cluster_thread *management; // also of clusters[0], for other threads
    struct cluster_thread *closing;    // a list
    pthread_mutex_t wanted_mutex;
    struct wanted_workers {
        struct worker_spec *specs;
        size_t count;
        enum removal removal;
        bool is_new;
    } wanted;                    // under the mutex: of host_set_workers, until the engine's thread takes the set
    struct config *_Atomic next; // of host_configure, until the engine's thread takes it; or NULL
    struct config *current;      // of the last host_configure: its settings and credential plugins apply
    bool is_current;             // the engine and the connections have its settings
    struct worker_spec *waiting; // workers that wait for a number; without a name: taken
    size_t n_waiting;
    int64_t left_at_ns; // next check of leaving workers
    atomic_bool stop;
    struct heartbeat heart; // of the engine's thread
    int64_t made_ns, published_ns, trim_at_ns;
    size_t churn; // events since the last trim
    bool publish_due, trimmed;
    struct {
        const struct marks *of; // or NULL
        uint64_t left;          // bits: marks that still count
        int64_t checked_ns;
    } marks;
    pthread_mutex_t snapshot_mutex;
    struct host_snapshot snapshot; // under the mutex
};

// host_clusters.c
struct error *clusters_init(struct host *host); // before the inbox: the management cluster and the first workers
bool clusters_deliver(void *host, struct command_batch *batch); // see struct dispatch
size_t clusters_pending(const struct host *host);
void clusters_stop(struct host *host); // ends the threads
void clusters_free(struct host *host);

// io/host_threads.c
// host_namespaces.c: the spec gets the map of namespaces in use, before it becomes the cluster's.
void cluster_map_choose(struct host_cluster *cluster, struct worker_spec *spec);
bool cluster_map_changes(const struct host_cluster *cluster); // nothing new may be placed there
bool cluster_map_is_of(const struct host_cluster *cluster, const struct cluster_thread *thread);
void cluster_map_tick(struct host *host, struct host_cluster *cluster, struct moment now, bool look);

void cluster_threads_open(struct host *host, struct host_cluster *cluster, struct moment now); // opens, reopens, if due
// Uses other credentials on the open connection; false: the worker needs a new connection.
bool cluster_threads_renew(struct host *host, struct host_cluster *cluster, const struct worker_spec *spec);
void cluster_threads_recheck(struct host_cluster *cluster); // its kubeconfig file may have changed
// Kinds from `first` on are new: clusters without a connection lose them.
void cluster_threads_lost(struct host *host, size_t first);
void cluster_threads_close(struct host *host, struct host_cluster *cluster);
bool cluster_threads_are_closed(const struct host *host, size_t cluster);
void cluster_threads_reap(struct host *host);

// Adds, updates and removes workers as wanted. Returns the time of the next call needed.
void workers_tick(struct host *host, struct moment now);
int64_t workers_next_ns(const struct host *host);
void workers_free(struct host *host);

// host.c
void settings_receive(struct host *host);                       // of host_configure, after the workers
const struct exec_policy *host_policy(const struct host *host); // on the engine's thread

// host_snapshot.c
// Publishes a new snapshot if the last one is old enough, or if `force`.
void snapshot_publish(struct host *host, struct moment now, bool force);
// Returns memory to the system when the host is idle after many events.
void trim_when_idle(struct host *host, struct moment now, size_t events);

// host_adapters.c: tells the engine; before a step.
void host_adapters_look(struct host *host);

// host_words.c
struct error *host_words_begin(struct host *host);
void host_words_configure(struct host *host);
void host_words_take(void *ctx, struct words_wish *wish); // ctx: the host, see struct dispatch

// host_marks.c
bool host_marks_begin(struct host *host); // false: out of memory
// Removes the marks that count no more, at host_marks_next_ns or if `force`.
int64_t host_marks_next_ns(const struct host *host);
void host_marks_check(struct host *host, int64_t now_ns, bool force);
