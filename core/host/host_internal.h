// SPDX-License-Identifier: Apache-2.0
// What the parts of the running host share: host.c (threads and turns), host_origin.c (who we are), host_dispatch.c
// (commands to the clusters' threads).
#ifndef WHARF_HOST_HOST_INTERNAL_H
#define WHARF_HOST_HOST_INTERNAL_H

#include "core/host/heartbeat.h"
#include "core/host/host.h"
#include "core/host/inbox.h"
#include "core/host/link.h"
#include "core/kube/client.h"
#include "core/kube/kubeconfig.h"
#include "core/kube/loop.h"

#include <pthread.h>
#include <stdatomic.h>

struct host_cluster {
    struct host *host;
    size_t index;
    const char *name;
    const struct config_cluster *config;
    struct endpoint *endpoint;
    struct budget budget; // of its thread
    struct transport *transport;
    struct loop *loop;
    int64_t open_at_ns;   // of the next try to open it; CLOCK_NEVER once open
    int64_t open_wait_ns; // before that try; 0: none has failed
    // On the cluster's thread only.
    struct link *link;
    struct client *origin_client;
    int64_t origin_at_ns;
    bool origin_asked;
    struct client *seal_client;
    int64_t seal_at_ns;
    bool seal_asked;
    // Collected on the engine's thread for the next dispatch.
    struct command *outbox;
    size_t n_outbox, cap_outbox;
    struct note *notes;
    size_t n_notes, cap_notes;
    atomic_size_t pending; // commands and Events not answered, as the cluster's thread last said
};

struct host {
    const struct config *config;
    const struct adapters *adapters;
    char *origin;
    struct seal_keys *seals; // NULL: mirrors are not sealed
    bool seals_settled;
    struct engine *engine;
    struct inbox *inbox;
    struct update update;
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
    struct host_snapshot snapshot;
};

// Hands what the update asks for to the clusters' threads and empties it.
void host_dispatch(struct host *host);

// The origin comes from the uid of the management cluster's namespace kube-system unless the config has one. Waits
// until it is known, and the keys of seals are, or the host is to stop.
struct error *host_wait_for_origin(struct host *host);
int64_t host_origin_tick(struct host_cluster *cluster, struct moment now); // on the cluster's thread
void host_origin_stop(struct host_cluster *cluster);

// host_seal.c: the keys of seals.
struct error *host_seal_begin(struct host *host);
bool host_seal_is_settled(struct host *host);
int64_t host_seal_tick(struct host_cluster *cluster, struct moment now); // on the cluster's thread
void host_seal_stop(struct host_cluster *cluster);

#endif
