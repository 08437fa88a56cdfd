// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/remote/remote.h"

#include "core/base/text.h"
#include "core/cmd/remote/internal.h"

#include <stdlib.h>
#include <string.h>

void remote_options_read(const char *const *values, size_t first, struct remote_options *options) {
    *options = (struct remote_options){.server = values[first],
                                       .context = values[first + 1],
                                       .kubeconfig = values[first + 2],
                                       .config = values[first + 3],
                                       .host_namespace = values[first + 4],
                                       .service_account = values[first + 5],
                                       .authority = values[first + 6]};
    options->search = !options->server && !options->context && !options->kubeconfig && !options->config;
}

struct error *remote_client(const struct endpoint *endpoint, const char *name, struct transport **transport,
                            struct client **client) {
    struct error *error = curl_transport_setup();
    if (!error)
        error = curl_transport_new(endpoint, "wharf/" WHARF_VERSION, transport);
    return error ? error : client_new(&(struct client_options){.cluster = name, .transport = *transport}, client);
}

struct error *remote_open(const struct remote_options *options, struct remote **out) {
    const char *account = options->service_account, *slash = account ? strchr(account, '/') : NULL;
    *out = NULL;
    if (account && (!slash || slash == account || !slash[1]))
        return error_new(ERROR_USAGE, "--service-account: found \"%s\", expected NAMESPACE/NAME", account);
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return error_no_memory();
    remote->host_namespace = options->host_namespace ? options->host_namespace : REMOTE_NAMESPACE;
    remote->service_account = options->service_account;
    remote->authority = options->authority;
    remote->kubeconfig = options->kubeconfig;
    remote->context = options->context;
    struct error *error = remote_find(remote, options);
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

void remote_close(struct remote *remote) {
    if (!remote)
        return;
    remote_leave_place(remote);
    client_free(remote->management);
    if (remote->management_transport)
        remote->management_transport->ops->free(remote->management_transport);
    for (size_t i = 0; i < remote->n_places; i++)
        free(remote->places[i].server);
    endpoint_free(remote->management_endpoint);
    free(remote->missing);
    free(remote->tried);
    config_free(remote->config);
    free(remote);
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
        return error_new(ERROR_USAGE, "found \"%s\", expected KIND/NAME, as in job/train", joined);
    *slash = '\0';
    const char *const segments[] = {joined, namespace_, slash + 1};
    buffer_text(out, prefix);
    for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
        buffer_char(out, '/');
        text_percent_encode(out, segments[i]);
    }
    return out->failed ? error_no_memory() : NULL;
}
