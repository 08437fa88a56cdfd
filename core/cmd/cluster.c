// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/cluster.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"
#include "core/kube/transport/curl_transport.h"

#include <stdio.h>

#define APPLY_QUERY "?fieldManager=wharf&force=true"
#define BODY_MAX ((size_t)64 << 20)
#define TIMEOUT_NS (40 * CLOCK_SECOND)
#define POLL_NS (200 * CLOCK_MS)

char *cluster_kubeconfig(const char *flag) {
    const char *variable = getenv("KUBECONFIG"), *home = getenv("HOME");
    if (flag || (variable && *variable != '\0'))
        return strdup(flag ? flag : variable);
    return text_format("%s/.kube/config", home ? home : "");
}

struct error *cluster_read_kubeconfigs(const char *paths, struct kubeconfig *out) {
    AUTO_TEXT copy = strdup(paths);
    struct error *error = copy ? NULL : error_no_memory();
    char *rest = copy;
    for (char *path; !error && (path = strsep(&rest, ":"));)
        error = *path ? kubeconfig_add(out, path, true) : NULL;
    return error;
}

struct error *cluster_load(const char *kubeconfig, const char *context, struct endpoint **out) {
    const struct exec_policy any = {.any = true};
    AUTO_TEXT paths = cluster_kubeconfig(kubeconfig);
    if (!paths)
        return error_no_memory();
    return strchr(paths, ':') ? kubeconfig_load_list(paths, context, &any, out)
                              : kubeconfig_load(paths, context, &any, out);
}

struct error *cluster_load_management(const struct config *config, const char *kubeconfig, struct endpoint **out) {
    __attribute__((cleanup(connection_close))) struct cluster_connection configured = {.endpoint = NULL};
    struct endpoint *users = NULL;
    struct error *error =
        connection_load(&configured, &config->management, &config->credential_plugins, clock_now().wall_ns);
    error_free(cluster_load(kubeconfig, NULL, &users));
    bool is_users = users && (error || endpoint_same_address(configured.endpoint, users));
    if (users && !is_users)
        endpoint_free(users);
    *out = is_users ? users : TAKE(configured.endpoint);
    if (!*out)
        return error_wrap(error, "the management cluster of the configuration");
    error_free(error);
    return NULL;
}

struct error *cluster_connect(struct cluster *cluster, const char *role, struct endpoint *endpoint) {
    cluster->role = role;
    cluster->connection.endpoint = endpoint;
    TRY(curl_transport_setup());
    TRY(connection_open(&cluster->connection, NULL));
    return connection_client(&cluster->connection, role, &cluster->client);
}

static struct error *read_uid(struct cluster *cluster) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    struct request request = cluster_id_request();
    TRY(ask(cluster->client, &request, &response));
    const char *uid = cluster_id_uid(&response);
    if (*uid != '\0')
        return (cluster->uid = strdup(uid)) ? NULL : error_no_memory();
    AUTO_TEXT problem = cluster_id_problem(&response);
    return error_new(ERROR_REFUSED, "%s", problem ? problem : response.message);
}

struct error *cluster_open(struct cluster *cluster, const char *role, struct error *error, struct endpoint **endpoint) {
    cluster->connection.endpoint = *endpoint;
    if (!error)
        error = endpoint_check(*endpoint, clock_now().wall_ns);
    if (!error)
        error = cluster_connect(cluster, role, *endpoint);
    if (!error)
        error = error_wrap(read_uid(cluster), "%s (%s)", (*endpoint)->description, (*endpoint)->server);
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

struct cluster_exchange {
    struct response *response;
    bool done;
};

static void on_done(void *ctx, const struct http_result *result) {
    struct cluster_exchange *exchange = ctx;
    response_read(exchange->response, result, VERB_RAW_GET);
    exchange->done = true;
}

static struct error *send_once(struct transport *transport, const struct http_request *request,
                               struct response *response) {
    struct cluster_exchange exchange = {.response = response};
    const struct http_handler handler = {.done = on_done, .ctx = &exchange};
    response_clear(response);
    if (transport->ops->submit(transport, request, &handler) == 0)
        return error_no_memory();
    while (!exchange.done)
        curl_transport_poll(transport, POLL_NS);
    return NULL;
}

static struct error *refusal(const struct cluster *cluster, const struct http_request *request,
                             const struct response *response) {
    return error_new(response->code == 404 ? ERROR_NOT_FOUND : ERROR_REFUSED, "%s: %s %.*s: %s", cluster->role,
                     http_method_name(request->method), (int)strcspn(request->path, "?"), request->path,
                     response->message);
}

struct error *cluster_send(struct cluster *cluster, const struct http_request *request, struct json **out) {
    struct transport *transport = cluster->connection.transport;
    __attribute__((cleanup(response_clear))) struct response response = {.message = NULL};
    struct http_request full = *request;
    full.accept = "application/json";
    full.max_body = BODY_MAX;
    full.timeout_ns = TIMEOUT_NS;
    full.body_len = full.body ? strlen(full.body) : 0;
    if (out)
        *out = NULL;
    TRY(send_once(transport, &full, &response));
    if (response.reason == REASON_UNAUTHORIZED && transport->ops->refresh(transport))
        TRY(send_once(transport, &full, &response));
    if (response.reason != REASON_OK || (out && !response.value))
        return refusal(cluster, request, &response);
    if (out)
        *out = TAKE(response.value);
    return NULL;
}

static struct error *ignore_missing(struct error *error) {
    if (!error || error->code != ERROR_NOT_FOUND)
        return error;
    error_free(error);
    return NULL;
}

struct error *cluster_get(struct cluster *cluster, const char *path, struct json **out) {
    return ignore_missing(cluster_send(cluster, &(struct http_request){.method = HTTP_GET, .path = path}, out));
}

struct error *cluster_patch(struct cluster *cluster, const char *path, const char *body) {
    const struct http_request request = {
        .method = HTTP_PATCH, .path = path, .content_type = "application/merge-patch+json", .body = body};
    return path && body ? ignore_missing(cluster_send(cluster, &request, NULL)) : error_no_memory();
}

static const struct {
    const char *kind, *word, *root; // `word` as kubectl prints it
} kinds[] = {
    {"Namespace", "namespace", "/api/v1"},
    {"ServiceAccount", "serviceaccount", "/api/v1"},
    {"Secret", "secret", "/api/v1"},
    {"ClusterRole", "clusterrole.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"ClusterRoleBinding", "clusterrolebinding.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"Role", "role.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"RoleBinding", "rolebinding.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
};

static size_t index_of(const char *kind) {
    size_t i = 0;
    while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].kind, kind) != 0)
        i++;
    return i;
}

