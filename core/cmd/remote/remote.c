// SPDX-License-Identifier: Apache-2.0
// Opens the host and the management cluster. The host is at the place that a flag, a variable or a configuration names,
// or behind the Service in the management cluster.
#include "core/cmd/remote/remote.h"

#include "core/base/text.h"
#include "core/base/trust.h"
#include "core/cmd/setup.h"

#include <time.h>
#include <unistd.h>

#define PROXY_PATH "/api/v1/namespaces/%s/services/http:wharf:http/proxy"
#define WELL_KNOWN "http://127.0.0.1:9440" // as in `wharf init` and etc/wharf.yaml
#define WELL_KNOWN_PORT 9440
#define UNIX "unix:"
#define HTTPS "https://"
#define AUTHORITY_MAX ((size_t)1 << 20)

const struct flag remote_flags[REMOTE_N_FLAGS] = {
    FLAG("server", 0, "URL",
         "the host's address, also unix:PATH (default: $WHARF_SERVER, else that of --config, else\n"
         "127.0.0.1:9440 if a host answers there, else see --context)"),
    FLAG("context", 0, "NAME", "the management cluster's context; the host is reached through its API server"),
    FLAG("kubeconfig", 0, "FILE", "instead of $KUBECONFIG or ~/.kube/config"),
    FLAG("config", 0, "FILE",
         "of a host on this machine, for its address and its management cluster (default:\n"
         "$WHARF_CONFIG, else ./wharf.yaml if it is yours, else /etc/wharf/wharf.yaml)"),
    FLAG("host-namespace", 0, "NAME", "the host's namespace in the management cluster", .fallback = REMOTE_NAMESPACE),
    FLAG("service-account", 0, "NAMESPACE/NAME",
         "use its token if the kubeconfig has only a client certificate\n"
         "(default HOST-NAMESPACE/wharf-viewer)"),
    FLAG("certificate-authority", 0, "FILE",
         "the CA of a host at an https address (default: the configuration's\n"
         "serve.tls.certFile, else the system's)"),
};

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// Takes the URL.
static struct error *add_place(struct remote *remote, const char *name, char *server, bool doubtful) {
    if (!server)
        return error_no_memory();
    for (size_t len = strlen(server); len > 0 && server[len - 1] == '/';)
        server[--len] = '\0';
    remote->places[remote->n_places++] = (struct remote_place){.name = name, .server = server, .doubtful = doubtful};
    return NULL;
}

// A faulty configuration is usable if the fault is in an unused part: `wharf check` reports all faults.
static struct error *read_config(struct remote *remote, const char *path) {
    __attribute__((cleanup(problems_free))) struct problems problems = {.count = 0};
    struct config *config = NULL;
    TRY(config_load(path, &problems, &config));
    if (!config || (!config_serves(&config->serve) && problems.count > 0)) {
        config_free(config);
        return error_new(ERROR_INVALID, "%s", problems.count > 0 ? problems.list[0] : path);
    }
    remote->config = config;
    if (config->namespace_ && strcmp(remote->options.host_namespace, REMOTE_NAMESPACE) == 0)
        remote->options.host_namespace = config->namespace_;
    return NULL;
}

static struct error *add_socket(struct remote *remote, const char *name, const char *path) {
    return path ? add_place(remote, name, text_format(UNIX "%s", path), false) : NULL;
}

// The default socket of a host that serves this port, if there is one.
static struct error *add_default_socket(struct remote *remote, const char *name, uint16_t port) {
    AUTO_TEXT path = NULL;
    TRY(local_socket_find(port, &path));
    return add_socket(remote, name, path);
}

static struct error *use_address(struct remote *remote, const char *name) {
    const struct config_serve *serve = remote->config ? &remote->config->serve : NULL;
    struct address address;
    if (!serve || !serve->address)
        return add_socket(remote, name, serve ? serve->socket : NULL);
    (void)address_parse_port(serve->address, &address);
    TRY(serve->socket ? add_socket(remote, name, serve->socket) : add_default_socket(remote, name, address.port));
    return add_place(remote, name, text_format("%s%s", serve->cert_file ? HTTPS : "http://", serve->address), false);
}

