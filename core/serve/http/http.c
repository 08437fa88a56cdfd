// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/server.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/serve/pods/logs.h"

#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_MEMORY ((size_t)16 * 1024) // for headers in both directions
#define CONNECTION_IDLE_S 10U
#define THREAD_STACK ((size_t)256 * 1024) // of a connection
#define ANSWERS_AT_ONCE 6                 // each may wait for the engine or an API server
#define ANSWERS_WAITING 64

static int64_t stalled_ns(void *host) {
    return host_stalled_ns(host);
}

static struct error *review_by_host(void *ctx, const struct request *request, struct response *response) {
    return host_ask(ctx, ENGINE_MANAGEMENT, request, response);
}

static struct error *find_endpoint(void *ctx, const char *cluster, struct endpoint **out) {
    return host_endpoint(ctx, cluster, out);
}

void http_source_init(struct http_source *source, struct host *host, const struct api_source *api) {
    *source = (struct http_source){.snapshot = api->snapshot,
                                   .free_snapshot = api->free_snapshot,
                                   .stalled_ns = stalled_ns,
                                   .api = api,
                                   .review = review_by_host,
                                   .endpoint = find_endpoint,
                                   .ctx = host,
                                   .patience_ns = HTTP_PATIENCE_NS};
}

static enum MHD_Result fail_now(struct MHD_Connection *connection, const char *path, unsigned code, const char *text) {
    AUTO_BUFFER(body, WEB_BODY_MAX);
    bool api = text_has_prefix(path, "/api/");
    if (api)
        api_failure(&body, code, text);
    else
        buffer_printf(&body, "%s\n", text);
    return web_queue_text(connection, code, api ? WEB_JSON : WEB_TEXT, NULL, &body);
}

bool http_extend(struct web_call *call, enum connection_kind kind) {
    AUTO_LOCK(&call->server->lock);
    return connections_extend(&call->server->connections, call->fd, kind);
}

void http_served(struct web_call *call) {
    AUTO_LOCK(&call->server->lock);
    connections_served(&call->server->connections, call->fd, clock_now().mono_ns);
}

// False: the user of the call has as many of the kind open as one may have.
static bool claim_place(const struct web_call *call) {
    AUTO_LOCK(&call->server->lock);
    return !call->user.name || connections_claim(&call->server->connections, call->fd, call->user.name);
}

// Identifies the caller and permits or refuses one more stream.
static struct error *admit_call(struct web_call *call, unsigned *code) {
    enum connection_kind kind = call->route->kind;
    struct error *error = access_check(call, code);
    if (error || kind == CONNECTION_SHORT || claim_place(call))
        return error;
    *code = MHD_HTTP_TOO_MANY_REQUESTS;
    return error_new(ERROR_LIMIT, "user %s has %zu of them open, the most that one may have", web_user(call),
                     connections_user_limit(kind));
}

static void serve_call(struct web_call *call) {
    struct http_server *server = call->server;
    bool lasts = call->route->kind != CONNECTION_SHORT;
    if (!turnstile_enter(&server->answers)) {
        web_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests wait for an answer: try again");
        return;
    }
    unsigned code = MHD_HTTP_SERVICE_UNAVAILABLE;
    struct error *error =
        atomic_load(&server->stopping) ? error_new(ERROR_STOPPED, "the host is stopping") : admit_call(call, &code);
    bool admitted = !error;
    if (admitted && !lasts)
        error = call->route->serve(call);
    turnstile_leave(&server->answers);
    if (admitted && lasts)
        error = call->route->serve(call);
    if (error)
        web_fail(call, admitted ? api_code(error) : code, "%s", error_text(error));
    error_free(error);
}

static enum MHD_Result answer_now(struct web_call *call) {
    AUTO_BUFFER(body, WEB_BODY_MAX);
    const struct http_source *source = &call->server->source;
    unsigned code =
        source->page ? source->page(source->ctx, call->route->page, &body) : call->route->make(call->server, &body);
    const char *content_type = code == MHD_HTTP_OK ? call->route->content_type : WEB_TEXT;
    const char *policy = strcmp(content_type, WEB_HTML) == 0 ? call->server->ui.policy : NULL;
    return web_queue_text(call->connection, code, content_type, policy, &body);
}

