// SPDX-License-Identifier: Apache-2.0
// A connection to a cluster for one purpose and one thread, which waits for answers: the pods of a mirror, their logs,
// a session. What is large or slow there delays nothing on the cluster's own thread.
#ifndef WHARF_HOST_IO_BLOCKING_CLIENT_H
#define WHARF_HOST_IO_BLOCKING_CLIENT_H

#include "core/json/json.h"
#include "core/kube/client/client.h"
#include "core/kube/kubeconfig/kubeconfig.h"

struct direct {
    struct endpoint *opened, *endpoint; // the transport's, and the one with the credentials in use
    struct transport *transport;
    struct client *client;
    const atomic_bool *stop; // once true, requests end with ERROR_STOPPED
};

// Takes the endpoint, also on failure. `cluster` is for log lines.
struct error *direct_open(struct endpoint *endpoint, const char *cluster, const atomic_bool *stop, struct direct *out);
void direct_close(struct direct *direct); // a zeroed one is fine

// Uses the credentials of `fresh`, whatever is open stays open; takes it. False: it has another address, so another
// connection is needed, and nothing changes.
bool direct_renew(struct direct *direct, struct endpoint *fresh);

// GET of a path. `metadata`: it is that of a list, of which metadata is enough. ERROR_NOT_FOUND: 404; ERROR_REFUSED:
// 401 and 403.
struct error *direct_get(struct direct *direct, const char *path, bool metadata, struct json **out);

#endif
