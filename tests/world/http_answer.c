// SPDX-License-Identifier: Apache-2.0
// Requests of the HTTP front, one `struct incoming` each. A connection that has to wait is suspended, with the lock
// held, and stays in the front's list while suspended.
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "tests/world/http_parts.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BODY_MAX ((size_t)4 << 20)
#define BLOCK ((size_t)64 << 10)
#define STREAM_MAX ((size_t)1 << 30)

struct incoming {
    struct front *front;
    struct MHD_Connection *connection;
    char *uri;
    struct buffer body;
    bool begun, is_suspended;
    bool in_service, served;
    struct service_request place;
    struct world_watch *watch;
    unsigned cuts;     // of the front when the watch was opened
    struct buffer out; // frames of the watch
    size_t sent;
    struct incoming *next, *previous; // suspended ones
};

static void suspend(struct incoming *incoming) {
    struct front *front = incoming->front;
    incoming->is_suspended = true;
    incoming->previous = NULL;
    incoming->next = front->suspended;
    if (front->suspended)
        front->suspended->previous = incoming;
    front->suspended = incoming;
    MHD_suspend_connection(incoming->connection);
}

static void unlink_suspended(struct incoming *incoming) {
    if (incoming->previous)
        incoming->previous->next = incoming->next;
    else
        incoming->front->suspended = incoming->next;
    if (incoming->next)
        incoming->next->previous = incoming->previous;
    incoming->is_suspended = false;
}

static void resume(void *ctx) {
    struct incoming *incoming = ctx;
    if (!incoming->is_suspended || (incoming->front->fault == FRONT_HANGS && !incoming->front->closing))
        return;
    unlink_suspended(incoming);
    MHD_resume_connection(incoming->connection);
}

void http_resume_all(struct front *front) {
    struct incoming *next;
    for (struct incoming *incoming = front->suspended; incoming; incoming = next) {
        next = incoming->next;
        if (incoming->in_service && !front->closing)
            continue;
        unlink_suspended(incoming);
        MHD_resume_connection(incoming->connection);
    }
}

void http_resume_served(struct front *front, int64_t now_ns) {
    for (struct service_request *place; (place = service_take(&front->service, now_ns));) {
        struct incoming *incoming = (struct incoming *)((char *)place - offsetof(struct incoming, place));
        incoming->in_service = false;
        incoming->served = true;
        if (!incoming->connection) { // its client is gone
            free(incoming);
            continue;
        }
        unlink_suspended(incoming);
        MHD_resume_connection(incoming->connection);
    }
}

static struct cluster_connection *connection_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// With the lock held.
static void set_busy(const struct front *front, struct MHD_Connection *of, bool busy) {
    struct cluster_connection *connection = connection_of(of);
    if (!connection)
        return;
    connection->busy = busy;
    if (!busy && front->leaving)
        shutdown(connection->fd, SHUT_RDWR);
}

void *http_begin(void *ctx, const char *uri, struct MHD_Connection *connection) {
    struct incoming *incoming = calloc(1, sizeof *incoming);
    if (!incoming)
        return NULL;
    incoming->front = ctx;
    incoming->connection = connection;
    incoming->uri = strdup(uri);
    buffer_init(&incoming->body, BODY_MAX);
    buffer_init(&incoming->out, STREAM_MAX);
    front_lock(incoming->front);
    struct front_connections *connections = &incoming->front->connections;
    connections->requests++;
    set_busy(incoming->front, connection, true);
    if (connections->requests - connections->streams > connections->busiest)
        connections->busiest = connections->requests - connections->streams;
    front_unlock(incoming->front);
    return incoming;
}

void http_completed(void *ctx, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how) {
    struct incoming *incoming = *request;
    (void)ctx;
    (void)how;
    if (!incoming)
        return;
    struct front *front = incoming->front;
    front_lock(front);
    front->connections.requests--;
    set_busy(front, connection, false);
    if (incoming->is_suspended)
        unlink_suspended(incoming);
    if (incoming->watch) {
        world_watch_close(incoming->watch);
        front->connections.streams--;
    }
    buffer_free(&incoming->body);
    buffer_free(&incoming->out);
    free(incoming->uri);
    incoming->connection = NULL;
    if (service_leave(&front->service, &incoming->place))
        free(incoming);
    front_unlock(front);
    *request = NULL;
}

