// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/replica_tap.h"

#include "core/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define CUT_NS (20 * CLOCK_SECOND) // until a request over a connection that is cut fails, where it has no timeout

struct chunk { // of a stream
    struct chunk *next;
    int64_t at_ns;
    bool opens;
    size_t len;
    char bytes[];
};

struct tapped {
    struct replica_tap *tap;
    struct tapped *next;
    struct http_handler handler;
    uint64_t id, inner; // inner 0: the network knows nothing of it, or not any longer
    int64_t fails_ns;   // CLOCK_NEVER: it does not
    struct chunk *first;
    bool ended;                // its stream has; told once the chunks are delivered
    struct http_result result; // of that
};

struct replica_tap {
    struct transport base;
    struct transport *inner;
    struct replica_tap_options options;
    struct tapped *all;
    uint64_t last_id;
    int64_t lag_ns;
    bool cut;
};

static void forget(struct tapped *t) {
    struct tapped **at = &t->tap->all;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    for (struct chunk *chunk = t->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(t);
}

static struct tapped *find(struct replica_tap *tap, uint64_t id) {
    struct tapped *t = tap->all;
    while (t && t->id != id)
        t = t->next;
    return t;
}

static void touch(struct replica_tap *tap) {
    if (tap->options.touched)
        tap->options.touched(tap->options.ctx);
}

static void finish(struct tapped *t, const struct http_result *result) {
    struct http_handler handler = t->handler;
    touch(t->tap);
    forget(t);
    handler.done(handler.ctx, result);
}

static void fail(struct tapped *t, int status, const char *problem) {
    if (t->inner)
        t->tap->inner->ops->cancel(t->tap->inner, t->inner);
    finish(t, &(struct http_result){.outcome = HTTP_BROKEN,
                                    .status = status,
                                    .body = "",
                                    .content_type = "",
                                    .retry_after_ns = -1,
                                    .problem = problem,
                                    .stalled = status == 0});
}

static void put_chunk(struct tapped *t, const char *bytes, size_t len, bool opens) {
    struct chunk *chunk = malloc(sizeof *chunk + len), **at = &t->first;
    if (!chunk)
        abort();
    *chunk = (struct chunk){.at_ns = *t->tap->options.now_ns + t->tap->lag_ns, .opens = opens, .len = len};
    if (len > 0)
        memcpy(chunk->bytes, bytes, len);
    for (; *at; at = &(*at)->next)
        chunk->at_ns = clock_later(chunk->at_ns, (*at)->at_ns);
    *at = chunk;
}

static bool on_opened(void *ctx) {
    put_chunk(ctx, NULL, 0, true);
    return true;
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    put_chunk(ctx, bytes, len, false);
    return true;
}

static void on_done(void *ctx, const struct http_result *result) {
    struct tapped *t = ctx;
    t->inner = 0;
    if (t->fails_ns != CLOCK_NEVER) // the answer does not get through
        return;
    if (!t->first) {
        finish(t, result);
        return;
    }
    t->ended = true;
    t->result = *result; // whose texts do not last
    t->result.body = t->result.content_type = "";
    t->result.body_len = 0;
    t->result.warning = NULL;
    t->result.problem = result->problem ? "the stream has ended" : NULL;
}

static uint64_t submit(struct transport *base, const struct http_request *request, const struct http_handler *handler) {
    struct replica_tap *tap = (struct replica_tap *)base;
    struct tapped *t = calloc(1, sizeof *t);
    if (!t)
        return 0;
    int64_t now_ns = *tap->options.now_ns;
    int64_t timeout_ns = request->timeout_ns > 0 ? clock_earlier(request->timeout_ns, CUT_NS) : CUT_NS;
    *t = (struct tapped){
        .tap = tap, .handler = *handler, .id = ++tap->last_id, .next = tap->all, .fails_ns = CLOCK_NEVER};
    tap->all = t;
    if (tap->options.requested)
        tap->options.requested(tap->options.ctx, request);
    if (tap->cut) {
        t->fails_ns = now_ns + timeout_ns;
        return t->id;
    }
    struct http_handler ours = {handler->opened ? on_opened : NULL, handler->data ? on_data : NULL, on_done, t};
    t->inner = tap->inner->ops->submit(tap->inner, request, &ours);
    return t->id;
}

static void cancel(struct transport *base, uint64_t id) {
    struct replica_tap *tap = (struct replica_tap *)base;
    struct tapped *t = find(tap, id);
    if (!t)
        return;
    if (t->inner)
        tap->inner->ops->cancel(tap->inner, t->inner);
    forget(t);
}

static bool refresh(struct transport *base) {
    struct replica_tap *tap = (struct replica_tap *)base;
    return tap->inner->ops->refresh(tap->inner);
}

static void free_tap(struct transport *base) {
    struct replica_tap *tap = (struct replica_tap *)base;
    tap->inner->ops->free(tap->inner);
    while (tap->all)
        forget(tap->all);
    free(tap);
}

struct replica_tap *replica_tap_new(const struct replica_tap_options *options) {
    static const struct transport_ops ops = {submit, cancel, refresh, free_tap};
    struct replica_tap *tap = calloc(1, sizeof *tap);
    if (!tap)
        abort();
    *tap = (struct replica_tap){.base = {&ops}, .options = *options};
    tap->inner = sim_transport_new(options->net, options->cluster);
    if (!tap->inner)
        abort();
    return tap;
}

struct transport *replica_tap_transport(struct replica_tap *tap) {
    return &tap->base;
}

void replica_tap_cut(struct replica_tap *tap, bool cut) {
    tap->cut = cut;
    for (struct tapped *t = tap->all; t && cut; t = t->next)
        t->fails_ns = clock_earlier(t->fails_ns, *tap->options.now_ns + CUT_NS);
}

void replica_tap_lag(struct replica_tap *tap, int64_t lag_ns) {
    tap->lag_ns = lag_ns;
}

// One thing that is due; a handler may change everything.
static bool run_one(struct replica_tap *tap) {
    int64_t now_ns = *tap->options.now_ns;
    for (struct tapped *t = tap->all; t; t = t->next) {
        struct chunk *chunk = t->first;
        bool cut = t->fails_ns != CLOCK_NEVER;
        if (cut && t->fails_ns <= now_ns) {
            fail(t, 0, "timed out");
            return true;
        }
        if (!cut && !chunk && t->ended) {
            struct http_result result = t->result;
            finish(t, &result);
            return true;
        }
        if (cut || !chunk || chunk->at_ns > now_ns)
            continue;
        t->first = chunk->next;
        touch(tap);
        uint64_t id = t->id;
        bool more = chunk->opens ? t->handler.opened(t->handler.ctx)
                                 : t->handler.data(t->handler.ctx, chunk->bytes, chunk->len);
        free(chunk);
        struct tapped *still = find(tap, id);
        if (still && !more)
            fail(still, 200, "ended by the client");
        return true;
    }
    return false;
}

void replica_tap_run(struct replica_tap *tap) {
    while (run_one(tap))
        continue;
}

int64_t replica_tap_due(const struct replica_tap *tap) {
    int64_t due_ns = CLOCK_NEVER;
    for (const struct tapped *t = tap->all; t; t = t->next) {
        due_ns = clock_earlier(due_ns, t->fails_ns);
        if (t->first && t->fails_ns == CLOCK_NEVER)
            due_ns = clock_earlier(due_ns, t->first->at_ns);
        if (t->ended && !t->first)
            due_ns = clock_earlier(due_ns, *t->tap->options.now_ns);
    }
    return due_ns;
}