char *cluster_path(const char *kind, const char *namespace_, const char *name) {
    size_t index = index_of(kind);
    AUTO_BUFFER(path, 4096);
    buffer_text(&path, kinds[index].root);
    if (namespace_) {
        buffer_text(&path, "/namespaces/");
        text_percent_encode(&path, namespace_);
    }
    buffer_printf(&path, "/%.*ss", (int)strcspn(kinds[index].word, "."), kinds[index].word);
    if (name) {
        buffer_char(&path, '/');
        text_percent_encode(&path, name);
    }
    return buffer_take(&path, NULL);
}

// With the namespace, which kubectl does not print: commands write to two clusters.
static void print_done(const struct cluster *cluster, const char *kind, const char *namespace_, const char *name,
                       const char *what) {
    printf("%s: %s/%s %s%s%s\n", cluster->role, kinds[index_of(kind)].word, name, what,
           namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "");
}

struct error *cluster_get_object(struct cluster *cluster, const char *kind, const char *namespace_, const char *name,
                                 struct json **out) {
    *out = NULL;
    AUTO_TEXT path = cluster_path(kind, namespace_, name);
    return path ? cluster_get(cluster, path, out) : error_no_memory();
}

struct error *cluster_apply(struct cluster *cluster, const struct json *object) {
    const char *kind = json_string_or(json_get(object, "kind"), ""), *name = object_name(object);
    const char *namespace_ = json_string(json_path(object, "metadata", "namespace", NULL));
    AUTO_TEXT path = cluster_path(kind, namespace_, name);
    AUTO_TEXT query = path ? text_format("%s" APPLY_QUERY, path) : NULL;
    AUTO_TEXT body = json_text(object, NULL);
    AUTO_JSON before = NULL;
    AUTO_JSON after = NULL;
    TRY(query && body ? cluster_get(cluster, path, &before) : error_no_memory());
    const struct http_request request = {
        .method = HTTP_PATCH, .path = query, .content_type = "application/apply-patch+yaml", .body = body};
    bool stays = before && strcmp(kind, "Namespace") == 0;
    if (!stays)
        TRY(cluster_send(cluster, &request, &after));
    bool same = stays || (before && strcmp(object_version(before), object_version(after)) == 0);
    print_done(cluster, kind, namespace_, name, !before ? "created" : same ? "unchanged" : "configured");
    return NULL;
}

struct error *cluster_delete(struct cluster *cluster, const char *kind, const char *namespace_, const char *name) {
    AUTO_TEXT path = cluster_path(kind, namespace_, name);
    const struct http_request request = {.method = HTTP_DELETE, .path = path};
    struct error *error = path ? cluster_send(cluster, &request, NULL) : error_no_memory();
    if (!error)
        print_done(cluster, kind, namespace_, name, "deleted");
    return ignore_missing(error);
}

struct error *cluster_serves(struct cluster *cluster, const char *group, const char *plural,
                             const char *const *versions, bool *served) {
    struct error *error = NULL;
    *served = false;
    for (size_t i = 0; !error && !*served && versions[i]; i++) {
        AUTO_TEXT path = api_resources_path(group, versions[i]);
        AUTO_JSON list = NULL;
        error = path ? cluster_get(cluster, path, &list) : error_no_memory();
        *served = list && api_resources_find(list, plural);
    }
    return error;
}
