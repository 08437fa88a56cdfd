// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/renames.h"

#include "core/base/text.h"
#include "tests/simulation/trial.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)64 << 20)
#define PREFIX "x-"

// What comes before a name: in namespaces, and in objects of a namespace.
static const char *const marks[][2] = {{"\"name\":\"", "\"name\":\"" PREFIX},
                                       {"\"namespace\":\"", "\"namespace\":\"" PREFIX}};

struct renamed { // an exchange
    struct renames *of;
    struct renamed *next;
    struct http_handler handler;
    uint64_t id;
    struct buffer rest;      // of a stream: the beginning of a mark
    const char *const *mark; // NULL: of the host's own namespace, which has no other name
};

struct renames {
    struct transport base;
    struct transport *inner;
    struct trial *trial;
    struct renamed *all;
};

static void forget(struct renamed *exchange) {
    struct renamed **at = &exchange->of->all;
    while (*at != exchange)
        at = &(*at)->next;
    *at = exchange->next;
    buffer_free(&exchange->rest);
    free(exchange);
}

// Appends the text with `from` replaced. Returns the bytes at the end that may be the beginning of another one.
static size_t replace(const char *text, size_t len, const char *from, const char *to, bool ends, struct buffer *out) {
    size_t from_len = strlen(from), at = 0;
    while (at < len) {
        size_t left = len - at;
        if (left >= from_len && memcmp(text + at, from, from_len) == 0) {
            buffer_text(out, to);
            at += from_len;
        } else if (!ends && left < from_len && memcmp(text + at, from, left) == 0) {
            return left;
        } else {
            buffer_char(out, text[at++]);
        }
    }
    return 0;
}

static bool on_opened(void *ctx) {
    struct renamed *exchange = ctx;
    return exchange->handler.opened(exchange->handler.ctx);
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct renamed *exchange = ctx;
    AUTO_BUFFER(out, TEXT_MAX);
    if (!exchange->mark)
        return exchange->handler.data(exchange->handler.ctx, bytes, len);
    buffer_append(&exchange->rest, bytes, len);
    size_t all = exchange->rest.len,
           left = replace(exchange->rest.data, all, exchange->mark[0], exchange->mark[1], false, &out);
    buffer_consume(&exchange->rest, all - left);
    return out.len == 0 || exchange->handler.data(exchange->handler.ctx, out.data, out.len);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct renamed *exchange = ctx;
    struct http_handler handler = exchange->handler;
    struct http_result renamed = *result;
    AUTO_BUFFER(out, TEXT_MAX);
    if (exchange->mark && result->body_len > 0) {
        (void)replace(result->body, result->body_len, exchange->mark[0], exchange->mark[1], true, &out);
        renamed.body = out.data;
        renamed.body_len = out.len;
    }
    forget(exchange);
    handler.done(handler.ctx, &renamed);
}

static uint64_t submit(struct transport *base, const struct http_request *request, const struct http_handler *handler) {
    struct renames *renames = (struct renames *)base;
    struct renamed *exchange = calloc(1, sizeof *exchange);
    AUTO_BUFFER(path, TEXT_MAX);
    AUTO_BUFFER(body, TEXT_MAX);
    if (!exchange)
        return 0;
    *exchange = (struct renamed){.of = renames, .handler = *handler, .rest = {.max = TEXT_MAX}};
    if (!strstr(request->path, "/leases") && !text_has_suffix(request->path, "/kube-system"))
        exchange->mark = marks[!text_has_prefix(request->path, "/api/v1/namespaces?")];
    const char *at = exchange->mark ? strstr(request->path, "/namespaces/") : NULL;
    if (at && !text_has_prefix(at, "/namespaces/" PREFIX))
        trial_fail(renames->trial, "a request for a namespace without a name: %s", request->path);
    struct http_request plain = *request;
    (void)replace(request->path, strlen(request->path), "/namespaces/" PREFIX, "/namespaces/", true, &path);
    plain.path = path.data;
    if (request->body && exchange->mark) {
        (void)replace(request->body, request->body_len, exchange->mark[1], exchange->mark[0], true, &body);
        plain.body = body.data ? body.data : "";
        plain.body_len = body.len;
    }
    const struct http_handler ours = {handler->opened ? on_opened : NULL, handler->data ? on_data : NULL, on_done,
                                      exchange};
    exchange->next = renames->all;
    renames->all = exchange;
    uint64_t id = exchange->id = renames->inner->ops->submit(renames->inner, &plain, &ours);
    if (!id)
        forget(exchange);
    return id;
}

static void cancel(struct transport *base, uint64_t id) {
    struct renames *renames = (struct renames *)base;
    renames->inner->ops->cancel(renames->inner, id);
    for (struct renamed *exchange = renames->all, *next; exchange; exchange = next) {
        next = exchange->next;
        if (exchange->id == id)
            forget(exchange);
    }
}

static bool refresh(struct transport *base) {
    struct renames *renames = (struct renames *)base;
    return renames->inner->ops->refresh(renames->inner);
}

static void free_renames(struct transport *base) {
    struct renames *renames = (struct renames *)base;
    renames->inner->ops->free(renames->inner);
    while (renames->all)
        forget(renames->all);
    free(renames);
}

bool renames_are_wanted(void) {
    return getenv("SIM_MAPPED");
}

struct transport *renames_transport(struct trial *trial, struct transport *inner) {
    static const struct transport_ops ops = {submit, cancel, refresh, free_renames};
    struct renames *renames = calloc(1, sizeof *renames);
    if (!renames)
        return NULL;
    *renames = (struct renames){.base = {&ops}, .inner = inner, .trial = trial};
    return &renames->base;
}