// May wait.
static void answer_request(struct web_call *call) {
    const struct route *route = call->route;
    if (!new_tokens_admit(call))
        return;
    if (route->segments > 0 && !route_split(call->rest, route->segments, call->segments))
        web_fail(call, MHD_HTTP_NOT_FOUND, "expected a path that ends with KIND/NAMESPACE/NAME");
    else if (route->kind != CONNECTION_SHORT && !http_extend(call, route->kind))
        web_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE,
                 "%zu such requests are open already, the most that this host serves at once",
                 connections_limit(route->kind));
    else
        serve_call(call);
}

// The request is complete. During the work for an answer, and for an answer without an end, no timeout applies: a
// client may read as slowly as a person does.
static enum MHD_Result handle_request(struct web_call *call) {
    if (call->route->make)
        return answer_now(call);
    (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    answer_request(call);
    if (!call->reader.read)
        (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT, CONNECTION_IDLE_S);
    return web_queue(call);
}

struct framing {
    unsigned hosts, lengths, encodings;
    bool odd; // a name that is none
};

static enum MHD_Result see_header(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind, (void)value;
    struct framing *framing = ctx;
    framing->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    framing->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    framing->encodings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    framing->odd |= *name == '\0' || strpbrk(name, " \t");
    return MHD_YES;
}

// RFC 9112 sections 3.2, 5.1 and 6.3: a proxy in between may have read another request, perhaps of another caller.
static bool is_ambiguous(struct MHD_Connection *connection) {
    struct framing framing = {.hosts = 0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &framing);
    return framing.odd || framing.hosts > 1 || framing.lengths + framing.encodings > 1;
}

// The first call comes before a body was read; an answer given there ends the connection. That is right for rejected
// requests; later calls answer the others, and discard a client's body.
static enum MHD_Result first_call(struct http_server *server, struct MHD_Connection *connection, const char *path,
                                  const char *method, void **request) {
    const struct route *route = route_find(path, server->source.api);
    if (is_ambiguous(connection))
        return fail_now(connection, path, MHD_HTTP_BAD_REQUEST,
                        "found headers that are read differently by others, expected one Host and one length");
    if (!route)
        return fail_now(connection, path, MHD_HTTP_NOT_FOUND,
                        server->source.api ? "not found: available are /, /healthz, /readyz, /metrics and /api/v1"
                                           : "not found: available are /healthz, /readyz and /metrics");
    bool head = route->kind == CONNECTION_SHORT;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && !(head && strcmp(method, MHD_HTTP_METHOD_HEAD) == 0))
        return fail_now(connection, path, MHD_HTTP_METHOD_NOT_ALLOWED, head ? "only GET and HEAD" : "only GET");
    *request = web_call_new(server, connection, path, route);
    return *request ? MHD_YES : MHD_NO;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_len, void **request) {
    (void)version;
    (void)upload;
    struct web_call *call = *request;
    if (!call)
        return first_call(ctx, connection, path, method, request);
    if (*upload_len > 0) {
        *upload_len = 0;
        return MHD_YES;
    }
    return handle_request(call);
}

// libmicrohttpd closes a connection after its socket was shut down.
static void shut_down(int fd) {
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode what) {
    struct http_server *server = ctx;
    struct connections *connections = &server->connections;
    *own = server->tls;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    int64_t now_ns = clock_now().mono_ns;
    AUTO_LOCK(&server->lock);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        connections_remove(connections, web_socket(connection));
        return;
    }
    for (int late; (late = connections_expire(connections, now_ns)) >= 0;)
        shut_down(late);
    shut_down(connections_add(connections, web_socket(connection), info ? info->client_addr : NULL, now_ns));
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode how) {
    (void)ctx, (void)connection, (void)how;
    struct web_call *call = TAKE(*request);
    if (!call || call->upgraded)
        return;
    http_served(call);
    web_call_free(call);
}

