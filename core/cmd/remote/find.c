// SPDX-License-Identifier: Apache-2.0
// Where the host is: the place that a flag, a variable or a configuration names, and the Service in the management
// cluster.
#include "core/base/address.h"
#include "core/base/local_socket.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/remote/internal.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROXY_PATH "/api/v1/namespaces/%s/services/http:wharf:http/proxy"
#define WELL_KNOWN "http://127.0.0.1:9440" // as in `wharf init` and etc/wharf.yaml
#define WELL_KNOWN_PORT 9440
#define UNIX "unix:"
#define HTTPS "https://"
#define AUTHORITY_MAX ((size_t)1 << 20)
#define CONFIG_HERE "./wharf.yaml"
#define CONFIG_INSTALLED "/etc/wharf/wharf.yaml"

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

// A faulty configuration is usable if the fault is in an unused part.
static struct error *read_config(struct remote *remote, const char *path) {
    struct problems problems = {.count = 0};
    struct error *error = config_load(path, &problems, &remote->config);
    bool usable = remote->config && (config_serves(&remote->config->serve) || problems.count == 0);
    if (!error && !usable)
        error = error_new(ERROR_INVALID, "%s", problems.count > 0 ? problems.list[0] : path);
    problems_free(&problems); // the others are reported by `wharf check`
    const char *namespace_ = error ? NULL : remote->config->namespace_;
    if (namespace_ && strcmp(remote->options.host_namespace, REMOTE_NAMESPACE) == 0)
        remote->options.host_namespace = namespace_;
    if (!error)
        return NULL;
    config_free(remote->config);
    remote->config = NULL;
    return error;
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
    const struct config_serve *serve = &remote->config->serve;
    struct address address;
    if (!serve->address)
        return add_socket(remote, name, serve->socket);
    (void)address_parse_port(serve->address, &address);
    TRY(serve->socket ? add_socket(remote, name, serve->socket) : add_default_socket(remote, name, address.port));
    return add_place(remote, name, text_format("%s%s", serve->cert_file ? HTTPS : "http://", serve->address), false);
}

// Any user may leave a file in a shared folder, and a configuration names commands to run.
static const char *distrust(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0 || found.st_uid == geteuid() || found.st_uid == 0)
        return NULL;
    return "it belongs to another user: --config names it";
}

// The file in the current folder may be for another program.
static void read_config_here(struct remote *remote) {
    const char *problem = distrust(CONFIG_HERE);
    struct error *error = problem ? error_new(ERROR_REFUSED, "%s", problem) : read_config(remote, CONFIG_HERE);
    if (error)
        fprintf(stderr, "warning: %s is not used: %s\n", CONFIG_HERE, error_text(error));
    error_free(error);
}

// The host of this machine: a configuration's, or one at the usual address.
static struct error *search(struct remote *remote) {
    bool here = access(CONFIG_HERE, R_OK) == 0;
    if (here)
        read_config_here(remote);
    if (remote->config)
        return use_address(remote, CONFIG_HERE);
    if (access(CONFIG_INSTALLED, R_OK) == 0) {
        struct error *error = read_config(remote, CONFIG_INSTALLED);
        return error ? error : use_address(remote, CONFIG_INSTALLED);
    }
    remote->missing =
        text_format("$WHARF_SERVER and $WHARF_CONFIG: not set; " CONFIG_HERE ": %s; " CONFIG_INSTALLED ": not found; ",
                    here ? "not used" : "not found");
    TRY(remote->missing ? add_default_socket(remote, "this machine", WELL_KNOWN_PORT) : error_no_memory());
    return add_place(remote, "this machine", strdup(WELL_KNOWN), true);
}

struct error *remote_find(struct remote *remote) {
    const struct remote_options *options = &remote->options;
    const char *server = options->server, *config = options->config;
    if (options->search) {
        server = variable("WHARF_SERVER");
        config = server ? NULL : variable("WHARF_CONFIG");
    }
    struct error *error = config ? read_config(remote, config) : NULL;
    if (!error && config && !server)
        error = use_address(remote, options->search ? "$WHARF_CONFIG" : "--config");
    if (!error && server)
        error = add_place(remote, options->search ? "$WHARF_SERVER" : "--server", strdup(server), false);
    else if (!error && options->search && !config)
        error = search(remote);
    bool fixed = server || (config && !options->context && !options->kubeconfig && remote->n_places > 0);
    if (!error && !fixed)
        remote->places[remote->n_places++] = (struct remote_place){.name = "Service"};
    return error;
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
    struct error *error = text_read_regular_file(file, AUTHORITY_MAX, &text);
    *out = error ? NULL : buffer_take(&text, NULL);
    return error || *out ? error : error_no_memory();
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
    struct error *error = ask_raw(remote->host.client, "/api/v1/status", &response);
    AUTO_TEXT problem = error ? strdup(error_text(error)) : NULL;
    error_free(error);
    if (problem)
        return TAKE(problem);
    if (response.code <= 0)
        return strdup(response.message);
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
        struct error *error = use_place(remote, &remote->places[i]);
        if (error && i + 1 == remote->n_places)
            return remote->places[i].server ? error_wrap(error, "%s", remote->places[i].name) : error;
        AUTO_TEXT problem = error ? strdup(error_text(error)) : i + 1 < remote->n_places ? probe(remote) : NULL;
        error_free(error);
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
