// SPDX-License-Identifier: Apache-2.0
// Shared by remote.c (where the host is), remote_management.c (its management cluster, and who calls) and
// remote_requests.c.
#ifndef WHARF_CMD_REMOTE_INTERNAL_H
#define WHARF_CMD_REMOTE_INTERNAL_H

#include "core/cmd/remote.h"
#include "core/config/config.h"
#include "core/kube/curl_transport.h"

struct remote {
    const char *host_namespace, *service_account, *kubeconfig, *context; // not owned
    struct config *config;                                               // of a host on this machine; or NULL
    struct endpoint *own_endpoint;                                       // of the host; NULL: through management
    struct endpoint *management_endpoint;                                // NULL: not loaded yet
    char *prefix;                                                        // of paths at the endpoint
    char *token;                                                         // NULL: not obtained yet
    struct transport *host_transport, *management_transport;
    struct client *host, *management;
    bool management_checked; // that it is the host's
};

// Loads management_endpoint, unless it is loaded.
struct error *remote_load_management(struct remote *remote);
struct error *remote_client(const struct endpoint *endpoint, const char *name, struct transport **transport,
                            struct client **client);

// An endpoint without credentials. Takes the URL. NULL when out of memory.
struct endpoint *remote_direct(char *server);

#endif
