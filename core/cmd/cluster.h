// SPDX-License-Identifier: Apache-2.0
// A cluster for an operator's command: opened with the operator's kubeconfig, called synchronously, its objects applied
// and deleted.
#pragma once

#include "core/config/config.h"
#include "core/host/io/cluster_connection.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

// Zero-initialised.
struct cluster {
    const char *role; // "worker", "management": begins lines and messages
    struct cluster_connection connection;
    struct client *client;
    char *uid; // of namespace kube-system
};

// The kubeconfig of the flag, else KUBECONFIG, else ~/.kube/config: paths joined by ":"; NULL when out of memory.
// free()
char *cluster_kubeconfig(const char *flag);
// Reads the files and skips missing ones.
struct error *cluster_read_kubeconfigs(const char *paths, struct kubeconfig *out);

// The endpoint of a context of the caller's own kubeconfig, which may run any exec plugin, as with kubectl. Both NULL:
// the default.
struct error *cluster_load(const char *kubeconfig, const char *context, struct endpoint **out);
// The management cluster that a host's configuration names: with the caller's credentials if the current context of the
// caller's kubeconfig leads to the same server, or if the caller may not read the files that the configuration names;
// else with the configuration's credentials. So a different current context has no effect.
struct error *cluster_load_management(const struct config *config, const char *kubeconfig, struct endpoint **out);

// Makes the transport and the client; takes the endpoint, also on failure. Sends nothing.
struct error *cluster_connect(struct cluster *cluster, const char *role, struct endpoint *endpoint);
// Connects, and reads the uid, so that the cluster has responded. `error` is that of loading *endpoint; takes both.
struct error *cluster_open(struct cluster *cluster, const char *role, struct error *error, struct endpoint **endpoint);
void cluster_close(struct cluster *cluster); // also for __attribute__((cleanup))

const char *cluster_server(const struct cluster *cluster);

// One request; `out` may be NULL. A response that is no success is an error with the cluster and the path:
// ERROR_NOT_FOUND for a 404, else ERROR_REFUSED.
struct error *cluster_send(struct cluster *cluster, const struct http_request *request, struct json **out);
// GET; *out NULL if there is none (404).
struct error *cluster_get(struct cluster *cluster, const char *path, struct json **out);
// A merge patch; a missing object (404) stays missing.
struct error *cluster_patch(struct cluster *cluster, const char *path, const char *body);

// Server-side apply as field manager wharf; prints "worker: namespace/wharf-system created", configured or unchanged. A
// An existing Namespace stays unchanged.
struct error *cluster_apply(struct cluster *cluster, const struct json *object);
// Prints "worker: ... deleted"; a missing object is fine and prints nothing.
struct error *cluster_delete(struct cluster *cluster, const char *kind, const char *namespace_, const char *name);
// The path of an object of a kind that the functions above handle; `name` NULL: of all. NULL when out of memory.
char *cluster_path(const char *kind, const char *namespace_, const char *name);
// GET of that path.
struct error *cluster_get_object(struct cluster *cluster, const char *kind, const char *namespace_, const char *name,
                                 struct json **out);
// Whether the cluster serves the kind in one of the versions.
struct error *cluster_serves(struct cluster *cluster, const char *group, const char *plural,
                             const char *const *versions, bool *served);
