// SPDX-License-Identifier: Apache-2.0
// One connection to a cluster: its transport, the thread that drives the transport, and the cluster_io. A worker whose
// address or credentials change gets another one. All functions run on the engine's thread; only cluster_thread_stop
// and cluster_thread_free wait for the network.
#pragma once

#include "core/host/io/cluster_connection.h"
#include "core/host/io/cluster_io.h"
#include "core/host/turn/turn.h"
#include "core/kube/object/object.h"
#include "core/kube/transport/curl_transport.h"

#include <pthread.h>
#include <stdatomic.h>

struct host;

// Settings of all connections, changeable while open.
struct thread_settings {
    struct cluster_io_settings io;
    size_t memory_per_cluster, max_object_size, max_object_nodes; // see budget_init
    size_t max_status_size;                                       // of objects in workers
};

struct cluster_thread {
    struct cluster_thread *next; // in a list of closing connections
    struct host *host;
    size_t cluster;
    char *name;          // of the cluster
    char instance[128];  // of this host, in Events and Leases
    struct meter *meter; // of the cluster
    struct budget budget;
    struct cluster_connection connection;
    struct loop *loop;
    struct cluster_io *io; // on the connection's thread only, like `outbox`
    struct outbox outbox;
    uint64_t credentials; // generation of the `published` credentials
    bool published;
    bool background, settled;        // of that thread: see thread.h; all watches have begun
    atomic_bool forgets;             // wishes were lost for lack of memory
    atomic_size_t pending;           // unanswered commands and Events, as last published by that thread
    atomic_bool stop;                // does no more work
    atomic_bool quiet;               // posts no more events
    atomic_bool ended;               // cluster_thread_reap may be called
    struct thread_settings settings; // once watched; on that thread
    unsigned configured;             // with which of the host's settings; on the engine's thread
    struct cluster_scope scope;      // on that thread, like `attached`
    struct attached_watcher {        // of the management cluster, see host_attach
        const struct watcher *row;   // NULL: none
        void *state;
    } attached;
    // During the opening.
    struct worker_spec spec;
    struct exec_policy *policy; // a copy of the host's when the connection was begun
    bool opening;               // the thread has not been joined
    pthread_t opener;
    atomic_bool opened;
    struct error *error; // of the opener
    bool reaping;
    pthread_t reaper;
};

// Reads the kubeconfig of the management cluster and starts the thread.
struct error *cluster_thread_open(struct host *host, struct cluster_thread **out);
// The same for a worker, on a thread of its own, since opening takes some milliseconds, and a file system may hang.
// Pokes the inbox at the end.
struct error *cluster_thread_begin(struct host *host, size_t cluster, const char *name, const struct worker_spec *spec,
                                   struct cluster_thread **out);
// True: the opening has ended. A connection with an error, which the caller owns, can only be freed.
bool cluster_thread_is_open(struct cluster_thread *thread, struct error **error);
// Makes the cluster_io on the thread, which begins to list and watch.
void cluster_thread_watch(struct cluster_thread *thread);
// Gives the connection the host's present settings. False: out of memory; nothing has changed.
bool cluster_thread_configure(struct cluster_thread *thread);
// See cluster_io_fence. False: no memory.
bool cluster_thread_fence(struct cluster_thread *thread, uint64_t shards);
// False: the caller keeps the batch.
bool cluster_thread_deliver(struct cluster_thread *thread, struct command_batch *batch);

// Begins to close the connection, on a thread of its own: answers requests in flight with REASON_UNKNOWN_OUTCOME, posts
// the watches as lost, then sets `quiet`; pokes the inbox then, and with `ended`. False: no thread could start; call
// again.
bool cluster_thread_close(struct cluster_thread *thread);
void cluster_thread_reap(struct cluster_thread *thread); // frees the connection

// Ends the connection, however long that takes; posts nothing.
void cluster_thread_stop(struct cluster_thread *thread);
void cluster_thread_free(struct cluster_thread *thread); // after cluster_thread_stop; NULL is allowed
