// SPDX-License-Identifier: Apache-2.0
// Connections to the clusters of the configuration: the endpoint (from a kubeconfig, a merged list of kubeconfigs, or
// the pod's service account), its transport, and its clients.
#pragma once

#include "core/config/worker_spec.h"
#include "core/kube/client/client.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <stdatomic.h>

// Zero-initialised.
struct cluster_connection {
    struct endpoint *endpoint;   // NULL: not loaded
    struct endpoint *opened;     // the one that the transport was made with
    struct transport *transport; // NULL: not open
};

// Reads the kubeconfig of a cluster (a file, a list of files or a text; without any, the pod's service account) and
// checks the certificates at `wall_ns`. `policy` is the configuration's credential_plugins. Errors do not name the
// cluster.
struct error *connection_load(struct cluster_connection *connection, const struct worker_spec *spec,
                              const struct exec_policy *policy, int64_t wall_ns);

// Makes the transport of a loaded connection; needs curl_transport_setup. `budget` may be NULL.
struct error *connection_open(struct cluster_connection *connection, struct budget *budget);

// Takes the endpoint and uses its credentials on the open connection. False: another address, which needs another
// connection; nothing changes.
bool connection_use(struct cluster_connection *connection, struct endpoint *endpoint);
// The same with the kubeconfig of a worker. False also for an unusable kubeconfig; opening the kubeconfig reports the
// problem.
bool connection_renew(struct cluster_connection *connection, const struct worker_spec *spec,
                      const struct exec_policy *policy, int64_t wall_ns);

// A client on an open connection; free the client before connection_close. `cluster` is for log lines.
struct error *connection_client(const struct cluster_connection *connection, const char *cluster, struct client **out);

void connection_close(struct cluster_connection *connection);

// A connection for one purpose and one thread, which waits for answers: the pods of a mirror, their logs, a session.
// Large or slow answers there delay nothing on the cluster's own thread.
struct blocking_client { // zero-initialised: closed
    struct cluster_connection connection;
    struct client *client;
    const atomic_bool *stop; // once true, requests end with ERROR_STOPPED
};

// Takes the endpoint, also on failure. `cluster` is for log lines.
struct error *blocking_client_open(struct endpoint *endpoint, const char *cluster, const atomic_bool *stop,
                                   struct blocking_client *out);
void blocking_client_close(struct blocking_client *client);

// GET of a path. `metadata`: of a list, of which metadata is enough. ERROR_NOT_FOUND: 404; ERROR_REFUSED: 401 and 403.
struct error *blocking_client_get(struct blocking_client *client, const char *path, bool metadata, struct json **out);
