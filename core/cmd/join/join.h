// SPDX-License-Identifier: Apache-2.0
// `wharf join` and `wharf leave` make a cluster a worker, and end that, by objects on both sides: the host's rights and
// a token in the worker, and a Secret with a kubeconfig in the management cluster.
#pragma once

#include "core/cmd/rbac/rbac.h"
#include "core/cmd/remote/remote.h"
#include "core/engine/clusters/clusters.h"

#define JOIN_LABEL "wharf.dev/worker"
#define JOIN_LABELS "worker.wharf.dev/" // the prefix of the worker's own labels
#define JOIN_NAME "wharf.dev/worker-name"
#define JOIN_UID IDENTITY_ANNOTATION
#define JOIN_OWNER "wharf.dev/management-uid" // on the ServiceAccount: of the host's management cluster
#define JOIN_DRAIN "wharf.dev/drain"
#define JOIN_ACCOUNT "wharf.dev/token-service-account"
#define JOIN_KUBECONFIG_MAX ((size_t)1 << 20)

// The reply of the running host, for a command without a configuration.
struct join_needed {
    struct json *document; // of the API; NULL: not requested
    struct rights rights;  // point into it
};

struct join {
    struct call *call;
    char *name;             // of the worker
    const char *namespace_; // of the host, in both clusters
    const char *labels;     // "region=eu,gpu=yes", or NULL
    char *kept_labels;      // the worker's former ones
    const char *names;      // of namespaces, see namespace_map_read; or NULL
    char *kept_names;       // the worker's former ones
    struct setup setup;
    struct rbac_options rights; // in the worker
    struct join_needed needed, needed_with_logs;
    struct cluster worker, management;
    char *token; // of the host, in the worker
};

// identity.c
// Refuses the management cluster itself, a cluster that is joined under another name, and a name of another cluster.
struct error *join_check_identity(struct join *join);
// The uid of the management cluster with the host that uses an account in the worker; NULL: not known.
struct error *join_owner(struct cluster *worker, const char *namespace_, const char *account, char **uid);
// The Secrets of all workers, an array; NULL: none.
struct error *join_list_secrets(struct cluster *management, const char *namespace_, struct json **out);
const char *join_worker_of(const struct json *secret); // the worker's name

// The management cluster that the flags name, else that of the configuration file, else the current context's.
struct error *join_open_management(struct cluster *cluster, const struct call *call, const struct setup *setup);

// command.c
// The kubeconfig with which the host connects; with `server` NULL the address is that of the operator's kubeconfig.
struct error *join_kubeconfig(const struct join *join, const char *server, const char *token, struct buffer *out);

// host.c
// Connects with the new credentials and checks each right and which kinds are served.
struct error *join_check_rights(struct join *join);
// Uses the rights from the running host's API; prints a line if no host responds. ERROR_USAGE: a configuration is
// needed for rights that a host only gets with one.
struct error *join_read_needed(struct join *join);
void join_needed_clear(struct join_needed *needed);
// Refuses to take rights away from the host's ClusterRole in the worker, except with consent or by flags.
struct error *join_check_lost(struct join *join, bool agreed);

// The way to the running host, as call->remote: the configured address, WHARF_SERVER, or the management cluster.
struct error *join_open_host(struct call *call, const struct setup *setup, const char *namespace_);
// Waits until the host shows the worker Ready; prints a line if no host responds.
struct error *join_await_ready(const struct join *join);
