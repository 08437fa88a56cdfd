// SPDX-License-Identifier: Apache-2.0
// A transport that sends nothing: it keeps what was submitted, and the test says how each exchange goes on.
#pragma once

#include "core/base/text.h"
#include "core/kube/transport/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fake_exchange {
    struct http_request request; // its texts are our copies
    struct http_handler handler;
    bool live;
};

struct fake_transport {
    struct transport base;
    struct fake_exchange *exchanges;
    size_t count, cancelled, refreshes;
    bool can_refresh, out_of_memory;
    int64_t retry_after_ns; // of the next answers
    const char *warning;    // of the next answers
};

static inline char *fake_copy(const char *text, size_t len) {
    if (!text)
        return NULL;
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static inline uint64_t fake_submit(struct transport *transport, const struct http_request *request,
                                   const struct http_handler *handler) {
    struct fake_transport *fake = (struct fake_transport *)transport;
    if (fake->out_of_memory)
        return 0;
    fake->exchanges = realloc(fake->exchanges, (fake->count + 1) * sizeof(*fake->exchanges));
    assert_non_null(fake->exchanges);
    struct fake_exchange *exchange = &fake->exchanges[fake->count++];
    *exchange = (struct fake_exchange){.request = *request, .handler = *handler, .live = true};
    exchange->request.path = fake_copy(request->path, strlen(request->path));
    exchange->request.body = fake_copy(request->body, request->body_len);
    exchange->request.content_type =
        fake_copy(request->content_type, request->content_type ? strlen(request->content_type) : 0);
    exchange->request.tenant = fake_copy(request->tenant, request->tenant ? strlen(request->tenant) : 0);
    return fake->count;
}

static inline void fake_cancel(struct transport *transport, uint64_t id) {
    struct fake_transport *fake = (struct fake_transport *)transport;
    assert_true(id > 0 && id <= fake->count);
    fake->cancelled += fake->exchanges[id - 1].live;
    fake->exchanges[id - 1].live = false;
}

static inline bool fake_refresh(struct transport *transport) {
    struct fake_transport *fake = (struct fake_transport *)transport;
    fake->refreshes++;
    return fake->can_refresh;
}

static inline void fake_init(struct fake_transport *fake) {
    static const struct transport_ops ops = {.submit = fake_submit, .cancel = fake_cancel, .refresh = fake_refresh};
    *fake = (struct fake_transport){.base.ops = &ops, .retry_after_ns = -1};
}

static inline void fake_free(struct fake_transport *fake) {
    for (size_t i = 0; i < fake->count; i++) {
        free((char *)fake->exchanges[i].request.path);
        free((char *)fake->exchanges[i].request.tenant);
        free((char *)fake->exchanges[i].request.body);
        free((char *)fake->exchanges[i].request.content_type);
    }
    free(fake->exchanges);
}

static inline struct fake_exchange *fake_at(struct fake_transport *fake, size_t number) {
    assert_true(number > 0 && number <= fake->count);
    return &fake->exchanges[number - 1];
}

static inline struct fake_exchange *fake_last(struct fake_transport *fake) {
    return fake_at(fake, fake->count);
}

// The oldest open exchange with this path, or else whose path begins so; 0: none.
static inline size_t fake_find(struct fake_transport *fake, const char *path) {
    size_t found = 0;
    for (size_t i = 1; i <= fake->count; i++) {
        const char *asked = fake_at(fake, i)->request.path;
        if (!fake_at(fake, i)->live)
            continue;
        if (strcmp(asked, path) == 0)
            return i;
        if (found == 0 && text_has_prefix(asked, path))
            found = i;
    }
    return found;
}

// The same, which must be there.
static inline size_t fake_asked(struct fake_transport *fake, const char *path) {
    size_t number = fake_find(fake, path);
    if (number == 0)
        fail_msg("nobody asks for %s", path);
    return number;
}

// The exchange is over for the transport before its handler runs, as with the real one.
static inline void fake_finish(struct fake_transport *fake, size_t number, struct http_result result) {
    struct fake_exchange *exchange = fake_at(fake, number);
    assert_true(exchange->live);
    exchange->live = false;
    result.body = result.body ? result.body : "";
    result.body_len = result.body_len > 0 ? result.body_len : strlen(result.body);
    result.content_type = result.content_type ? result.content_type : "application/json";
    result.retry_after_ns = fake->retry_after_ns;
    result.warning = fake->warning;
    struct http_handler handler = exchange->handler;
    handler.done(handler.ctx, &result);
}

static inline void fake_answer(struct fake_transport *fake, size_t number, int status, const char *body) {
    fake_finish(fake, number, (struct http_result){.outcome = HTTP_ANSWERED, .status = status, .body = body});
}

static inline void fake_answer_text(struct fake_transport *fake, size_t number, int status, const char *body) {
    fake_finish(
        fake, number,
        (struct http_result){.outcome = HTTP_ANSWERED, .status = status, .body = body, .content_type = "text/plain"});
}

static inline void fake_refuse(struct fake_transport *fake, size_t number) {
    fake_finish(fake, number, (struct http_result){.outcome = HTTP_REFUSED, .problem = "connection refused"});
}

// `status`: what a stream began with, or 0.
static inline void fake_break(struct fake_transport *fake, size_t number, int status) {
    fake_finish(fake, number,
                (struct http_result){.outcome = HTTP_BROKEN, .status = status, .problem = "connection reset"});
}

static inline void fake_open(struct fake_transport *fake, size_t number) {
    struct http_handler handler = fake_at(fake, number)->handler;
    assert_true(handler.opened(handler.ctx));
}

// A stream that is ended by its handler is over, as transport.h has it.
static inline bool fake_data(struct fake_transport *fake, size_t number, const char *bytes, size_t len) {
    struct http_handler handler = fake_at(fake, number)->handler;
    char *copy = malloc(len); // exactly as long, for the sanitizer
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    bool go_on = handler.data(handler.ctx, copy, len);
    free(copy);
    if (!go_on)
        fake_break(fake, number, 200);
    return go_on;
}
