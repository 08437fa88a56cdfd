// SPDX-License-Identifier: Apache-2.0
// A reflector on a fake transport and virtual time; what it tells is written down as text: "seen n/a@5;".
#pragma once

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/watch/reflector.h"
#include "tests/unit/kube/fake_transport.h"

#include <stdio.h>

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs/status\",\"verbs\":[\"get\"]},{\"name\":\"jobs\","  \
    "\"kind\":\"Job\",\"verbs\":[\"create\",\"list\",\"watch\"]}]}"
#define ITEM(name, uid, version)                                                                                       \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"" \
    "}}"
#define LIST(version, token, items)                                                                                    \
    "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" token                    \
    "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"kind\":\"Job\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define INITIAL_END(version)                                                                                           \
    EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version                                                  \
                      "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")
#define STATUS(code, reason)                                                                                           \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}"
#define ERROR_EVENT(code, reason) EVENT("ERROR", STATUS(code, reason))
#define TOO_LARGE                                                                                                      \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":504,\"reason\":\"Timeout\",\"message\":\"m\",\"details\":"   \
    "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}}"

struct harness {
    struct fake_transport fake;
    struct reflector *reflector;
    struct buffer told;
    char problem[256]; // of the last state
    char kind[128];
    int64_t now_ns, next_ns;
    bool proofs_are_ours; // the test answers them; else they succeed at once
};

static inline void told_listing(void *ctx, const char *version) {
    assert_non_null(version);
    buffer_text(&((struct harness *)ctx)->told, "listing;");
}

static inline void told_object(struct harness *harness, const char *what, struct object *object) {
    const struct json *value = object->value;
    buffer_printf(&harness->told, "%s %s@%s;", what, object_name(value), object_version(value));
    (void)snprintf(harness->kind, sizeof(harness->kind), "%s %s", json_string_or(json_get(value, "apiVersion"), "-"),
                   json_string_or(json_get(value, "kind"), "-"));
    object_free(object);
}

static inline void told_seen(void *ctx, struct object *object) {
    told_object(ctx, object->too_large ? "stub" : "seen", object);
}

static inline void told_gone(void *ctx, struct object *object) {
    told_object(ctx, object->too_large ? "gone-stub" : "gone", object);
}

static inline void told_listed(void *ctx, const char *version) {
    buffer_printf(&((struct harness *)ctx)->told, "listed %s;", version);
}

static inline void told_state(void *ctx, enum reflector_state state, const char *problem) {
    static const char *const names[] = {"STARTING", "CONNECTED", "LOST", "ABSENT"};
    struct harness *harness = ctx;
    assert_true(!!problem == (state == REFLECTOR_LOST || state == REFLECTOR_ABSENT));
    text_copy(harness->problem, sizeof(harness->problem), problem ? problem : "");
    buffer_printf(&harness->told, "%s;", names[state]);
}

static inline void told_rewound(void *ctx, const char *problem) {
    struct harness *harness = ctx;
    text_copy(harness->problem, sizeof(harness->problem), problem);
    buffer_text(&harness->told, "REWOUND;");
}

static inline bool is_proof(struct harness *harness) {
    const struct fake_exchange *last = harness->fake.count > 0 ? fake_last(&harness->fake) : NULL;
    return last && last->live && strstr(last->request.path, "&resourceVersionMatch=NotOlderThan&") &&
           strstr(last->request.path, "?limit=1&");
}

#define PROOF "{\"kind\":\"PartialObjectMetadataList\",\"items\":[]}"

// As the transport gives it: through the stream.
static inline void give_proof(struct harness *harness, const char *body) {
    struct fake_exchange exchange = *fake_last(&harness->fake);
    bool more = exchange.handler.data(exchange.handler.ctx, body, strlen(body));
    struct http_result result = {.outcome = more ? HTTP_ANSWERED : HTTP_BROKEN, .status = 200};
    fake_finish(&harness->fake, harness->fake.count, result);
}

static inline void tick(struct harness *harness) {
    harness->next_ns = reflector_tick(harness->reflector, (struct moment){.mono_ns = harness->now_ns});
    if (!harness->proofs_are_ours && is_proof(harness)) {
        give_proof(harness, PROOF);
        harness->next_ns = reflector_tick(harness->reflector, (struct moment){.mono_ns = harness->now_ns});
    }
}