static struct error *start_daemon(struct http_server *server) {
    struct MHD_OptionItem options[TLS_OPTIONS] = {{MHD_OPTION_END, 0, NULL}};
    if (server->tls)
        tls_options(options);
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
            MHD_ALLOW_UPGRADE | (server->tls ? MHD_USE_TLS : 0U),
        0, NULL, NULL, handle, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
        MHD_OPTION_THREAD_STACK_SIZE, THREAD_STACK, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    return server->daemon ? NULL : error_new(ERROR_IO, "cannot start the HTTP server");
}

static struct error *start_server(struct http_server *server, const struct http_tls *tls) {
    const struct http_source *source = &server->source;
    int64_t review_ns = source->review_ns > 0 ? source->review_ns : GRANTS_REVIEW_NS;
    TRY(ui_open(&server->ui));
    if (tls)
        TRY(tls_new(tls->cert_file, tls->key_file, &server->tls));
    TRY(auth_new(&(struct auth_reviewer){source->review, source->ctx, source->review_ns}, &server->auth));
    TRY(grants_new(server->auth, review_ns, &server->grants));
    TRY(start_daemon(server));
    return acceptor_start(&server->acceptor, server->daemon);
}

// A quarter of the file descriptors, so that logs take none from the connections to the clusters.
static size_t most_log_sources(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 4 > LOGS_SOURCES_ALL)
        return LOGS_SOURCES_ALL;
    return (size_t)files.rlim_cur / 4;
}

struct error *http_server_start_on(int fd, const struct http_tls *tls, const struct http_source *source,
                                   struct http_server **out) {
    struct http_server *server = *out = calloc(1, sizeof *server);
    if (!server) {
        close(fd);
        return error_no_memory();
    }
    server->source = *source;
    server->acceptor = (struct acceptor){.fd = fd, .stop_fd = -1};
    server->max_log_sources = most_log_sources();
    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->watch_lock, NULL);
    pthread_cond_init(&server->session_over, NULL);
    turnstile_init(&server->answers, ANSWERS_AT_ONCE, ANSWERS_WAITING);
    new_tokens_init(&server->new_tokens);
    struct error *error = start_server(server, tls);
    if (error)
        http_server_stop(TAKE(*out));
    return error;
}

struct error *http_tls_check(const struct http_tls *tls) {
    struct tls *made = NULL;
    struct error *error = tls_new(tls->cert_file, tls->key_file, &made);
    tls_free(made);
    return error;
}

struct error *http_server_start(const char *address, const struct http_tls *tls, const struct http_source *source,
                                struct http_server **out) {
    int fd = -1;
    uint16_t port = 0;
    TRY(listen_open(address, &fd, &port));
    TRY(http_server_start_on(fd, tls, source, out));
    (*out)->port = port;
    return NULL;
}

uint16_t http_server_port(const struct http_server *server) {
    return server->port;
}

// Ends every thread of a connection that reads from a client.
static void shut_down_all(struct http_server *server) {
    AUTO_LOCK(&server->lock);
    for (size_t i = 0; i < server->connections.count; i++)
        shut_down(server->connections.list[i].fd);
    while (server->sessions > 0)
        pthread_cond_wait(&server->session_over, &server->lock);
}

void http_server_stop(struct http_server *server) {
    if (!server)
        return;
    atomic_store(&server->stopping, true);
    acceptor_stop(&server->acceptor); // first, since the acceptor adds connections
    shut_down_all(server);
    if (server->daemon)
        MHD_stop_daemon(server->daemon); // waits for the threads of all connections
    tls_free(server->tls);
    grants_free(server->grants);
    auth_free(server->auth);
    new_tokens_destroy(&server->new_tokens);
    turnstile_destroy(&server->answers);
    pthread_cond_destroy(&server->session_over);
    pthread_mutex_destroy(&server->watch_lock);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