// The file in the current folder may be for another program.
static void read_config_here(struct remote *remote) {
    AUTO_ERROR error = setup_here_is_foreign()
                           ? error_new(ERROR_REFUSED, "it belongs to another user: --config names it")
                           : read_config(remote, SETUP_FILE_HERE);
    if (error)
        fprintf(stderr, "warning: %s is not used: %s\n", SETUP_FILE_HERE, error_text(error));
}

// The host of this machine: a configuration's, or one at the usual address.
static struct error *search(struct remote *remote) {
    bool here = access(SETUP_FILE_HERE, R_OK) == 0;
    if (here)
        read_config_here(remote);
    if (remote->config)
        return use_address(remote, SETUP_FILE_HERE);
    if (access(SETUP_FILE_INSTALLED, R_OK) == 0) {
        TRY(read_config(remote, SETUP_FILE_INSTALLED));
        return use_address(remote, SETUP_FILE_INSTALLED);
    }
    remote->missing = text_format("$WHARF_SERVER and $WHARF_CONFIG: not set; " SETUP_FILE_HERE
                                  ": %s; " SETUP_FILE_INSTALLED ": not found; ",
                                  here ? "not used" : "not found");
    TRY(remote->missing ? add_default_socket(remote, "this machine", WELL_KNOWN_PORT) : error_no_memory());
    return add_place(remote, "this machine", strdup(WELL_KNOWN), true);
}

static struct error *find_places(struct remote *remote) {
    const struct remote_options *options = &remote->options;
    const char *server = options->server, *config = options->config;
    if (options->search) {
        server = variable("WHARF_SERVER");
        config = server ? NULL : variable("WHARF_CONFIG");
    }
    if (config)
        TRY(read_config(remote, config));
    if (config && !server)
        TRY(use_address(remote, options->search ? "$WHARF_CONFIG" : "--config"));
    if (server)
        TRY(add_place(remote, options->search ? "$WHARF_SERVER" : "--server", strdup(server), false));
    else if (options->search && !config)
        TRY(search(remote));
    bool fixed = server || (config && !options->context && !options->kubeconfig && remote->n_places > 0);
    if (!fixed)
        remote->places[remote->n_places++] = (struct remote_place){.name = "Service"};
    return NULL;
}

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
    struct error *error = find_places(remote);
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

void remote_leave_place(struct remote *remote) {
    cluster_close(&remote->host);
    free(remote->prefix);
    remote->prefix = NULL;
    remote->place = NULL;
    remote_forget_token(remote);
}

// The path of "unix:/run/wharf/9440.sock", also with further slashes as in URLs; NULL: another kind of address.
static const char *socket_path(const char *server) {
    if (!text_has_prefix(server, UNIX))
        return NULL;
    const char *path = server + strlen(UNIX);
    while (path[0] == '/' && path[1] == '/')
        path++;
    return path;
}

// Trusts the certificate in the configuration of a host on this machine.
static struct error *read_authority(const struct remote *remote, char **out) {
    const char *file = remote->options.authority ? remote->options.authority
                       : remote->config          ? remote->config->serve.cert_file
                                                 : NULL;
    AUTO_BUFFER(text, AUTHORITY_MAX);
    if (!file)
        return NULL;
    TRY(text_read_regular_file(file, AUTHORITY_MAX, &text));
    *out = buffer_take(&text, NULL);
    return *out ? NULL : error_no_memory();
}

static struct error *make_endpoint(const struct remote *remote, struct endpoint *out) {
    const struct remote_place *place = remote->place;
    const char *path = socket_path(place->server);
    out->server = strdup(path ? "http://localhost" : place->server);
    out->description = strdup(place->server);
    out->socket = path ? strdup(path) : NULL;
    if (!out->server || !out->description || (path && !out->socket))
        return error_no_memory();
    if (path)
        return local_socket_verify(path);
    return text_has_prefix(place->server, HTTPS) ? read_authority(remote, &out->ca_pem) : NULL;
}

static struct error *use_place(struct remote *remote, const struct remote_place *place) {
    remote_leave_place(remote);
    remote->place = place;
    remote->prefix = place->server ? strdup("") : text_format(PROXY_PATH, remote->options.host_namespace);
    struct endpoint *own = place->server ? calloc(1, sizeof *own) : NULL;
    remote->host.connection.endpoint = own;
    if (!remote->prefix || (place->server && !own))
        return error_no_memory();
    TRY(own ? make_endpoint(remote, own) : remote_load_management(remote));
    return cluster_connect(&remote->host, "host", own ? own : endpoint_hold(remote->management.connection.endpoint));
}