static inline void begin_with(struct harness *harness, struct reflector_options options) {
    *harness = (struct harness){.now_ns = 1000 * CLOCK_SECOND};
    fake_init(&harness->fake);
    buffer_init(&harness->told, 1 << 20);
    static const char *const versions[] = {"v1", NULL};
    options.cluster = "w1";
    options.group = options.group ? options.group : "batch";
    options.plural = options.plural ? options.plural : "jobs";
    options.versions = options.versions ? options.versions : versions;
    options.seed = options.seed != 0 ? options.seed : 7;
    struct reflector_handler handler = {told_listing, told_seen,    told_gone, told_listed,
                                        told_state,   told_rewound, harness};
    assert_null(reflector_new(&options, &harness->fake.base, &handler, &harness->reflector));
    tick(harness);
}

static inline void begin(struct harness *harness) {
    begin_with(harness, (struct reflector_options){0});
}

static inline void end(struct harness *harness) {
    reflector_free(harness->reflector);
    buffer_free(&harness->told);
    fake_free(&harness->fake);
}

static inline const char *path(struct harness *harness) {
    assert_true(fake_last(&harness->fake)->live);
    return fake_last(&harness->fake)->request.path;
}

// What was told since the last call.
static inline void expect(struct harness *harness, const char *text) {
    assert_string_equal(harness->told.data ? harness->told.data : "", text);
    buffer_free(&harness->told);
}

static inline void answer(struct harness *harness, int status, const char *body) {
    fake_answer(&harness->fake, harness->fake.count, status, body);
    tick(harness);
}

static inline void refuse(struct harness *harness) {
    fake_refuse(&harness->fake, harness->fake.count);
    tick(harness);
}

static inline void break_off(struct harness *harness, int status) {
    fake_break(&harness->fake, harness->fake.count, status);
    tick(harness);
}

static inline void open_stream(struct harness *harness) {
    fake_open(&harness->fake, harness->fake.count);
    tick(harness);
}

// A clean end.
static inline void end_stream(struct harness *harness) {
    answer(harness, 200, "");
}

static inline bool data(struct harness *harness, const char *text) {
    bool go_on = fake_data(&harness->fake, harness->fake.count, text, strlen(text));
    tick(harness);
    return go_on;
}

static inline void pass(struct harness *harness, int64_t duration_ns) {
    harness->now_ns += duration_ns;
    tick(harness);
}

static inline bool is_waiting(struct harness *harness) {
    return harness->fake.count == 0 || !fake_last(&harness->fake)->live;
}

// Nothing is under way; goes to the time at which the reflector wants to act again.
static inline void wait_it_out(struct harness *harness, int64_t least_ns, int64_t most_ns) {
    assert_true(is_waiting(harness));
    assert_true(harness->next_ns - harness->now_ns >= least_ns);
    assert_true(harness->next_ns - harness->now_ns <= most_ns);
    harness->now_ns = harness->next_ns - 1;
    tick(harness);
    assert_true(is_waiting(harness));
    harness->now_ns = harness->next_ns;
    tick(harness);
    assert_false(is_waiting(harness));
}

#define FIRST_BACKOFF 800 * CLOCK_MS, 1600 * CLOCK_MS

static inline bool is_list(struct harness *harness) {
    return strcmp(path(harness), "/apis/batch/v1/jobs?limit=500") == 0;
}

static inline bool is_watch_at(struct harness *harness, const char *version) {
    AUTO_TEXT tail = text_format("&resourceVersion=%s", version);
    const char *found = strstr(path(harness), tail);
    return strstr(path(harness), "?watch=true") && found && strcmp(found, tail) == 0;
}

static inline bool is_discovery(struct harness *harness) {
    return strcmp(path(harness), "/apis/batch/v1") == 0;
}

// Discovered, listed (one object, version 5) and watching, for at least a second.
static inline void connect(struct harness *harness) {
    assert_true(is_discovery(harness));
    answer(harness, 200, DISCOVERY);
    assert_true(is_list(harness));
    answer(harness, 200, LIST("5", "", ITEM("a", "u1", "3")));
    assert_true(is_watch_at(harness, "5"));
    open_stream(harness);
    expect(harness, "listing;seen a@3;listed v1;CONNECTED;");
    pass(harness, 5 * CLOCK_SECOND);
}
