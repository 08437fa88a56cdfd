// SPDX-License-Identifier: Apache-2.0
// Shared by host.c (life cycle and turns), host_clusters.c (cluster threads), host_snapshot.c (state for other threads)
// and host_log.c (events that are logged).
#ifndef WHARF_HOST_HOST_INTERNAL_H
#define WHARF_HOST_HOST_INTERNAL_H

#include "core/host/connect.h"
#include "core/host/guest.h"
#include "core/host/heartbeat.h"
#include "core/host/host.h"
#include "core/host/inbox.h"
#include "core/host/outbox.h"
#include "core/host/query.h"
#include "core/host/startup.h"
#include "core/host/turn.h"
#include "core/kube/loop.h"

#include <pthread.h>
#include <stdatomic.h>

#define HOST_PUBLISH_NS (250 * CLOCK_MS) // maximum age of a snapshot

struct host_cluster {
    struct host *host;
    size_t index;
    const char *name;
    const struct config_cluster *config;
    struct budget budget; // memory budget
    struct connection connection;
    struct loop *loop;
    int64_t open_at_ns;   // next attempt to open it; CLOCK_NEVER once open
    int64_t open_wait_ns; // backoff before that attempt; 0: none has failed
    struct link *link;    // on the cluster's thread only, like `outbox`
    struct outbox outbox;
    struct host_guest *guests; // of the management cluster, on its thread only
    size_t n_guests;
    struct meter meter;
    atomic_size_t pending; // unanswered commands and Events, as last published by the cluster's thread
};

struct host {
    const struct config *config;
    const struct adapters *adapters;
    struct startup *startup;
    struct inbox *inbox;
    struct turn turn; // turn.engine is NULL until startup is over
    struct host_cluster *clusters;
    const char **names;
    size_t n_clusters;
    struct queries *queries; // of other threads
    atomic_bool stop;
    atomic_bool closing;    // cluster threads must end at once
    struct heartbeat heart; // of the engine's thread
    int64_t made_ns, published_ns, trim_at_ns;
    size_t churn; // events since the last trim
    bool publish_due, trimmed;
    pthread_mutex_t snapshot_mutex;
    struct host_snapshot snapshot; // under the mutex
};

// host_clusters.c
struct error *clusters_init(struct host *host);
// Reads the kubeconfig and starts the thread. On failure the cluster stays closed.
struct error *clusters_open(struct host_cluster *cluster);
// Makes the cluster's link on its thread, which begins to list and watch.
void clusters_watch(struct host_cluster *cluster);
// Opens the workers that are due. A worker that cannot be opened counts as unreachable, and is retried.
void clusters_open_workers(struct host *host, struct moment now);
int64_t clusters_next_open_ns(const struct host *host);
bool clusters_deliver(void *host, struct command_batch *batch); // see dispatch_options
size_t clusters_pending(const struct host *host);
void clusters_stop(struct host *host); // ends the threads
void clusters_free(struct host *host);

// guest.c, on the management cluster's thread
int64_t guests_tick(struct host_cluster *cluster, struct moment now); // when the next call is needed
void guests_stop(struct host_cluster *cluster);

// host_snapshot.c
// Publishes a new snapshot if the last one is old enough, or if `force`.
void snapshot_publish(struct host *host, struct moment now, bool force);

// host_log.c
void host_log_event(const struct host *host, const struct engine_event *event);

#endif
