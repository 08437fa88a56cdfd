// SPDX-License-Identifier: Apache-2.0
// Whatever bytes come: the frame scanner finds the same documents however they are split, and a reflector that is fed
// with them as bodies, chunks and ends neither crashes nor stops asking.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/kube/watch/reflector.h"

#include <stdlib.h>
#include <string.h>

// One exchange at a time is all that a reflector has.
struct one_transport {
    struct transport base;
    struct http_handler handler;
    bool live, stream;
    uint64_t count;
};

static uint64_t one_submit(struct transport *transport, const struct http_request *request,
                           const struct http_handler *handler) {
    struct one_transport *one = (struct one_transport *)transport;
    if (one->live)
        abort();
    one->handler = *handler;
    one->live = true;
    one->stream = request->stream;
    return ++one->count;
}

static void one_cancel(struct transport *transport, uint64_t id) {
    struct one_transport *one = (struct one_transport *)transport;
    if (id != one->count)
        abort();
    one->live = false;
}

static bool one_refresh(struct transport *transport) {
    return ((struct one_transport *)transport)->count % 2 == 0;
}

static void one_done(struct one_transport *one, enum http_outcome outcome, int status, const char *body, size_t len) {
    char *copy = calloc(1, len + 1);
    if (!copy)
        abort();
    memcpy(copy, body, len);
    struct http_result result = {.outcome = outcome,
                                 .status = status,
                                 .body = copy,
                                 .body_len = len,
                                 .content_type = "application/json",
                                 .retry_after_ns = -1,
                                 .problem = outcome == HTTP_ANSWERED ? NULL : "trouble"};
    one->live = false;
    one->handler.done(one->handler.ctx, &result);
    free(copy);
}

struct listener {
    bool listing;
    struct one_transport transport;
};

static void on_listing(void *ctx, const char *version) {
    (void)version;
    ((struct listener *)ctx)->listing = true;
}

static void on_object(void *ctx, struct object *object) {
    (void)ctx;
    if (object->len != strlen(object->text) || object_name(object->value)[0] == '\0' ||
        object_uid(object->value)[0] == '\0')
        abort();
    object_free(object);
}

static void on_listed(void *ctx, const char *version) {
    struct listener *listener = ctx;
    if (!listener->listing || strcmp(version, "v1") != 0)
        abort();
    listener->listing = false;
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    (void)ctx;
    if (!problem != (state == REFLECTOR_CONNECTED))
        abort();
}

static struct reflector *begin(struct listener *listener, bool watch_list) {
    static const struct transport_ops ops = {.submit = one_submit, .cancel = one_cancel, .refresh = one_refresh};
    static const char *const versions[] = {"v1", NULL};
    struct reflector_options options = {
        .cluster = "w1", .group = "batch", .plural = "jobs", .versions = versions, .watch_list = watch_list, .seed = 1};
    struct reflector_handler handler = {on_listing, on_object, on_object, on_listed, on_state, NULL, listener};
    struct reflector *reflector = NULL;
    *listener = (struct listener){.transport.base.ops = &ops};
    error_free(reflector_new(&options, &listener->transport.base, &handler, &reflector));
    return reflector;
}

// The input is a script: a byte for what happens, a byte for how many bytes after it are the payload (times 4).
static size_t step(struct one_transport *one, const uint8_t *data, size_t size) {
    static const int statuses[] = {200, 401, 404, 410, 422, 429, 500, 504};
    size_t len = size >= 2 ? (size_t)data[1] * 4 : 0;
    len = size >= 2 && len > size - 2 ? size - 2 : len;
    const char *payload = (const char *)data + (size >= 2 ? 2 : size);
    unsigned what = data[0];
    if (what % 4 == 0 && one->stream) {
        if (one->handler.data && !one->handler.data(one->handler.ctx, payload, len))
            one_done(one, HTTP_BROKEN, 200, "", 0);
    } else if (what % 4 == 1 && one->stream) {
        if (one->handler.opened && !one->handler.opened(one->handler.ctx))
            one_done(one, HTTP_BROKEN, 200, "", 0);
    } else if (what % 4 == 2) {
        one_done(one, what & 4 ? HTTP_REFUSED : HTTP_BROKEN, what & 8 ? 200 : 0, "", 0);
    } else {
        one_done(one, HTTP_ANSWERED, statuses[what >> 5], payload, len);
    }
    return (size >= 2 ? 2 : 1) + len;
}

static void run_reflector(const uint8_t *data, size_t size) {
    static const char discovery[] = "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\","
                                    "\"verbs\":[\"list\",\"watch\"]}]}";
    struct listener listener;
    struct reflector *reflector = begin(&listener, size > 0 && data[0] % 2 == 0);
    if (!reflector)
        return;
    struct moment now = {.mono_ns = CLOCK_MINUTE};
    int64_t next_ns = reflector_tick(reflector, now);
    one_done(&listener.transport, HTTP_ANSWERED, 200, discovery, sizeof(discovery) - 1);
    while (size > 0) {
        next_ns = reflector_tick(reflector, now);
        if (!listener.transport.live) {
            if (next_ns <= now.mono_ns || next_ns > now.mono_ns + 10 * CLOCK_MINUTE)
                abort(); // a hot loop, or it gave up
            now.mono_ns = next_ns;
            continue;
        }
        size_t used = step(&listener.transport, data, size);
        now.mono_ns += data[0] % 3 * CLOCK_SECOND;
        data += used;
        size -= used;
    }
    reflector_free(reflector);
}

// The ends of all documents, scanned in chunks of `chunk` bytes as the reflector does it: only the new bytes are there.
static size_t scan(const char *bytes, size_t len, size_t chunk, size_t *ends, size_t max, bool *bad) {
    struct frame_scanner scanner = {0};
    size_t count = 0;
    for (size_t at = 0; at < len;) {
        size_t part = chunk - at % chunk;
        part = part < len - at ? part : len - at;
        scanner.scanned = 0;
        size_t end = frame_next(&scanner, bytes + at, part, bad);
        if (*bad || end > part)
            return count;
        at += end > 0 ? end : part;
        if (end > 0 && count < max)
            ends[count++] = at;
    }
    return count;
}

static void run_scanner(const uint8_t *data, size_t size) {
    enum { MAX = 64 };
    static const size_t chunks[] = {1, 2, 3, 7, 64};
    size_t whole[MAX], split[MAX];
    bool whole_bad = false;
    size_t count = scan((const char *)data, size, size + 1, whole, MAX, &whole_bad);
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        bool bad = false;
        if (scan((const char *)data, size, chunks[i], split, MAX, &bad) != count || bad != whole_bad ||
            memcmp(whole, split, count * sizeof(whole[0])) != 0)
            abort();
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    run_scanner(data, size);
    run_reflector(data, size);
}
