// SPDX-License-Identifier: Apache-2.0
// A cluster as a command of an operator uses it: opened with the operator's own kubeconfig, asked synchronously, its
// objects applied and deleted.
#ifndef WHARF_CMD_CLUSTER_H
#define WHARF_CMD_CLUSTER_H

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/host/io/cluster_connection.h"
#include "core/kube/client/client.h"

#include <stdbool.h>

// Zero-initialised.
struct cluster {
    const char *role; // "worker", "management": begins lines and messages
    struct cluster_connection connection;
    struct client *client;
    char *uid; // of namespace kube-system
};

// `kubeconfig` NULL: KUBECONFIG, else ~/.kube/config. `context` NULL: the current one. The file may run any exec
// plugin: it is the caller's own. Reads the cluster's uid, so that it has answered.
struct error *cluster_open(struct cluster *cluster, const char *role, const char *kubeconfig, const char *context);
// Of the caller's own kubeconfigs, several with ":" between them: they may run any exec plugin, as with kubectl.
struct error *cluster_load(const char *paths, const char *context, struct endpoint **out);
// The management cluster that a host's configuration names: with the caller's credentials if the current context of
// `kubeconfigs` (NULL: none) leads to the same server, or if the caller may not read what the configuration names; else
// with those of the configuration. So no other cluster is used because it happens to be the current context.
struct error *cluster_beside(const struct config *config, const char *kubeconfigs, struct endpoint **out);
struct error *cluster_open_management(struct cluster *cluster, const struct config *config, const char *kubeconfig);
// With a kubeconfig from elsewhere, which may name no file and run nothing. `name` stands for its path in messages.
struct error *cluster_open_text(struct cluster *cluster, const char *role, const char *text, size_t len,
                                const char *name);
// With the service account of the pod that this runs in.
struct error *cluster_open_here(struct cluster *cluster, const char *role);
void cluster_close(struct cluster *cluster); // also for __attribute__((cleanup))

// The kubeconfigs that cluster_open reads, with ":" between them; NULL when out of memory. free()
char *cluster_kubeconfig(const char *kubeconfig);

const char *cluster_server(const struct cluster *cluster);

// One request with any path, method and body; the document is response->value. An error only if nothing was sent.
struct error *cluster_call(struct cluster *cluster, const struct http_request *request, struct response *response);
// GET; *out NULL if there is none (404). Other answers are errors that name the cluster and the path.
struct error *cluster_get(struct cluster *cluster, const char *path, struct json **out);

// An error for an answer that is no success: "worker: PATCH /api/...: message".
struct error *cluster_refusal(const struct cluster *cluster, const struct http_request *request,
                              const struct response *response);

// Server-side apply as field manager wharf; prints "worker: namespace/wharf-system created", configured or unchanged. A
// Namespace that exists is left as it is.
struct error *cluster_apply(struct cluster *cluster, const struct json *object);
// Prints "worker: ... deleted"; not found is fine and prints nothing.
struct error *cluster_delete(struct cluster *cluster, const char *kind, const char *namespace_, const char *name);
// The path of an object of one of the kinds that these handle; `name` NULL: of all. NULL when out of memory.
char *cluster_path(const char *kind, const char *namespace_, const char *name);

#endif
