// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/server.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define PARAMETERS_MAX ((size_t)256)
#define STREAM_BLOCK ((size_t)16 * 1024)

union socket_address {
    struct sockaddr any;
    struct sockaddr_storage storage;
};

static bool is_loopback(const struct sockaddr *address) {
    struct in6_addr six;
    connections_address(address, six.s6_addr);
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

// Headers that proxies add.
static bool is_passed_on(const struct web_call *call) {
    static const char *const headers[] = {
        "Forwarded",         "Via",       "X-Forwarded-For",         "X-Forwarded-Host",
        "X-Forwarded-Proto", "X-Real-IP", "X-Envoy-External-Address"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (web_header(call, headers[i]))
            return true;
    return false;
}

// A page of the web cannot read an answer, but the requests of the page come from this machine too (Fetch section 3.2;
// Fetch Metadata section 2.4).
static bool is_of_other_page(const struct web_call *call) {
    const char *site = web_header(call, "Sec-Fetch-Site"), *origin = web_header(call, "Origin");
    const char *host = web_header(call, "Host");
    const char *scheme = call->server->tls ? "https://" : "http://";
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return true;
    return origin && (!text_has_prefix(origin, scheme) || !host || strcmp(origin + strlen(scheme), host) != 0);
}

// A Unix socket, with a mode that admits the callers, or loopback addresses at both ends; and no proxy passes the
// request on.
static bool is_local(const struct web_call *call) {
    union socket_address own = {.storage = {0}}, peer = {.storage = {0}};
    socklen_t own_len = sizeof own, peer_len = sizeof peer;
    if (getsockname(call->fd, &own.any, &own_len) != 0 || getpeername(call->fd, &peer.any, &peer_len) != 0)
        return false;
    bool same_machine = own.any.sa_family == AF_UNIX || (is_loopback(&own.any) && is_loopback(&peer.any));
    return same_machine && auth_host_is_local(web_header(call, "Host")) && !is_passed_on(call) &&
           !is_of_other_page(call);
}

static enum MHD_Result add_parameter(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct web_call *call = ctx;
    struct api_parameter *added =
        call->n_parameters < PARAMETERS_MAX ? array_next(&call->parameters, call->n_parameters, sizeof *added) : NULL;
    if (!added)
        return MHD_NO;
    *added = (struct api_parameter){name, value ? value : ""};
    call->n_parameters++;
    return MHD_YES;
}

int web_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

struct web_call *web_call_new(struct http_server *server, struct MHD_Connection *connection, const char *path,
                              const struct route *route) {
    struct web_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->server = server;
    call->connection = connection;
    call->route = route;
    call->fd = web_socket(connection);
    call->local = is_local(call);
    call->path = strdup(path);
    call->rest = strdup(path + strlen(route->path));
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, call);
    if (call->path && call->rest)
        return call;
    web_call_free(call);
    return NULL;
}

void web_call_free(struct web_call *call) {
    if (!call)
        return;
    if (call->reader.free)
        call->reader.free(call->reader.ctx);
    if (call->response)
        MHD_destroy_response(call->response);
    grant_free(call->grant);
    auth_user_clear(&call->user);
    free(call->parameters);
    free(call->path);
    free(call->rest);
    free(call);
}

const char *web_user(const struct web_call *call) {
    return call->user.name ? call->user.name : "";
}

const char *web_parameter(const struct web_call *call, const char *name) {
    for (size_t i = 0; i < call->n_parameters; i++)
        if (strcmp(call->parameters[i].name, name) == 0)
            return call->parameters[i].value;
    return NULL;
}

const char *web_text(const struct web_call *call, const char *name) {
    const char *text = web_parameter(call, name);
    return text && *text ? text : NULL;
}

bool web_flag(const struct web_call *call, const char *name) {
    const char *value = web_parameter(call, name);
    return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

const char *web_header(const struct web_call *call, const char *name) {
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

// An answer is for the caller alone; a page of another origin gets nothing from an answer.
static bool add_headers(struct MHD_Response *response, unsigned code, const char *content_type, const char *policy) {
    const char *const always[][2] = {
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy", policy ? policy : "default-src 'none'; frame-ancestors 'none'"},
    };
    bool ok = !content_type || MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type) == MHD_YES;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        ok = ok && MHD_add_response_header(response, always[i][0], always[i][1]) == MHD_YES;
    // RFC 9110 sections 15.5.6, 11.6.1 and 10.2.3, RFC 6585 section 4: headers that belong to a code.
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES;
    if (code == MHD_HTTP_UNAUTHORIZED)
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer") == MHD_YES;
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE || code == MHD_HTTP_TOO_MANY_REQUESTS)
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "2") == MHD_YES;
    return ok;
}

