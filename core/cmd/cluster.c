// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/cluster.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/cluster_id.h"
#include "core/kube/client/ask.h"
#include "core/kube/transport/curl_transport.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)64 << 20)
#define TIMEOUT_NS (40 * CLOCK_SECOND)
#define POLL_NS (200 * CLOCK_MS)

char *cluster_kubeconfig(const char *kubeconfig) {
    const char *variable = getenv("KUBECONFIG");
    if (kubeconfig)
        return strdup(kubeconfig);
    if (variable && *variable != '\0')
        return strdup(variable);
    const char *home = getenv("HOME");
    return text_format("%s/.kube/config", home ? home : "");
}

static struct error *read_uid(struct cluster *cluster) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    struct request request = cluster_id_request();
    struct error *error = ask(cluster->client, &request, &response);
    if (error)
        return error;
    const char *uid = cluster_id_uid(&response);
    if (*uid != '\0')
        return (cluster->uid = strdup(uid)) ? NULL : error_no_memory();
    AUTO_TEXT problem = cluster_id_problem(&response);
    return error_new(ERROR_REFUSED, "%s", problem ? problem : response.message);
}

// Takes the endpoint, also on failure.
static struct error *open_endpoint(struct cluster *cluster, struct endpoint *endpoint) {
    cluster->connection.endpoint = endpoint;
    struct error *error = endpoint_check(endpoint, clock_now().wall_ns);
    if (!error)
        error = curl_transport_setup();
    if (!error)
        error = connection_open(&cluster->connection, NULL);
    if (!error)
        error = connection_client(&cluster->connection, cluster->role, &cluster->client);
    if (!error)
        error = error_wrap(read_uid(cluster), "%s (%s)", endpoint->description, endpoint->server);
    return error;
}

struct error *cluster_load(const char *paths, const char *context, struct endpoint **out) {
    const struct exec_policy any = {.any = true};
    return strchr(paths, ':') ? kubeconfig_load_list(paths, context, &any, out)
                              : kubeconfig_load(paths, context, &any, out);
}

struct error *cluster_beside(const struct config *config, const char *kubeconfigs, struct endpoint **out) {
    struct cluster_connection connection = {.endpoint = NULL};
    struct endpoint *users = NULL;
    struct error *error =
        connection_load(&connection, &config->management, &config->credential_plugins, clock_now().wall_ns);
    struct error *unused = kubeconfigs ? cluster_load(kubeconfigs, "", &users) : NULL;
    struct endpoint *own = TAKE(connection.endpoint);
    bool is_users = users && (!own || endpoint_same_address(own, users));
    *out = is_users ? TAKE(users) : TAKE(own);
    endpoint_free(own);
    endpoint_free(users);
    error_free(unused);
    connection_close(&connection);
    if (!*out)
        return error_wrap(error, "the management cluster of the configuration");
    error_free(error);
    return NULL;
}

struct error *cluster_open_management(struct cluster *cluster, const struct config *config, const char *kubeconfig) {
    struct endpoint *endpoint = NULL;
    cluster->role = "management";
    AUTO_TEXT paths = cluster_kubeconfig(kubeconfig);
    struct error *error = paths ? cluster_beside(config, paths, &endpoint) : error_no_memory();
    if (!error)
        error = open_endpoint(cluster, endpoint);
    return error_wrap(error, "management");
}

struct error *cluster_open(struct cluster *cluster, const char *role, const char *kubeconfig, const char *context) {
    struct endpoint *endpoint = NULL;
    cluster->role = role;
    AUTO_TEXT paths = cluster_kubeconfig(kubeconfig);
    if (!paths)
        return error_no_memory();
    struct error *error = cluster_load(paths, context, &endpoint);
    if (!error)
        error = open_endpoint(cluster, endpoint);
    return error_wrap(error, "%s", role);
}

struct error *cluster_open_text(struct cluster *cluster, const char *role, const char *text, size_t len,
                                const char *name) {
    struct endpoint *endpoint = NULL;
    cluster->role = role;
    struct error *error = kubeconfig_parse(text, len, name, NULL, NULL, &endpoint);
    if (!error)
        error = open_endpoint(cluster, endpoint);
    return error_wrap(error, "%s", role);
}

struct error *cluster_open_here(struct cluster *cluster, const char *role) {
    struct endpoint *endpoint = NULL;
    cluster->role = role;
    struct error *error = kubeconfig_in_cluster("", &endpoint);
    if (!error)
        error = open_endpoint(cluster, endpoint);
    return error_wrap(error, "%s", role);
}

void cluster_close(struct cluster *cluster) {
    client_free(cluster->client);
    connection_close(&cluster->connection);
    free(cluster->uid);
    *cluster = (struct cluster){0};
}

const char *cluster_server(const struct cluster *cluster) {
    return cluster->connection.endpoint->server;
}

struct one_call {
    struct response *response;
    bool done;
};

static void on_done(void *ctx, const struct http_result *result) {
    struct one_call *exchange = ctx;
    response_read(exchange->response, result, VERB_RAW_GET);
    exchange->done = true;
}

static struct error *send_once(struct cluster *cluster, const struct http_request *request, struct response *response) {
    struct one_call exchange = {.response = response};
    const struct http_handler handler = {.done = on_done, .ctx = &exchange};
    struct transport *transport = cluster->connection.transport;
    *response = (struct response){.retry_after_ns = -1};
    if (transport->ops->submit(transport, request, &handler) == 0)
        return error_no_memory();
    while (!exchange.done)
        curl_transport_poll(transport, POLL_NS);
    return NULL;
}

struct error *cluster_call(struct cluster *cluster, const struct http_request *request, struct response *response) {
    struct transport *transport = cluster->connection.transport;
    struct http_request full = *request;
    full.accept = "application/json";
    full.max_body = BODY_MAX;
    full.timeout_ns = TIMEOUT_NS;
    struct error *error = send_once(cluster, &full, response);
    if (error || response->reason != REASON_UNAUTHORIZED || !transport->ops->refresh(transport))
        return error;
    response_clear(response);
    return send_once(cluster, &full, response);
}

struct error *cluster_refusal(const struct cluster *cluster, const struct http_request *request,
                              const struct response *response) {
    return error_new(ERROR_REFUSED, "%s: %s %.*s: %s", cluster->role, http_method_name(request->method),
                     (int)strcspn(request->path, "?"), request->path, response->message);
}

struct error *cluster_get(struct cluster *cluster, const char *path, struct json **out) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    const struct http_request request = {.method = HTTP_GET, .path = path};
    *out = NULL;
    struct error *error = cluster_call(cluster, &request, &response);
    if (error || response.code == 404)
        return error;
    if (response.reason != REASON_OK || !response.value)
        return cluster_refusal(cluster, &request, &response);
    *out = TAKE(response.value);
    return NULL;
}
