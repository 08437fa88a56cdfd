// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/remote/remote.h"

#include "core/base/text.h"
#include "core/cmd/remote/internal.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct flag remote_flags[REMOTE_N_FLAGS] = {
    VALUE_FLAG("server", 0, "URL",
               "the host's address, also unix:PATH (default: $WHARF_SERVER, else that of --config, else\n"
               "127.0.0.1:9440 if a host answers there, else see --context)"),
    VALUE_FLAG("context", 0, "NAME", "the management cluster's context; the host is reached through its API server"),
    VALUE_FLAG("kubeconfig", 0, "FILE", "instead of $KUBECONFIG or ~/.kube/config"),
    VALUE_FLAG("config", 0, "FILE",
               "of a host on this machine, for its address and its management cluster (default:\n"
               "$WHARF_CONFIG, else ./wharf.yaml if it is yours, else /etc/wharf/wharf.yaml)"),
    VALUE_FLAG("host-namespace", 0, "NAME", "the host's namespace in the management cluster",
               .fallback = REMOTE_NAMESPACE),
    VALUE_FLAG("service-account", 0, "NAMESPACE/NAME",
               "use its token if the kubeconfig has only a client certificate\n"
               "(default HOST-NAMESPACE/wharf-viewer)"),
    VALUE_FLAG("certificate-authority", 0, "FILE",
               "the CA of a host at an https address (default: the configuration's\n"
               "serve.tls.certFile, else the system's)"),
};

struct error *remote_open(const struct remote_options *options, struct remote **out) {
    const char *account = options->service_account, *slash = account ? strchr(account, '/') : NULL;
    *out = NULL;
    if (account && (!slash || slash == account || !slash[1]))
        return error_new(ERROR_USAGE, "--service-account: found \"%s\", expected NAMESPACE/NAME", account);
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return error_no_memory();
    remote->options = *options;
    if (!options->host_namespace)
        remote->options.host_namespace = REMOTE_NAMESPACE;
    struct error *error = remote_find(remote);
    if (error)
        remote_close(remote);
    else
        *out = remote;
    return error;
}

struct error *remote_open_call(struct call *call) {
    struct remote_options options = {.server = flags_value(call, "server"),
                                     .context = flags_value(call, "context"),
                                     .kubeconfig = flags_value(call, "kubeconfig"),
                                     .config = flags_value(call, "config"),
                                     .host_namespace = flags_value(call, "host-namespace"),
                                     .service_account = flags_value(call, "service-account"),
                                     .authority = flags_value(call, "certificate-authority")};
    options.search = !options.server && !options.context && !options.kubeconfig && !options.config;
    return remote_open(&options, &call->remote);
}

void remote_close(struct remote *remote) {
    if (!remote)
        return;
    remote_leave_place(remote);
    cluster_close(&remote->management);
    for (size_t i = 0; i < remote->n_places; i++)
        free(remote->places[i].server);
    free(remote->missing);
    free(remote->tried);
    config_free(remote->config);
    free(remote);
}

const char *remote_prefix(const struct remote *remote) {
    return remote->prefix;
}

const char *remote_host_namespace(const struct remote *remote) {
    return remote->options.host_namespace;
}

void remote_parameter(struct buffer *path, const char *name, const char *value) {
    if (!value)
        return;
    buffer_printf(path, "%s%s=", path->data && strchr(path->data, '?') ? "&" : "?", name);
    text_percent_encode(path, value);
}

void remote_object_path(struct call *call, const char *prefix, struct buffer *out) {
    AUTO_TEXT kind = strndup(call->object, strcspn(call->object, "/"));
    const char *const segments[] = {kind, remote_namespace(call), strchr(call->object, '/') + 1};
    buffer_text(out, prefix);
    for (size_t i = 0; i < COUNT(segments); i++) {
        buffer_char(out, '/');
        text_percent_encode(out, segments[i] ? segments[i] : "");
    }
}

bool remote_wait(int64_t until_ns, int64_t pause_ns) {
    if (clock_now().mono_ns >= until_ns)
        return false;
    nanosleep(&(struct timespec){.tv_sec = pause_ns / CLOCK_SECOND, .tv_nsec = pause_ns % CLOCK_SECOND}, NULL);
    return true;
}

struct error *remote_load_management(struct remote *remote) {
    const struct remote_options *options = &remote->options;
    struct endpoint **out = &remote->management.connection.endpoint;
    if (*out)
        return NULL;
    if (remote->config && !options->context && !options->kubeconfig)
        return cluster_load_management(remote->config, options->kubeconfig, out);
    const char *variable = getenv("KUBECONFIG");
    AUTO_TEXT paths = cluster_kubeconfig(options->kubeconfig);
    if (!options->kubeconfig && !(variable && *variable) && paths && access(paths, R_OK) != 0)
        return error_wrap(kubeconfig_in_cluster("", out), "found no kubeconfig");
    return cluster_load(options->kubeconfig, options->context, out);
}

struct error *remote_open_management(struct remote *remote) {
    struct error *error = remote_load_management(remote);
    return error || remote->management.client
               ? error
               : cluster_connect(&remote->management, "management", remote->management.connection.endpoint);
}

// A host reads only the writes to its own management cluster. If one of the two does not respond, the clusters are not
// compared.
static struct error *check_same_cluster(struct remote *remote) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_JSON status = NULL;
    struct error *error = remote_get(remote, "/api/v1/status", &status);
    const char *expected = json_string(json_get(status, "managementUid"));
    if (error || !expected) {
        error_free(error);
        return NULL;
    }
    const struct request request = cluster_id_request();
    error = ask(remote->management.client, &request, &response);
    const char *found = error ? "" : cluster_id_uid(&response);
    if (error || !*found || strcmp(found, expected) == 0)
        return error;
    return error_new(
        ERROR_REFUSED,
        "found the cluster of %s (uid %s of namespace kube-system), expected the management cluster of the "
        "host at %s (uid %s): --config or --context names it",
        remote->management.connection.endpoint->description, found, remote->host.connection.endpoint->description,
        expected);
}

struct error *remote_management(struct remote *remote, struct client **out) {
    struct error *error = remote_open_management(remote);
    if (!error && remote_is_direct(remote) && !remote->management_checked)
        error = check_same_cluster(remote);
    remote->management_checked = !error;
    *out = error ? NULL : remote->management.client;
    return error;
}

const char *remote_namespace(struct call *call) {
    const char *given = flags_value(call, "namespace");
    if (given)
        return given;
    error_free(remote_load_management(call->remote)); // without a kubeconfig there is no other namespace
    const struct endpoint *endpoint = call->remote->management.connection.endpoint;
    return endpoint && endpoint->namespace_ ? endpoint->namespace_ : "default";
}