static struct MHD_Response *make_text(unsigned code, const char *content_type, const char *policy,
                                      struct buffer *body) {
    size_t len = 0;
    char *text = buffer_take(body, &len);
    struct MHD_Response *response = text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (response && add_headers(response, code, content_type, policy))
        return response;
    if (response)
        MHD_destroy_response(response);
    else
        free(text);
    return NULL;
}

static enum MHD_Result queue_response(struct MHD_Connection *connection, unsigned code, struct MHD_Response *response) {
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

// Out of memory closes the connection.
enum MHD_Result web_queue_text(struct MHD_Connection *connection, unsigned code, const char *content_type,
                               const char *policy, struct buffer *body) {
    return queue_response(connection, code, make_text(code, content_type, policy, body));
}

enum MHD_Result web_queue(struct web_call *call) {
    return queue_response(call->connection, call->code, TAKE(call->response));
}

// `complete` false: out of memory.
static void set_response(struct web_call *call, unsigned code, struct MHD_Response *response, bool complete) {
    if (call->response)
        MHD_destroy_response(call->response);
    if (response && !complete)
        MHD_destroy_response(response);
    call->code = code;
    call->response = complete ? response : NULL;
}

void web_answer(struct web_call *call, unsigned code, const char *content_type, struct buffer *body) {
    set_response(call, code, make_text(code, content_type, NULL, body), true);
}

void web_fail(struct web_call *call, unsigned code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    AUTO_BUFFER(body, WEB_BODY_MAX);
    api_failure(&body, code, text ? text : "out of memory");
    web_answer(call, code, WEB_JSON, &body);
}

// A header's value is one line of visible ASCII.
static char *header_text(const char *text) {
    char *copy = text ? strndup(text, 512) : NULL;
    for (char *at = copy; at && *at; at++)
        if (*at < ' ' || *at >= 0x7f)
            *at = '?';
    return copy;
}

static bool add_text(struct MHD_Response *response, const char *name, const char *text) {
    AUTO_TEXT value = header_text(text);
    return value && MHD_add_response_header(response, name, value) == MHD_YES;
}

static ssize_t read_more(void *ctx, uint64_t position, char *out, size_t max) {
    (void)position;
    const struct web_reader *reader = ctx;
    return reader->read(reader->ctx, out, max); // MHD_CONTENT_READER_END_OF_STREAM is -1, _END_WITH_ERROR is -2
}

void web_stream(struct web_call *call, const char *content_type, const char *note, const struct web_reader *reader) {
    call->reader = *reader;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_more, &call->reader, NULL);
    bool complete = response && add_headers(response, MHD_HTTP_OK, content_type, NULL) &&
                    MHD_add_response_header(response, "X-Accel-Buffering", "no") == MHD_YES &&
                    (!note || add_text(response, "Wharf-Note", note));
    set_response(call, MHD_HTTP_OK, response, complete);
}

static void on_upgrade(void *ctx, struct MHD_Connection *connection, void *request, const char *early, size_t early_len,
                       MHD_socket fd, struct MHD_UpgradeResponseHandle *handle) {
    (void)connection, (void)request;
    struct web_call *call = ctx;
    call->upgraded = true;
    call->reader.free = NULL;
    call->handle = handle;
    call->upgrade(call->reader.ctx, fd, early, early_len);
}

void web_upgrade(struct web_call *call, const struct api_parameter *headers, size_t n_headers, web_upgraded upgraded,
                 const struct web_reader *session) {
    call->upgrade = upgraded;
    call->reader = *session;
    struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, call);
    bool complete = response;
    for (size_t i = 0; i < n_headers && complete; i++)
        complete = add_text(response, headers[i].name, headers[i].value);
    set_response(call, MHD_HTTP_SWITCHING_PROTOCOLS, response, complete);
}

void web_upgrade_close(struct web_call *call) {
    http_served(call);
    (void)MHD_upgrade_action(call->handle, MHD_UPGRADE_ACTION_CLOSE);
}
