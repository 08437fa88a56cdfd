// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http.h"

#include "core/base/clock.h"
#include "core/serve/acceptor.h"
#include "core/serve/connections.h"
#include "core/serve/health.h"
#include "core/serve/listen.h"
#include "core/serve/metrics.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 * 1024 * 1024)
#define CONNECTIONS_MAX ((unsigned)(2 * CONNECTIONS_OPEN_MAX)) // includes those being closed
#define CONNECTION_MEMORY ((size_t)16 * 1024)                  // for headers in both directions
#define CONNECTION_IDLE_S 10U
#define THREAD_STACK ((size_t)256 * 1024)
#define TEXT_TYPE "text/plain; charset=utf-8"

struct http_server {
    struct MHD_Daemon *daemon;
    struct acceptor *acceptor;
    struct http_source source;
    uint16_t port;
    // The server's thread only.
    bool been_in_sync;
    struct connections connections;
};

struct served_page {
    const char *path;
    const char *content_type;
    // Fills the body and returns the status code.
    unsigned (*make)(struct http_server *server, struct buffer *body);
};

static unsigned failed(struct error *error, struct buffer *body) {
    buffer_reset(body);
    buffer_printf(body, "%s\n", error_text(error));
    error_free(error);
    return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static unsigned make_health(struct http_server *server, struct buffer *body) {
    bool alive = health_alive(server->source.stalled_ns(server->source.ctx), body);
    return alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned make_ready(struct http_server *server, struct buffer *body) {
    struct host_snapshot snapshot;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return failed(error, body);
    bool ready = health_ready(&snapshot, &server->been_in_sync, body);
    server->source.free_snapshot(&snapshot);
    return ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned make_metrics(struct http_server *server, struct buffer *body) {
    struct host_snapshot snapshot;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return failed(error, body);
    struct metrics_process process;
    metrics_process_read(&process);
    error = metrics_print(&snapshot, &process, body);
    server->source.free_snapshot(&snapshot);
    return error ? failed(error, body) : MHD_HTTP_OK;
}

static const struct served_page pages[] = {
    {"/healthz", TEXT_TYPE, make_health},
    {"/readyz", TEXT_TYPE, make_ready},
    {"/metrics", METRICS_CONTENT_TYPE, make_metrics},
};

static const struct served_page *find_page(const char *path) {
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(pages[i].path, path) == 0)
            return &pages[i];
    return NULL;
}

// Takes the content of `body`. Out of memory closes the connection.
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *content_type,
                              struct buffer *body) {
    size_t len = 0;
    char *text = buffer_take(body, &len);
    if (!text)
        return MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    // RFC 9110 section 15.5.6: a 405 says what is allowed.
    if (result == MHD_YES && code == MHD_HTTP_METHOD_NOT_ALLOWED)
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (result == MHD_YES)
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (result == MHD_YES)
        result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_len, void **request) {
    (void)version;
    (void)upload;
    struct http_server *server = ctx;
    bool readable = strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    // The first call comes before a body was read; an answer given there ends the connection. That is right for
    // rejected requests; the others are answered in the last call, and the body that a client sends is discarded.
    bool first = !*request;
    *request = server;
    if (readable && (first || *upload_len > 0)) {
        *upload_len = 0;
        return MHD_YES;
    }
    AUTO_BUFFER(body, BODY_MAX);
    const struct served_page *page = find_page(path);
    if (!page) {
        buffer_text(&body, "not found: available are /healthz, /readyz and /metrics\n");
        return answer(connection, MHD_HTTP_NOT_FOUND, TEXT_TYPE, &body);
    }
    if (!readable) {
        buffer_text(&body, "only GET and HEAD\n");
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT_TYPE, &body);
    }
    unsigned code = page->make(server, &body);
    return answer(connection, code, code == MHD_HTTP_OK ? page->content_type : TEXT_TYPE, &body);
}

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// libmicrohttpd closes a connection whose socket was shut down.
static void shut_down(int fd) {
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode what) {
    (void)own;
    struct connections *connections = &((struct http_server *)ctx)->connections;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        connections_remove(connections, socket_of(connection));
        return;
    }
    int64_t now_ns = clock_now().mono_ns;
    for (int late; (late = connections_expire(connections, now_ns)) >= 0;)
        shut_down(late);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    shut_down(connections_add(connections, socket_of(connection), info ? info->client_addr : NULL, now_ns));
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode how) {
    (void)request, (void)how;
    connections_served(&((struct http_server *)ctx)->connections, socket_of(connection), clock_now().mono_ns);
}

// libmicrohttpd closes a socket that it rejects.
static void take(void *ctx, int fd, const struct sockaddr *address, socklen_t len) {
    (void)MHD_add_connection(ctx, fd, address, len);
}

struct error *http_server_start(const char *address, const struct http_source *source, struct http_server **out) {
    int fd = -1;
    struct http_server *server = calloc(1, sizeof *server);
    if (!server)
        return error_no_memory();
    server->source = *source;
    struct error *error = listen_open(address, &fd, &server->port);
    if (error) {
        free(server);
        return error;
    }
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, server,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE, THREAD_STACK,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_END);
    if (!server->daemon) {
        close(fd);
        free(server);
        return error_new(ERROR_IO, "cannot start to serve on %s", address);
    }
    error = acceptor_start(fd, take, server->daemon, &server->acceptor);
    if (error) {
        http_server_stop(server);
        return error;
    }
    *out = server;
    return NULL;
}

uint16_t http_server_port(const struct http_server *server) {
    return server->port;
}

void http_server_stop(struct http_server *server) {
    if (!server)
        return;
    acceptor_stop(server->acceptor); // first, since it adds connections
    MHD_stop_daemon(server->daemon);
    free(server);
}
