// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/remote.h"

#include "core/base/text.h"
#include "core/cmd/remote_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROXY_PATH "/api/v1/namespaces/%s/services/http:wharf:http/proxy"

const char remote_config[] = REMOTE_CONFIG;

void remote_options_read(const char *const *values, size_t first, struct remote_options *options) {
    *options = (struct remote_options){.server = values[first],
                                       .context = values[first + 1],
                                       .kubeconfig = values[first + 2],
                                       .config = values[first + 3],
                                       .host_namespace = values[first + 4],
                                       .service_account = values[first + 5]};
    bool by_default = options->config == remote_config;
    if (!options->server && !options->context && !options->kubeconfig && by_default)
        options->server = getenv("WHARF_SERVER");
    if (options->server && !*options->server)
        options->server = NULL;
}

struct error *remote_client(const struct endpoint *endpoint, const char *name, struct transport **transport,
                            struct client **client) {
    struct error *error = curl_transport_setup();
    if (!error)
        error = curl_transport_new(endpoint, "wharf/" WHARF_VERSION, transport);
    return error ? error : client_new(&(struct client_options){.cluster = name, .transport = *transport}, client);
}

// The configuration of a host on this machine. Only the default file may be missing, or wrong where it is not needed.
static struct error *read_config(struct remote *remote, const struct remote_options *options) {
    struct problems problems = {.count = 0};
    const char *path = options->config;
    if (!path)
        return NULL;
    bool by_default = strcmp(path, REMOTE_CONFIG) == 0;
    if (by_default && (options->server || options->context || options->kubeconfig || access(path, R_OK) != 0))
        return NULL;
    struct error *error = config_load(path, &problems, &remote->config);
    bool usable = remote->config && (remote->config->serve_address || problems.count == 0);
    if (!error && !usable)
        error = error_new(ERROR_INVALID, "%s", problems.count > 0 ? problems.list[0] : path);
    problems_free(&problems); // the others are reported by `wharf check`
    return error;
}

// Where the configuration says that the host is, and in which namespace its objects are.
static struct error *use_config(struct remote *remote) {
    const struct config *config = remote->config;
    if (config && config->namespace_ && strcmp(remote->host_namespace, REMOTE_NAMESPACE) == 0)
        remote->host_namespace = config->namespace_;
    if (!config || !config->serve_address)
        return NULL;
    remote->prefix = strdup("");
    remote->own_endpoint = remote_direct(text_format("http://%s", config->serve_address));
    return remote->prefix && remote->own_endpoint ? NULL : error_no_memory();
}

struct endpoint *remote_direct(char *server) {
    struct endpoint *endpoint = server ? calloc(1, sizeof *endpoint) : NULL;
    if (!endpoint) {
        free(server);
        return NULL;
    }
    for (size_t len = strlen(server); len > 0 && server[len - 1] == '/';)
        server[--len] = '\0';
    endpoint->server = server;
    endpoint->description = strdup(server);
    return endpoint;
}

static struct error *find_host(struct remote *remote, const struct remote_options *options) {
    struct error *error = read_config(remote, options);
    if (!error)
        error = use_config(remote);
    if (error)
        return error;
    if (options->server) {
        endpoint_free(remote->own_endpoint);
        free(remote->prefix);
        remote->own_endpoint = remote_direct(strdup(options->server));
        remote->prefix = strdup("");
    } else if (options->context || options->kubeconfig || !remote->own_endpoint) {
        endpoint_free(remote->own_endpoint);
        remote->own_endpoint = NULL;
        free(remote->prefix);
        remote->prefix = text_format(PROXY_PATH, remote->host_namespace);
        return remote->prefix ? remote_load_management(remote) : error_no_memory();
    }
    return remote->own_endpoint && remote->prefix ? NULL : error_no_memory();
}

struct error *remote_open(const struct remote_options *options, struct remote **out) {
    *out = NULL;
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return error_no_memory();
    remote->host_namespace = options->host_namespace ? options->host_namespace : REMOTE_NAMESPACE;
    remote->service_account = options->service_account;
    remote->kubeconfig = options->kubeconfig;
    remote->context = options->context;
    struct error *error = find_host(remote, options);
    if (!error)
        error = remote_client(remote_endpoint(remote), "host", &remote->host_transport, &remote->host);
    if (error) {
        remote_close(remote);
        return error;
    }
    *out = remote;
    return NULL;
}

int remote_use(const char *const *values, size_t first, struct error *(*use)(void *ctx, struct remote *remote),
               void *ctx) {
    struct remote *remote = NULL;
    struct remote_options options;
    remote_options_read(values, first, &options);
    struct error *error = remote_open(&options, &remote);
    if (!error)
        error = use(ctx, remote);
    remote_close(remote);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

static void close_client(struct client *client, struct transport *transport) {
    client_free(client);
    if (transport)
        transport->ops->free(transport);
}

void remote_close(struct remote *remote) {
    if (!remote)
        return;
    close_client(remote->host, remote->host_transport);
    close_client(remote->management, remote->management_transport);
    endpoint_free(remote->own_endpoint);
    endpoint_free(remote->management_endpoint);
    if (remote->token)
        explicit_bzero(remote->token, strlen(remote->token));
    free(remote->token);
    free(remote->prefix);
    config_free(remote->config);
    free(remote);
}

const struct endpoint *remote_endpoint(const struct remote *remote) {
    return remote->own_endpoint ? remote->own_endpoint : remote->management_endpoint;
}

const char *remote_prefix(const struct remote *remote) {
    return remote->prefix;
}

const char *remote_host_namespace(const struct remote *remote) {
    return remote->host_namespace;
}

void remote_parameter(struct buffer *path, const char *name, const char *value) {
    if (!value)
        return;
    buffer_printf(path, "%s%s=", path->data && strchr(path->data, '?') ? "&" : "?", name);
    text_percent_encode(path, value);
}

char *remote_object(const char *const operand[2]) {
    return operand[1] ? text_format("%s/%s", operand[0], operand[1]) : strdup(operand[0]);
}

struct error *remote_object_path(const char *prefix, const char *const operand[2], const char *namespace_,
                                 struct buffer *out) {
    AUTO_TEXT joined = remote_object(operand);
    if (!joined)
        return error_no_memory();
    char *slash = strchr(joined, '/');
    if (!slash || slash == joined || !slash[1] || strchr(slash + 1, '/'))
        return error_new(ERROR_INVALID, "found \"%s\", expected KIND/NAME, as in job/train", joined);
    *slash = '\0';
    const char *const segments[] = {joined, namespace_, slash + 1};
    buffer_text(out, prefix);
    for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
        buffer_char(out, '/');
        text_percent_encode(out, segments[i]);
    }
    return out->failed ? error_no_memory() : NULL;
}
