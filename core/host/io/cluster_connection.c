// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_connection.h"

#include "core/base/memory.h"
#include "core/kube/transport/curl_transport.h"

#include <string.h>

static struct error *load(const struct config_cluster *cluster, const struct exec_policy *policy,
                          struct endpoint **out) {
    if (!cluster->kubeconfig)
        return kubeconfig_in_cluster("", out);
    // A list, as in KUBECONFIG, skips files that are not there; a single file must be.
    if (strchr(cluster->kubeconfig, ':'))
        return kubeconfig_load_list(cluster->kubeconfig, cluster->context, policy, out);
    return kubeconfig_load(cluster->kubeconfig, cluster->context, policy, out);
}

// Takes the endpoint.
static struct error *check(struct cluster_connection *connection, struct endpoint *endpoint, int64_t wall_ns) {
    struct error *error = endpoint_check(endpoint, wall_ns);
    if (error)
        endpoint_free(endpoint);
    else
        connection->endpoint = endpoint;
    return error;
}

struct error *connection_load(struct cluster_connection *connection, const struct config_cluster *cluster,
                              const struct exec_policy *policy, int64_t wall_ns) {
    struct endpoint *endpoint = NULL;
    struct error *error = load(cluster, policy, &endpoint);
    return error ? error : check(connection, endpoint, wall_ns);
}

struct error *connection_load_worker(struct cluster_connection *connection, const struct worker_spec *spec,
                                     const struct exec_policy *policy, int64_t wall_ns) {
    struct endpoint *endpoint = NULL;
    if (!spec->kubeconfig_text)
        return connection_load(connection,
                               &(struct config_cluster){.kubeconfig = spec->kubeconfig_path, .context = spec->context},
                               policy, wall_ns);
    struct exec_policy own = *policy; // a ClusterProfile names the cluster; the plugin is from the configuration
    own.own_entry = spec->source == SOURCE_CLUSTER_PROFILE;
    struct error *error =
        kubeconfig_parse(spec->kubeconfig_text, strlen(spec->kubeconfig_text),
                         spec->origin_text ? spec->origin_text : spec->name, spec->context, &own, &endpoint);
    return error ? error : check(connection, endpoint, wall_ns);
}

struct error *connection_open(struct cluster_connection *connection, struct budget *budget) {
    struct error *error = curl_transport_new(connection->endpoint, "wharf/" WHARF_VERSION, &connection->transport);
    if (error)
        return error;
    connection->opened = endpoint_hold(connection->endpoint);
    curl_transport_limit(connection->transport, budget);
    return NULL;
}

bool connection_renew(struct cluster_connection *connection, const struct worker_spec *spec,
                      const struct exec_policy *policy, int64_t wall_ns) {
    struct cluster_connection fresh = {.endpoint = NULL};
    struct error *error = connection_load_worker(&fresh, spec, policy, wall_ns);
    bool same = !error && endpoint_same_address(connection->endpoint, fresh.endpoint);
    error_free(error);
    if (same) {
        curl_transport_renew(connection->transport, endpoint_hold(fresh.endpoint));
        endpoint_free(connection->endpoint);
        connection->endpoint = TAKE(fresh.endpoint);
    }
    connection_close(&fresh);
    return same;
}

struct error *connection_client(const struct cluster_connection *connection, const char *cluster, struct client **out) {
    struct client_options options = {.cluster = cluster, .transport = connection->transport};
    return client_new(&options, out);
}

void connection_close(struct cluster_connection *connection) {
    if (connection->transport)
        connection->transport->ops->free(connection->transport);
    endpoint_free(connection->opened);
    endpoint_free(connection->endpoint);
    *connection = (struct cluster_connection){0};
}
