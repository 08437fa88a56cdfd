// SPDX-License-Identifier: Apache-2.0
// A connection to a cluster for one purpose and one thread, which waits for answers: the pods of a mirror, their logs,
// a session. Large or slow answers there delay nothing on the cluster's own thread.
#pragma once

#include "core/host/io/cluster_connection.h"

#include <stdatomic.h>

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