static ssize_t read_watch(void *ctx, uint64_t at, char *out, size_t max) {
    struct incoming *incoming = ctx;
    struct front *front = incoming->front;
    ssize_t result = MHD_CONTENT_READER_END_WITH_ERROR;
    (void)at;
    front_lock(front);
    if (incoming->sent == incoming->out.len && !front->closing && front->fault != FRONT_HANGS) {
        buffer_reset(&incoming->out);
        incoming->sent = 0;
        world_watch_read(incoming->watch, &incoming->out, BLOCK, front_now_ns());
    }
    size_t left = incoming->out.len - incoming->sent;
    if (front->closing || incoming->cuts != front->cuts) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (left > 0) {
        result = (ssize_t)(left < max ? left : max);
        memcpy(out, incoming->out.data + incoming->sent, (size_t)result);
        incoming->sent += (size_t)result;
        __atomic_add_fetch(&front->bytes, (uint64_t)result, __ATOMIC_RELAXED);
    } else if (world_watch_ended(incoming->watch)) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        suspend(incoming);
        result = 0;
    }
    front_unlock(front);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, int status, const char *type, const char *body,
                                 const char *retry_after) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (retry_after)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, retry_after);
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return queued;
}

// Takes the body out of `from`.
static enum MHD_Result send_response(struct MHD_Connection *connection, struct world_response *from) {
    struct MHD_Response *response = MHD_create_response_from_buffer(from->body_len, from->body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        world_response_clear(from);
        return MHD_NO;
    }
    from->body = NULL;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, from->content_type);
    if (from->retry_after_s) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", from->retry_after_s);
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (from->warning) {
        char line[512];
        snprintf(line, sizeof line, "299 - \"%.480s\"", from->warning);
        MHD_add_response_header(response, MHD_HTTP_HEADER_WARNING, line);
    }
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)from->status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result start_watch(struct incoming *incoming, const char *accept) {
    struct front *front = incoming->front;
    struct world_response refused;
    front_lock(front);
    incoming->watch = world_watch(front->cluster, incoming->uri, front_now_ns(), resume, incoming, &refused);
    if (incoming->watch) {
        world_watch_accept(incoming->watch, accept);
        incoming->cuts = front->cuts;
        front->connections.streams++;
    }
    front_unlock(front);
    if (!incoming->watch)
        return send_response(incoming->connection, &refused);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_watch, incoming, NULL);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result queued = MHD_queue_response(incoming->connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

static struct cluster_connection *add_connection(struct front *front, struct MHD_Connection *of) {
    struct cluster_connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(of, MHD_CONNECTION_INFO_CONNECTION_FD);
    *connection = (struct cluster_connection){.next = front->open, .fd = info ? info->connect_fd : -1};
    if (connection->next)
        connection->next->previous = connection;
    front->open = connection;
    return connection;
}

static void remove_connection(struct front *front, struct cluster_connection *connection) {
    if (!connection)
        return;
    if (connection->next)
        connection->next->previous = connection->previous;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        front->open = connection->next;
    free(connection);
}

void http_connection(void *ctx, struct MHD_Connection *connection, void **context,
                     enum MHD_ConnectionNotificationCode code) {
    struct front *front = ctx;
    struct front_connections *connections = &front->connections;
    front_lock(front);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = add_connection(front, connection);
        connections->opened++;
        connections->open++;
        if (connections->open - connections->streams > connections->most)
            connections->most = connections->open - connections->streams;
    } else {
        remove_connection(front, *context);
        *context = NULL;
        connections->open--;
    }
    front_unlock(front);
}

static bool has_token(struct front *front, struct MHD_Connection *connection) {
    const char *found = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *token = found && text_has_prefix(found, "Bearer ") ? found + strlen("Bearer ") : "";
    front_lock(front);
    bool added = *token && strcmp(token, front->added_token) == 0;
    bool same = added || (*token && strcmp(token, front->token) == 0);
    front->added_uses += added;
    front_unlock(front);
    return same;
}

static bool is_known(struct front *front, struct MHD_Connection *connection) {
    if (!front->tls || has_token(front, connection))
        return true;
    struct cluster_connection *own = connection_of(connection);
    if (own && own->verified)
        return true;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned status = 1;
    if (!info || !info->tls_session || gnutls_certificate_verify_peers2(info->tls_session, &status) != 0 || status != 0)
        return false;
    if (own)
        own->verified = true;
    return true;
}

