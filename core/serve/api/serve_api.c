// SPDX-License-Identifier: Apache-2.0
// The answers of api.h, and the stream /api/v1/watch.
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/serve/http/server.h"

#include <poll.h>

#define ROUND_NS CLOCK_SECOND
#define QUIET_ROUNDS 15 // after so many without an event, a comment shows that the connection works

struct error *serve_api(struct web_call *call) {
    AUTO_BUFFER(body, WEB_BODY_MAX);
    struct api_request request = {.path = call->path, call->parameters, call->n_parameters};
    unsigned code = 0;
    if (!api_get(call->server->source.api, &request, &body, &code))
        return error_new(ERROR_NOT_FOUND, "not found: %s", request.path);
    web_answer(call, code, WEB_JSON, &body);
    return NULL;
}

struct watch_reader {
    struct web_call *call;
    struct api_watch watch;
    struct buffer batch; // events, of which the client has `sent` bytes
    size_t sent;
    int64_t due_ns; // the next round
    unsigned quiet; // rounds
    bool ended;
};

static void put_end(struct watch_reader *reader) {
    AUTO_BUFFER(status, WEB_BODY_MAX);
    api_failure(&status, MHD_HTTP_FORBIDDEN, grant_reason(reader->call->grant));
    buffer_printf(&reader->batch, "event: end\ndata: %s\n", status.data ? status.data : "");
    reader->ended = true;
}

// The changes since the last batch.
static void put_changes(struct watch_reader *reader) {
    struct http_server *server = reader->call->server;
    pthread_mutex_lock(&server->watch_lock);
    AUTO_ERROR error = api_watch_batch(server->source.api, &reader->watch, &reader->batch);
    pthread_mutex_unlock(&server->watch_lock);
    if (error) {
        log_fields(LOG_DEBUG, "no events for a reader of the API", {"error", error_text(error)});
        buffer_reset(&reader->batch);
        return; // the next round
    }
    reader->quiet = reader->batch.len > 0 ? 0 : reader->quiet + 1;
    if (reader->quiet >= QUIET_ROUNDS) {
        reader->quiet = 0;
        buffer_text(&reader->batch, ": nothing changed\n\n");
    }
}

// Until the next round. False: the client is gone.
static bool wait_for_round(struct watch_reader *reader) {
    int64_t now_ns = clock_now().mono_ns;
    struct pollfd client = {.fd = reader->call->fd, .events = POLLRDHUP};
    if (now_ns < reader->due_ns && poll(&client, 1, (int)((reader->due_ns - now_ns) / CLOCK_MS) + 1) > 0)
        return false;
    reader->due_ns = clock_now().mono_ns + ROUND_NS;
    return true;
}

// False: the client is gone, the host stops, or memory ran out.
static bool next_batch(struct watch_reader *reader) {
    buffer_free(&reader->batch);
    reader->sent = 0;
    while (reader->batch.len == 0 && !reader->batch.failed) {
        if (!wait_for_round(reader) || atomic_load(&reader->call->server->stopping))
            return false;
        if (grant_is_lost(reader->call->grant))
            put_end(reader);
        else
            put_changes(reader);
    }
    return !reader->batch.failed;
}

static ssize_t read_watch(void *ctx, char *out, size_t max) {
    struct watch_reader *reader = ctx;
    if (reader->sent == reader->batch.len) {
        if (reader->ended)
            return -1;
        if (!next_batch(reader))
            return -2;
    }
    size_t len = size_least(max, reader->batch.len - reader->sent);
    memcpy(out, reader->batch.data + reader->sent, len);
    reader->sent += len;
    return (ssize_t)len;
}

static void free_watch(void *ctx) {
    struct watch_reader *reader = ctx;
    buffer_free(&reader->batch);
    free(reader);
}

// The sequence after which a reader who was here before continues.
static uint64_t resume_from(const struct web_call *call) {
    const char *given = web_header(call, "Last-Event-ID");
    int64_t sequence = 0;
    if (!given)
        given = web_parameter(call, "since");
    return given && text_to_int64(given, &sequence) && sequence > 0 ? (uint64_t)sequence : 0;
}

struct error *serve_watch(struct web_call *call) {
    struct watch_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_no_memory();
    reader->call = call;
    reader->watch.sequence = resume_from(call);
    buffer_init(&reader->batch, WEB_BODY_MAX);
    web_stream(call, WEB_EVENTS, NULL, &(struct web_reader){read_watch, free_watch, reader});
    return NULL;
}
