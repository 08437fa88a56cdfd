// SPDX-License-Identifier: Apache-2.0
// Internal to core/host/check/preflight*.c: the check of one cluster.
#pragma once

#include "core/base/namespace_map.h"
#include "core/base/text.h"
#include "core/host/check/preflight.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/client.h"

#include <pthread.h>

// One cluster, checked on a thread of its own.
struct visit {
    struct preflight *preflight;
    const struct worker_spec *spec; // the management cluster's too
    const char *name;               // of the cluster
    struct cluster_connection *connection;
    struct cluster_connection own; // of a worker that is not in the configuration
    const char *server;            // "" without an endpoint
    bool management;
    char *uid;          // of namespace kube-system, or NULL
    const char *origin; // of the host; NULL: not known (yet)
    struct client *client;
    struct json *namespaces; // see visit_namespaces; or NULL
    struct problems problems, warnings;
    char *git_version;   // "v1.36.0"; or NULL
    const char *without; // of the right that is checked: see struct right
    struct denied *denied;
    size_t n_denied;
    bool secrets_refused; // the worker refused the list, and the problem was reported
    pthread_t thread;
    bool started;
};

void visit_init(struct visit *visit, struct preflight *preflight, const struct worker_spec *spec,
                struct cluster_connection *connection);
void visit_problem(struct visit *visit, const char *format, ...) __attribute__((format(printf, 2, 3)));
void visit_warn(struct visit *visit, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool visit_error(struct visit *visit, struct error *error); // takes the error; false: none

bool visit_open(struct visit *visit);  // the client; false: there is a problem
void visit_close(struct visit *visit); // the client
// GET; `path` NULL: out of memory. False: the document cannot be read, which proves nothing.
bool visit_read(struct visit *visit, const char *path, bool metadata, struct response *response);
// The first object of a kind, perhaps metadata alone; NULL: none, or the host may not list them.
const struct json *visit_list(struct visit *visit, const wharf_kind *abi, const char *version, const char *query,
                              bool metadata, struct response *response);
// Asks the cluster about a permission, as the tenant unless NULL. *allowed is a JSON bool of the response; NULL: the
// response has none.
struct error *visit_review(struct visit *visit, const char *tenant, const struct access_review *question,
                           struct response *response, const struct json **allowed);
// The metadata of all namespaces, an array; read once, and kept in the visit.
struct error *visit_namespaces(struct visit *visit, const struct json **out);

// preflight_sources.c
// Lists the configured sources of workers into preflight->found.
void visit_read_sources(struct visit *visit);

// The workers of all sources, merged as by the host. Adds a problem for each item that is not used.
struct error *preflight_merge(struct preflight *preflight, struct problems *problems, struct worker_spec **specs,
                              size_t *count);

// preflight_namespaces.c
// After all other checks, visits[0] being that of the management cluster, with the origin in all; also the rights of
// the workers with a map.
void visits_check_namespaces(struct visit *visits, size_t count);
// The name of a namespace in the cluster. False: it has none there.
bool visit_namespace(const struct visit *visit, const char *here, char out[NAMESPACE_SIZE]);
void visit_check_rights(struct visit *visit);

// preflight_tenants.c
// As visits_check_namespaces; with tenancy only.
void visits_check_tenants(struct preflight *preflight, struct visit *visits, size_t count);

// preflight_dependencies.c
// Warns of resources of `dependencies` that the cluster does not serve.
void visit_check_dependencies(struct visit *visit);
