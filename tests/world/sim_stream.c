// SPDX-License-Identifier: Apache-2.0
// Watches over the simulated network.
#include "core/base/clock.h"
#include "tests/world/model.h"
#include "tests/world/sim_exchange.h"

#define CHUNK ((size_t)64 << 10)
#define CHUNK_MAX ((size_t)1 << 30)

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void stream_plan(struct exchange *exchange) {
    int64_t at = least(exchange->deadline_ns, exchange->cut_ns);
    int64_t data = exchange->data_ns < exchange->silent_ns ? exchange->data_ns : WORLD_NEVER;
    int64_t stall = exchange->stall_ns > 0 ? exchange->last_byte_ns + exchange->stall_ns : WORLD_NEVER;
    at = least(least(at, data), stall);
    if (at < exchange->net->now_ns)
        at = exchange->net->now_ns;
    if (at == WORLD_NEVER)
        heap_remove(&exchange->net->timers, &exchange->timer);
    else
        exchange_set_timer(exchange, at);
}

static void notify(void *ctx) {
    struct exchange *exchange = ctx;
    if (exchange->stage != STAGE_STREAM || exchange->data_ns != WORLD_NEVER || exchange->busy)
        return;
    exchange->data_ns = exchange->net->now_ns + sim_latency(exchange->net, exchange->host);
    stream_plan(exchange);
}

static int64_t some_time(struct exchange *exchange) {
    int64_t max = exchange->host->faults.stream_max_ns;
    return exchange->net->now_ns +
           (int64_t)random_below(&exchange->net->random, (uint64_t)(max > 0 ? max : CLOCK_MINUTE));
}

void stream_open(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    const struct sim_faults *faults = &exchange->host->faults;
    if (!exchange->transport) {
        exchange_drop(exchange);
        return;
    }
    net->counts.streams++;
    exchange->stage = STAGE_STREAM;
    exchange->last_byte_ns = net->now_ns;
    exchange->cut_ns = sim_chance(net, faults->cut_stream) ? some_time(exchange) : WORLD_NEVER;
    exchange->silent_ns = sim_chance(net, faults->silent_stream) ? some_time(exchange) : WORLD_NEVER;
    exchange->data_ns = net->now_ns + sim_latency(net, exchange->host);
    exchange->watch =
        world_watch(exchange->host->cluster, exchange->path, net->now_ns, notify, exchange, &exchange->response);
    if (!exchange->watch) {
        exchange->stage = STAGE_ANSWER;
        exchange_set_timer(exchange, exchange->data_ns);
        return;
    }
    world_watch_accept(exchange->watch, exchange->accept);
    stream_plan(exchange);
}

// Delivers bytes to the client, in pieces if the faults require it. False: the exchange is gone.
static bool hand_over(struct exchange *exchange, const char *bytes, size_t len) {
    struct sim_net *net = exchange->net;
    bool more = true;
    for (size_t at = 0; at < len && more;) {
        size_t piece = len - at;
        if (exchange->host->faults.split_stream && piece > 1)
            piece = 1 + random_below(&net->random, piece);
        exchange->busy = true;
        more = exchange->handler.data(exchange->handler.ctx, bytes + at, piece);
        exchange->busy = false;
        if (exchange->cancelled) {
            exchange_drop(exchange);
            return false;
        }
        at += piece;
    }
    exchange->last_byte_ns = net->now_ns;
    if (more)
        return true;
    struct http_result result = {.outcome = HTTP_BROKEN,
                                 .status = 200,
                                 .body = "",
                                 .content_type = "",
                                 .retry_after_ns = -1,
                                 .problem = "ended by the client"};
    exchange_finish(exchange, &result);
    return false;
}

static void end(struct exchange *exchange, enum http_outcome outcome, const char *problem, bool stalled) {
    struct http_result result = {.outcome = outcome,
                                 .status = 200,
                                 .body = "",
                                 .content_type = "application/json",
                                 .retry_after_ns = -1,
                                 .problem = problem,
                                 .stalled = stalled};
    sim_trace(exchange->net, exchange, problem ? problem : "stream ended");
    exchange_finish(exchange, &result);
}

// The connection breaks; what the server had sent by then may have come through in part.
static void cut(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    struct buffer bytes;
    buffer_init(&bytes, CHUNK_MAX);
    bool there = true;
    if (exchange->silent_ns > net->now_ns)
        world_watch_read(exchange->watch, &bytes, 1, net->now_ns);
    if (bytes.len > 1)
        there =
            exchange_open(exchange) && hand_over(exchange, bytes.data, (size_t)random_below(&net->random, bytes.len));
    buffer_free(&bytes);
    if (there)
        end(exchange, HTTP_BROKEN, "connection reset by peer", false);
}

static void read_some(struct exchange *exchange) {
    if (!exchange_open(exchange))
        return;
    struct buffer bytes;
    buffer_init(&bytes, CHUNK_MAX);
    exchange->data_ns = WORLD_NEVER;
    size_t len = world_watch_read(exchange->watch, &bytes, CHUNK, exchange->net->now_ns);
    bool there = len == 0 || hand_over(exchange, bytes.data, bytes.len);
    buffer_free(&bytes);
    if (!there)
        return;
    if (world_watch_ended(exchange->watch)) {
        end(exchange, HTTP_ANSWERED, NULL, false);
        return;
    }
    // Read until empty: the watch only notifies after an empty read.
    if (len > 0)
        exchange->data_ns = exchange->net->now_ns;
    stream_plan(exchange);
}

void stream_run(struct exchange *exchange) {
    int64_t now = exchange->net->now_ns;
    if (exchange->deadline_ns <= now)
        end(exchange, HTTP_BROKEN, "timed out", false);
    else if (exchange->cut_ns <= now)
        cut(exchange);
    else if (exchange->data_ns <= now && exchange->silent_ns > now)
        read_some(exchange);
    else if (exchange->stall_ns > 0 && exchange->last_byte_ns + exchange->stall_ns <= now)
        end(exchange, HTTP_BROKEN, "no byte came", true);
    else
        stream_plan(exchange);
}
