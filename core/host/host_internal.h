// SPDX-License-Identifier: Apache-2.0
// What the parts of the running host share: host.c (its making, its turns and its end), host_clusters.c (the threads of
// the clusters), host_snapshot.c (what others may look at), host_log.c (events that are told in the log).
#ifndef WHARF_HOST_HOST_INTERNAL_H
#define WHARF_HOST_HOST_INTERNAL_H

#include "core/host/connect.h"
#include "core/host/heartbeat.h"
#include "core/host/host.h"
#include "core/host/inbox.h"
#include "core/host/startup.h"
#include "core/host/turn.h"
#include "core/kube/loop.h"

#include <pthread.h>
#include <stdatomic.h>

#define HOST_PUBLISH_NS (250 * CLOCK_MS) // how old a snapshot may be

struct host_cluster {
    struct host *host;
    size_t index;
    const char *name;
    const struct config_cluster *config;
    struct budget budget; // of its thread
    struct connection connection;
    struct loop *loop;
    int64_t open_at_ns;    // of the next try to open it; CLOCK_NEVER once open
    int64_t open_wait_ns;  // before that try; 0: none has failed
    struct link *link;     // on the cluster's thread only
    atomic_size_t pending; // commands and Events not answered, as the cluster's thread last said
};

struct host {
    const struct config *config;
    const struct adapters *adapters;
    struct startup *startup;
    struct inbox *inbox;
    struct turn turn; // its engine: NULL until startup is over
    struct host_cluster *clusters;
    const char **names;
    size_t n_clusters;
    atomic_bool stop;
    atomic_bool closing;    // the threads of the clusters are to end at once
    struct heartbeat heart; // of the engine's thread
    int64_t published_ns, trim_at_ns;
    size_t churn; // events since memory was given back
    bool publish_due, trimmed;
    pthread_mutex_t snapshot_mutex;
    struct host_snapshot snapshot; // under it
};

// host_clusters.c
struct error *clusters_init(struct host *host);
// Reads the kubeconfig and starts the thread. What fails leaves the cluster closed.
struct error *clusters_open(struct host_cluster *cluster);
// Has its link made on its thread: it begins to list and watch.
void clusters_watch(struct host_cluster *cluster);
// Opens the workers whose time has come. A worker that cannot even be tried is as good as one that cannot be reached,
// and is tried again.
void clusters_open_workers(struct host *host, struct moment now);
int64_t clusters_next_open_ns(const struct host *host);
bool clusters_deliver(void *host, struct command_batch *batch); // see dispatch_options
size_t clusters_pending(const struct host *host);
void clusters_stop(struct host *host); // ends their threads
void clusters_free(struct host *host);

// host_snapshot.c
// Takes a new snapshot if the last one is old enough, or `force`.
void snapshot_publish(struct host *host, struct moment now, bool force);

// host_log.c
void host_log_event(const struct host *host, const struct engine_event *event);

#endif
