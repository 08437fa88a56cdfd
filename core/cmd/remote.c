// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/remote.h"

#include "core/base/text.h"
#include "core/cmd/remote_internal.h"
#include "core/config/config.h"
#include "core/kube/ask.h"
#include "core/kube/exec_policy.h"
#include "core/kube/token_request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUDIENCE "wharf.dev"
#define TOKEN_SECONDS 3600
#define DEFAULT_ACCOUNT "wharf-viewer"
#define PROXY_PATH "/api/v1/namespaces/%s/services/http:wharf:http/proxy"

void remote_options_read(const char *const *values, size_t first, struct remote_options *options) {
    *options = (struct remote_options){.server = values[first],
                                       .context = values[first + 1],
                                       .kubeconfig = values[first + 2],
                                       .config = values[first + 3],
                                       .host_namespace = values[first + 4],
                                       .service_account = values[first + 5]};
    if (!options->server && !options->context && !options->kubeconfig)
        options->server = getenv("WHARF_SERVER");
    if (options->server && !*options->server)
        options->server = NULL;
}

// The files that kubectl would use: the flag, KUBECONFIG, ~/.kube/config; free(). NULL: none.
static char *user_kubeconfig(const struct remote *remote) {
    const char *listed = remote->kubeconfig ? remote->kubeconfig : getenv("KUBECONFIG"), *home = getenv("HOME");
    if (listed && *listed)
        return strdup(listed);
    char *path = home && *home ? text_format("%s/.kube/config", home) : NULL;
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return remote->config_kubeconfig ? strdup(remote->config_kubeconfig) : NULL;
}

static struct error *load_management(struct remote *remote) {
    const struct exec_policy mine = {.any = true}; // the caller's own kubeconfig, as kubectl runs it
    AUTO_TEXT paths = user_kubeconfig(remote);
    const char *context = remote->context ? remote->context : "";
    if (!paths)
        return error_wrap(kubeconfig_in_cluster("", &remote->management_endpoint), "found no kubeconfig");
    return strchr(paths, ':') ? kubeconfig_load_list(paths, context, &mine, &remote->management_endpoint)
                              : kubeconfig_load(paths, context, &mine, &remote->management_endpoint);
}

static struct error *open_client(const struct endpoint *endpoint, const char *name, struct transport **transport,
                                 struct client **client) {
    struct error *error = curl_transport_setup();
    if (!error)
        error = curl_transport_new(endpoint, "wharf/" WHARF_VERSION, transport);
    return error ? error : client_new(&(struct client_options){.cluster = name, .transport = *transport}, client);
}

struct error *remote_management(struct remote *remote, struct client **out) {
    struct error *error = remote->management_endpoint ? NULL : load_management(remote);
    if (!error && !remote->management)
        error =
            open_client(remote->management_endpoint, "management", &remote->management_transport, &remote->management);
    *out = remote->management;
    return error;
}

// The address of a host on this machine, from its configuration; no configuration is not an error.
static struct error *read_config(struct remote *remote, const char *path) {
    struct problems problems = {.count = 0};
    struct config *config = NULL;
    if (!path || access(path, R_OK) != 0)
        return NULL;
    struct error *error = config_load(path, &problems, &config);
    if (!error && config && config->serve_address)
        remote->prefix = strdup("");
    if (remote->prefix)
        remote->own_endpoint = remote_direct(text_format("http://%s", config->serve_address));
    if (config && config->management.kubeconfig)
        remote->config_kubeconfig = strdup(config->management.kubeconfig);
    config_free(config);
    problems_free(&problems); // `wharf check` reports them
    return error;
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
    struct error *error = read_config(remote, options->config);
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
        remote->prefix = text_format(PROXY_PATH, options->host_namespace);
        return remote->prefix ? load_management(remote) : error_no_memory();
    }
    return remote->own_endpoint && remote->prefix ? NULL : error_no_memory();
}

struct error *remote_open(const struct remote_options *options, struct remote **out) {
    *out = NULL;
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return error_no_memory();
    remote->host_namespace = options->host_namespace ? options->host_namespace : "wharf-system";
    remote->service_account = options->service_account;
    remote->kubeconfig = options->kubeconfig;
    remote->context = options->context;
    struct error *error = find_host(remote, options);
    if (!error)
        error = open_client(remote_endpoint(remote), "host", &remote->host_transport, &remote->host);
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
    free(remote->config_kubeconfig);
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

struct error *remote_namespace(struct remote *remote, const char **out) {
    struct error *error = remote->management_endpoint ? NULL : load_management(remote);
    *out = error || !remote->management_endpoint->namespace_ ? "default" : remote->management_endpoint->namespace_;
    error_free(error); // without a kubeconfig there is no other namespace
    return NULL;
}

// A caller with a client certificate has no token that the host could have reviewed.
static struct error *request_token(struct remote *remote) {
    struct client *client = NULL;
    const char *given = remote->service_account, *slash = given ? strchr(given, '/') : NULL;
    if (given && (!slash || slash == given || !slash[1]))
        return error_new(ERROR_INVALID, "--service-account: found \"%s\", expected NAMESPACE/NAME", given);
    AUTO_TEXT namespace_ = given ? strndup(given, (size_t)(slash - given)) : strdup(remote->host_namespace);
    const char *account = given ? slash + 1 : DEFAULT_ACCOUNT;
    struct error *error = namespace_ ? remote_management(remote, &client) : error_no_memory();
    struct token_request request = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    int64_t expires_ns = 0;
    if (!error)
        error = token_request_make(namespace_, account, TOKEN_SECONDS, AUDIENCE, &request);
    if (!error)
        error = ask(client, &request.request, &response);
    if (!error)
        error = token_request_read(&response, &remote->token, &expires_ns);
    token_request_clear(&request);
    return error_wrap(error, "no token for the host: %s has none, and ServiceAccount %s/%s gave none",
                      remote->management_endpoint ? remote->management_endpoint->description : "the kubeconfig",
                      namespace_ ? namespace_ : "", account);
}

struct error *remote_token(struct remote *remote, const char **token) {
    struct error *error = remote->token || remote->management_endpoint ? NULL : load_management(remote);
    if (!error && !remote->token)
        error = endpoint_fetch_token(remote->management_endpoint, &remote->token);
    if (!error && !remote->token)
        error = request_token(remote);
    *token = remote->token;
    return error;
}

void remote_parameter(struct buffer *path, const char *name, const char *value) {
    if (!value)
        return;
    buffer_printf(path, "%s%s=", path->data && strchr(path->data, '?') ? "&" : "?", name);
    text_percent_encode(path, value);
}

struct error *remote_object_path(const char *prefix, const char *operand, const char *namespace_, struct buffer *out) {
    const char *slash = strchr(operand, '/');
    AUTO_TEXT kind = slash ? strndup(operand, (size_t)(slash - operand)) : NULL;
    if (!slash || slash == operand || !slash[1] || strchr(slash + 1, '/'))
        return error_new(ERROR_INVALID, "found \"%s\", expected KIND/NAME, as in job/train", operand);
    const char *const segments[] = {kind ? kind : "", namespace_, slash + 1};
    buffer_text(out, prefix);
    for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
        buffer_char(out, '/');
        text_percent_encode(out, segments[i]);
    }
    return out->failed || !kind ? error_no_memory() : NULL;
}