static enum MHD_Result answer_fault(struct incoming *incoming, enum front_fault fault) {
    if (fault == FRONT_ERRORS)
        return send_text(
            incoming->connection, 500, "application/json",
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
            "\"Internal error occurred\",\"reason\":\"InternalError\",\"code\":500}",
            NULL);
    if (fault == FRONT_BUSY)
        return send_text(incoming->connection, 429, "text/plain", "Too many requests, please try again later.\n", "1");
    return send_text(incoming->connection, 200, "text/html", "<html><body>Please log in</body></html>", NULL);
}

static const char *header(const struct incoming *incoming, const char *name) {
    return MHD_lookup_connection_value(incoming->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result answer(struct incoming *incoming, const char *method) {
    struct front *front = incoming->front;
    const char *accept = header(incoming, MHD_HTTP_HEADER_ACCEPT);
    struct world_request request = {.method = method,
                                    .path = incoming->uri,
                                    .content_type = header(incoming, MHD_HTTP_HEADER_CONTENT_TYPE),
                                    .accept = accept,
                                    .user = header(incoming, "Impersonate-User"),
                                    .group = header(incoming, "Impersonate-Group"),
                                    .body = incoming->body.data,
                                    .body_len = incoming->body.len};
    struct world_response response;
    if (world_is_watch(&request))
        return start_watch(incoming, accept);
    front_lock(front);
    world_request(front->cluster, &request, front_now_ns(), &response);
    front_unlock(front);
    __atomic_add_fetch(&front->bytes, request.body_len + response.body_len, __ATOMIC_RELAXED);
    return send_response(incoming->connection, &response);
}

// Whether the request has to wait: for a server that hangs to recover, or for a place in the service. With the lock
// held.
static bool has_to_wait(struct incoming *incoming, const char *method, bool *full) {
    struct front *front = incoming->front;
    const struct world_request request = {.method = method, .path = incoming->uri};
    if (front->fault == FRONT_HANGS)
        return true;
    if (front->fault != FRONT_FINE || incoming->served || !service_costs(&front->service, &request))
        return false;
    incoming->in_service = service_enter(&front->service, &incoming->place, strcmp(method, "GET") != 0, front_now_ns());
    *full = !incoming->in_service;
    return incoming->in_service;
}

static void burn(int64_t ns) {
    struct timespec now;
    int64_t until_ns = 0;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        int64_t now_ns = now.tv_sec * CLOCK_SECOND + now.tv_nsec;
        until_ns = until_ns ? until_ns : now_ns + ns;
        ns = until_ns - now_ns;
    } while (ns > 0);
}

static enum MHD_Result begin_answer(struct incoming *incoming, const char *method) {
    struct front *front = incoming->front;
    bool full = false;
    front_lock(front);
    enum front_fault fault = front->fault;
    int64_t burn_ns = incoming->served ? front->service.cost.burn_ns : 0;
    bool closing = front->closing, waits = !closing && has_to_wait(incoming, method, &full);
    if (waits)
        suspend(incoming);
    front_unlock(front);
    if (waits)
        return MHD_YES;
    if (closing && incoming->in_service)
        return MHD_NO;
    __atomic_add_fetch(&front->requests, 1, __ATOMIC_RELAXED);
    if (!is_known(front, incoming->connection)) {
        front_lock(front);
        front->unauthorized++;
        front_unlock(front);
        return send_text(
            incoming->connection, 401, "application/json",
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
            "\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}",
            NULL);
    }
    if (full || (fault != FRONT_FINE && fault != FRONT_HANGS))
        return answer_fault(incoming, full ? FRONT_BUSY : fault);
    if (burn_ns > 0)
        burn(burn_ns);
    return answer(incoming, method);
}

enum MHD_Result http_handle(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *data, size_t *len, void **request) {
    struct incoming *incoming = *request;
    (void)ctx;
    (void)connection;
    (void)url;
    (void)version;
    if (!incoming || !incoming->uri)
        return MHD_NO;
    if (!incoming->begun) { // headers only; the body, if any, comes in further calls
        incoming->begun = true;
        return MHD_YES;
    }
    if (*len > 0) {
        buffer_append(&incoming->body, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (incoming->body.failed)
        return send_text(incoming->connection, 413, "text/plain", "Request entity too large\n", NULL);
    return begin_answer(incoming, method);
}