// Why the place in use is not the host's; NULL: the host's. free()
static char *probe(const struct remote *remote) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_ERROR error = ask_raw(remote->host.client, "/api/v1/status", &response);
    if (error || response.code <= 0)
        return strdup(error ? error_text(error) : response.message);
    if (remote->place->doubtful && !json_string(json_get(response.value, "origin")))
        return text_format("%s answers, but not as wharf", remote->place->server);
    return NULL;
}

// "Service wharf-system/wharf of ~/.kube/config, context mgmt: ..."
static char *describe(const struct remote *remote, const char *result) {
    if (!remote->place || remote->place->server)
        return text_format("%s: %s", remote->place ? remote->place->name : "nothing", result);
    const struct endpoint *management = remote->management.connection.endpoint;
    return text_format("Service %s/wharf%s%s: %s", remote->options.host_namespace, management ? " of " : "",
                       management ? management->description : "", result);
}

struct error *remote_locate(struct remote *remote) {
    if (remote->place)
        return NULL;
    free(remote->tried);
    remote->tried = NULL;
    for (size_t i = 0; i < remote->n_places; i++) {
        AUTO_ERROR error = use_place(remote, &remote->places[i]);
        if (error && i + 1 == remote->n_places)
            return remote->places[i].server ? error_wrap(TAKE(error), "%s", remote->places[i].name) : TAKE(error);
        AUTO_TEXT problem = error ? strdup(error_text(error)) : i + 1 < remote->n_places ? probe(remote) : NULL;
        if (!problem)
            break;
        AUTO_TEXT one = describe(remote, problem);
        AUTO_TEXT before = TAKE(remote->tried);
        remote->tried = one ? text_format("%s%s; ", before ? before : "", one) : NULL;
    }
    return NULL;
}

struct error *remote_unreached(struct remote *remote, const char *result) {
    AUTO_TEXT last = describe(remote, result);
    struct error *error =
        error_new(ERROR_IO,
                  "cannot reach the host: tried %s%s%s. Start it, or name its configuration with --config, its address "
                  "with --server, or its management cluster with --context",
                  remote->missing ? remote->missing : "", remote->tried ? remote->tried : "", last ? last : result);
    remote_leave_place(remote);
    return error;
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
    AUTO_TEXT paths = cluster_kubeconfig(options->kubeconfig);
    if (!options->kubeconfig && !variable("KUBECONFIG") && paths && access(paths, R_OK) != 0)
        return error_wrap(kubeconfig_in_cluster("", out), "found no kubeconfig");
    return cluster_load(options->kubeconfig, options->context, out);
}

struct error *remote_open_management(struct remote *remote) {
    struct cluster *management = &remote->management;
    TRY(remote_load_management(remote));
    return management->client ? NULL : cluster_connect(management, "management", management->connection.endpoint);
}

// A host reads only the writes to its own management cluster. If one of the two does not respond, the clusters are not
// compared.
static struct error *check_same_cluster(struct remote *remote) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_JSON status = NULL;
    error_free(remote_get(remote, "/api/v1/status", &status));
    const char *expected = json_string(json_get(status, "managementUid"));
    if (!expected)
        return NULL;
    const struct request request = cluster_id_request();
    TRY(ask(remote->management.client, &request, &response));
    const char *found = cluster_id_uid(&response);
    if (!*found || strcmp(found, expected) == 0)
        return NULL;
    return error_new(
        ERROR_REFUSED,
        "found the cluster of %s (uid %s of namespace kube-system), expected the management cluster of the "
        "host at %s (uid %s): --config or --context names it",
        remote->management.connection.endpoint->description, found, remote->host.connection.endpoint->description,
        expected);
}

struct error *remote_management(struct remote *remote, struct client **out) {
    TRY(remote_open_management(remote));
    if (remote_is_direct(remote) && !remote->management_checked)
        TRY(check_same_cluster(remote));
    remote->management_checked = true;
    *out = remote->management.client;
    return NULL;
}

const char *remote_namespace(struct call *call) {
    const char *given = flags_value(call, "namespace");
    if (given)
        return given;
    error_free(remote_load_management(call->remote)); // without a kubeconfig there is no other namespace
    const struct endpoint *endpoint = call->remote->management.connection.endpoint;
    return endpoint && endpoint->namespace_ ? endpoint->namespace_ : "default";
}
