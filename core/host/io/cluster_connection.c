// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_connection.h"

#include "core/base/memory.h"
#include "core/kube/client/ask.h"
#include "core/kube/transport/curl_transport.h"

#define PATIENCE_NS (20 * CLOCK_SECOND)

static struct error *load(const struct worker_spec *spec, const struct exec_policy *policy, struct endpoint **out) {
    const char *path = spec->kubeconfig_path, *text = spec->kubeconfig_text;
    struct exec_policy own = *policy; // a ClusterProfile names the cluster; the plugin is from the configuration
    own.own_entry = spec->source == SOURCE_CLUSTER_PROFILE;
    if (text)
        return kubeconfig_parse(text, strlen(text), spec->origin_text ? spec->origin_text : spec->settings.name,
                                spec->context, &own, out);
    if (!path)
        return kubeconfig_in_cluster("", out);
    // A list, as in KUBECONFIG, skips files that are not there; a single file must be.
    return strchr(path, ':') ? kubeconfig_load_list(path, spec->context, policy, out)
                             : kubeconfig_load(path, spec->context, policy, out);
}

struct error *connection_load(struct cluster_connection *connection, const struct worker_spec *spec,
                              const struct exec_policy *policy, int64_t wall_ns) {
    struct endpoint *endpoint = NULL;
    TRY(load(spec, policy, &endpoint));
    struct error *error = endpoint_check(endpoint, wall_ns);
    if (error)
        endpoint_free(endpoint);
    else
        connection->endpoint = endpoint;
    return error;
}

struct error *connection_open(struct cluster_connection *connection, struct budget *budget) {
    TRY(curl_transport_new(connection->endpoint, "wharf/" WHARF_VERSION, &connection->transport));
    connection->opened = endpoint_hold(connection->endpoint);
    curl_transport_limit(connection->transport, budget);
    return NULL;
}

bool connection_use(struct cluster_connection *connection, struct endpoint *endpoint) {
    bool same = endpoint == connection->endpoint;
    if (!same && !endpoint_same_address(connection->endpoint, endpoint)) {
        endpoint_free(endpoint);
        return false;
    }
    if (!same)
        curl_transport_renew(connection->transport, endpoint_hold(endpoint));
    endpoint_free(connection->endpoint);
    connection->endpoint = endpoint;
    return true;
}

bool connection_renew(struct cluster_connection *connection, const struct worker_spec *spec,
                      const struct exec_policy *policy, int64_t wall_ns) {
    struct cluster_connection fresh = {.endpoint = NULL};
    struct error *error = connection_load(&fresh, spec, policy, wall_ns);
    bool loaded = !error;
    error_free(error);
    return loaded && connection_use(connection, fresh.endpoint);
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

struct error *blocking_client_open(struct endpoint *endpoint, const char *cluster, const atomic_bool *stop,
                                   struct blocking_client *out) {
    *out = (struct blocking_client){.connection = {.endpoint = endpoint}, .stop = stop};
    struct error *error = connection_open(&out->connection, NULL);
    if (!error)
        error = connection_client(&out->connection, cluster, &out->client);
    if (error)
        blocking_client_close(out);
    return error;
}

void blocking_client_close(struct blocking_client *client) {
    client_free(client->client);
    connection_close(&client->connection);
    *client = (struct blocking_client){.client = NULL};
}

struct error *blocking_client_get(struct blocking_client *client, const char *path, bool metadata, struct json **out) {
    struct request request = {.verb = VERB_RAW_GET, .namespace_ = "", .name = path, .metadata = metadata};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    *out = NULL;
    TRY(ask_within(client->client, &request, PATIENCE_NS, client->stop, &response));
    *out = TAKE(response.value);
    if (response.reason == REASON_OK && *out)
        return NULL;
    enum error_code code = response.code == 404                           ? ERROR_NOT_FOUND
                           : response.code == 401 || response.code == 403 ? ERROR_REFUSED
                                                                          : ERROR_IO;
    return error_new(code, "%s", response.message ? response.message : "no answer");
}
