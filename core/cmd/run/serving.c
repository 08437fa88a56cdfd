// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/run/serving.h"

#include "core/base/local_socket.h"
#include "core/base/log.h"
#include "core/base/text.h"

#include <stdlib.h>

struct serving {
    struct http_server *port, *local; // NULL: none
    struct local_socket socket;
};

static struct error *serve_socket(struct serving *serving, const char *path, const char *group,
                                  const struct http_source *source) {
    int fd = -1;
    struct error *error = local_socket_listen(path, group, &serving->socket, &fd);
    return error ? error : http_server_start_on(fd, NULL, source, &serving->local);
}

static struct error *start_local(struct serving *serving, const struct config_serve *config,
                                 const struct http_source *source) {
    if (config->socket)
        return error_wrap(serve_socket(serving, config->socket, config->group, source), "serve.socket");
    AUTO_TEXT path = NULL;
    struct error *error = local_socket_default(http_server_port(serving->port), &path);
    if (!error && path)
        error = serve_socket(serving, path, config->group, source);
    else if (!error && config->group)
        error = error_new(ERROR_INVALID, "there is no folder for a socket: configure serve.socket");
    if (!error || error->code == ERROR_NO_MEMORY || config->group)
        return error_wrap(error, "serve.socketGroup");
    log_fields(LOG_WARN, "no Unix socket for callers on this machine", {"path", path}, {"error", error_text(error)});
    error_free(error);
    return NULL;
}

struct error *serving_start(const struct config_serve *config, const struct http_source *source, struct serving **out) {
    struct serving *serving = calloc(1, sizeof *serving);
    struct error *error = serving ? NULL : error_no_memory();
    const struct http_tls tls = {config->cert_file, config->key_file};
    if (!error && config->address)
        error =
            error_wrap(http_server_start_tls(config->address, config->cert_file ? &tls : NULL, source, &serving->port),
                       config->cert_file ? "serve.address, serve.tls" : "serve.address");
    if (!error)
        error = start_local(serving, config, source);
    if (error)
        serving_stop(serving);
    else
        *out = serving;
    return error;
}

const char *serving_socket(const struct serving *serving) {
    return serving ? serving->socket.path : NULL;
}

void serving_stop(struct serving *serving) {
    if (!serving)
        return;
    local_socket_remove(&serving->socket); // first: callers find another host, or none
    http_server_stop(serving->local);
    http_server_stop(serving->port);
    free(serving);
}
