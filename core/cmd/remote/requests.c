// SPDX-License-Identifier: Apache-2.0
// Requests to the host. A caller on the host's machine needs no token for most paths, so it is obtained when it is
// asked for.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/remote/internal.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

#define ERROR_BODY_MAX ((size_t)64 << 10)
#define POLL_NS (200 * CLOCK_MS)

struct transport *remote_transport(struct remote *remote) {
    return remote->host.connection.transport;
}

// The API server always needs a token: without one the host is not reached.
static struct error *begin(struct remote *remote) {
    struct error *error = remote_locate(remote);
    if (!error && !remote_is_direct(remote) && !remote->authorized)
        error = remote_send_token(remote);
    if (!error)
        return NULL;
    if (!remote->missing && !remote->tried) {
        remote_leave_place(remote); // the next request tries again
        return error;
    }
    struct error *unreached = remote_unreached(remote, error_text(error));
    error_free(error);
    return unreached;
}

struct error *remote_authorize(struct remote *remote) {
    struct error *error = begin(remote);
    return error || remote->authorized ? error : remote_send_token(remote);
}

// The API server's own answer for a Service that does not exist or has no pods.
static bool is_no_service(const struct remote *remote, const struct response *response) {
    static const char *const begins[] = {"services \"", "no endpoints available for service",
                                         "error trying to reach service"};
    for (size_t i = 0; !remote_is_direct(remote) && i < COUNT(begins); i++)
        if (text_has_prefix(response->message, begins[i]))
            return true;
    return false;
}

static struct error *failure(struct remote *remote, const struct response *response) {
    enum error_code code = ERROR_IO;
    if (response->code <= 0 || is_no_service(remote, response))
        return remote_unreached(remote, response->message);
    if (response->code == 404)
        code = ERROR_NOT_FOUND;
    else if (response->code == 401 || response->code == 403)
        code = ERROR_REFUSED;
    return error_new(code, "the host: %s", response->message);
}

struct error *remote_get(struct remote *remote, const char *path, struct json **out) {
    *out = NULL;
    TRY(begin(remote));
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_TEXT whole = text_format("%s%s", remote->prefix, path);
    struct error *error = whole ? ask_raw(remote->host.client, whole, &response) : error_no_memory();
    if (!error && response.code == 401 && !remote->authorized) {
        response_clear(&response);
        error = remote_send_token(remote);
        if (!error)
            error = ask_raw(remote->host.client, whole, &response);
    }
    if (error)
        return error;
    if (response.reason != REASON_OK || !response.value)
        return failure(remote, &response);
    *out = TAKE(response.value);
    return NULL;
}

struct error *remote_worker(struct remote *remote, const char *name, struct json **out, struct json **list) {
    AUTO_JSON workers = NULL;
    *out = NULL;
    struct error *error = remote_get(remote, "/api/v1/workers", &workers);
    for (const struct json *w = json_first(json_get(workers, "items")); !error && w && !*out; w = json_next(w))
        if (text_equal(json_string(json_get(w, "name")), name) && !(*out = json_copy(w)))
            error = error_no_memory();
    if (list)
        *list = TAKE(workers);
    return error;
}

struct streaming {
    const struct remote_reader *reader;
    struct transport *transport;
    uint64_t id;
    bool done, ended; // ended: by the caller
    struct response response;
    bool answered;
};

static bool on_open(void *ctx) {
    const struct streaming *streaming = ctx;
    if (streaming->reader->opened)
        streaming->reader->opened(streaming->reader->ctx,
                                  curl_transport_response_header(streaming->transport, streaming->id, "Wharf-Note"));
    return true;
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct streaming *streaming = ctx;
    streaming->ended = !streaming->reader->data(streaming->reader->ctx, bytes, len);
    return !streaming->ended;
}

static void on_done(void *ctx, const struct http_result *result) {
    struct streaming *streaming = ctx;
    streaming->done = true;
    streaming->answered = result->outcome == HTTP_ANSWERED && result->status == 200;
    if (!streaming->answered && !streaming->ended)
        response_read(&streaming->response, result, VERB_RAW_GET);
}

static struct error *stream_once(struct remote *remote, const char *path, struct streaming *streaming) {
    const struct http_request request = {
        .method = HTTP_GET, .path = path, .accept = "*/*", .stream = true, .max_body = ERROR_BODY_MAX};
    const struct http_handler handler = {.opened = on_open, .data = on_data, .done = on_done, .ctx = streaming};
    struct transport *transport = streaming->transport = remote_transport(remote);
    streaming->id = transport->ops->submit(transport, &request, &handler);
    if (streaming->id == 0)
        return error_no_memory();
    while (!streaming->done)
        curl_transport_poll(transport, POLL_NS);
    return NULL;
}

struct error *remote_stream(struct remote *remote, const char *path, const struct remote_reader *reader) {
    TRY(begin(remote));
    struct streaming streaming = {.reader = reader, .response = {.retry_after_ns = -1}};
    AUTO_TEXT whole = text_format("%s%s", remote->prefix, path);
    struct error *error = whole ? stream_once(remote, whole, &streaming) : error_no_memory();
    if (!error && streaming.response.code == 401 && !remote->authorized) {
        response_clear(&streaming.response);
        streaming = (struct streaming){.reader = reader, .response = {.retry_after_ns = -1}};
        error = remote_send_token(remote);
        if (!error)
            error = stream_once(remote, whole, &streaming);
    }
    if (!error && !streaming.answered && !streaming.ended)
        error = failure(remote, &streaming.response);
    response_clear(&streaming.response);
    return error;
}
