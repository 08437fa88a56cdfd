// SPDX-License-Identifier: Apache-2.0
// What the tests of the world have in common: one cluster, virtual time, requests in one line.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

#define START_NS (INT64_C(1767225600) * CLOCK_SECOND) // 2026-01-01T00:00:00Z
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define POD_SPEC "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"example.org/main:1\"}]}"

struct fixture {
    struct world_cluster *cluster;
    int64_t now_ns;
};

static inline void begin(struct fixture *fixture, const struct world_options *options) {
    fixture->now_ns = START_NS;
    fixture->cluster = world_new(options, fixture->now_ns);
}

static inline void end(struct fixture *fixture) {
    assert_int_equal(world_counts(fixture->cluster)->internal_refused, 0);
    world_free(fixture->cluster);
}

// The status code; the parsed body, to be freed, in *out if that is not NULL.
static inline int ask(struct fixture *fixture, const char *method, const char *path, const char *body,
                      struct json **out) {
    struct world_request request = {.method = method, .path = path, .body = body, .body_len = body ? strlen(body) : 0};
    request.content_type = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
    struct world_response response;
    world_request(fixture->cluster, &request, fixture->now_ns, &response);
    int status = response.status;
    if (out) {
        *out = NULL;
        assert_null(json_parse(response.body, response.body_len, out));
    }
    world_response_clear(&response);
    return status;
}

// Makes a Job; `spec` and `annotations` are the members within their objects, e.g. "\"parallelism\":2".
static inline void make_job(struct fixture *fixture, const char *name, const char *spec, const char *annotations) {
    AUTO_TEXT body = text_format("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
                                 "\"annotations\":{%s}},\"spec\":{%s%s\"template\":{\"spec\":" POD_SPEC "}}}",
                                 name, annotations, spec, *spec ? "," : "");
    assert_int_equal(ask(fixture, "POST", JOBS, body, NULL), 201);
}

// Lets the cluster work until `until_ns` after the start.
static inline void run_until(struct fixture *fixture, int64_t until_ns) {
    int64_t due;
    while ((due = world_due(fixture->cluster)) <= START_NS + until_ns) {
        if (due > fixture->now_ns)
            fixture->now_ns = due;
        world_step(fixture->cluster, fixture->now_ns);
    }
    fixture->now_ns = START_NS + until_ns;
    world_step(fixture->cluster, fixture->now_ns);
}

static inline const struct json *job_of(struct fixture *fixture, const char *name) {
    return world_object(fixture->cluster, "batch", "jobs", "default", name);
}

static inline int64_t number_at(const struct json *value, const char *pointer) {
    return json_int64(pointer_find(value, pointer), 0);
}

static inline const char *text_at(const struct json *value, const char *pointer) {
    return json_string_or(pointer_find(value, pointer), "");
}

static inline const struct json *condition_of(const struct json *value, const char *type) {
    const struct json *item = json_first(json_path(value, "status", "conditions", NULL));
    while (item && strcmp(json_string_or(json_get(item, "type"), ""), type) != 0)
        item = json_next(item);
    return item;
}

static inline bool is_true(const struct json *value, const char *type) {
    return strcmp(json_string_or(json_get(condition_of(value, type), "status"), ""), "True") == 0;
}
