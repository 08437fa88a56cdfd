// SPDX-License-Identifier: Apache-2.0
// The API in front of an engine between clusters in memory, for tests.
#pragma once

#include "core/kube/client/client.h"
#include "core/serve/api/api.h"
#include "tests/unit/engine/stage.h"

#include <string.h>

struct desk {
    struct stage stage;
    struct adapters adapters;
    struct adapter adapter;
    struct config config;
    struct api_source source;
    const char *names[STAGE_CLUSTERS];
    struct kind *kinds[1];
    const struct kind *const_kinds[1];
    enum worker_policy policy; // of w1
    bool leaving;
    const char *from, *labels;
    size_t max_active;       // of w1
    bool unheard;            // w1
    struct histogram recent; // of w1
    struct rights_features features;
    bool stopped, broken;  // the host does not answer; the management cluster does not
    const char *discovery; // answered for batch/v1, or NULL
    unsigned asked, reads; // of the engine; of the management cluster
    struct buffer body;
    struct json *answer; // parsed
};

static inline struct error *give_snapshot(void *ctx, struct host_snapshot *out) {
    struct desk *desk = ctx;
    *out = (struct host_snapshot){.names = desk->names,
                                  .kinds = desk->const_kinds,
                                  .running = true,
                                  .in_sync = true,
                                  .been_in_sync = true,
                                  .origin = "here",
                                  .features = desk->features,
                                  .started_wall_ns = desk->stage.now.wall_ns,
                                  .taken = desk->stage.now};
    struct error *error = stats_copy(engine_stats(desk->stage.engine), &out->stats);
    if (desk->from) {
        struct stats_cluster *w1 = &out->stats.clusters[1];
        w1->policy = desk->policy;
        w1->leaving = desk->leaving;
        w1->source = "Secret";
        w1->from = strdup(desk->from);
        w1->labels = strdup(desk->labels);
        w1->max_active = desk->max_active;
    }
    out->readings = calloc(STAGE_CLUSTERS, sizeof *out->readings);
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        out->readings[c].silence_ns = CLOCK_SECOND / 2;
    out->readings[1].recent = desk->recent;
    out->readings[1].meter.credentials = CREDENTIALS_TOKEN;
    out->readings[1].meter.token_ns = INT64_C(1767323045) * CLOCK_SECOND;
    out->readings[2].meter.credentials = CREDENTIALS_CERTIFICATE;
    out->readings[1].unheard = desk->unheard;
    for (size_t p = 0; p < STATS_PHASES; p++)
        out->workloads += out->stats.kinds[0].phases[p];
    return error;
}

static inline void take_snapshot(struct host_snapshot *snapshot) {
    stats_free(&snapshot->stats);
    free(snapshot->readings);
}

static inline const struct adapters *adapters_of(void *ctx) {
    const struct desk *desk = ctx;
    return &desk->adapters;
}

static inline struct error *ask(void *ctx, query_run run, void *arg) {
    struct desk *desk = ctx;
    if (desk->stopped)
        return error_new(ERROR_STOPPED, "the host is stopping");
    desk->asked++;
    run(arg, desk->stage.engine, desk->stage.now);
    return NULL;
}

static inline struct error *read_management(void *ctx, const char *path, struct response *answer) {
    struct desk *desk = ctx;
    struct world_request request = {.method = "GET", .path = path};
    struct world_response got = {0};
    desk->reads++;
    if (desk->broken)
        return error_new(ERROR_LIMIT, "the API server has not answered for 10 s");
    if (desk->discovery && strcmp(path, "/apis/batch/v1") == 0) {
        *answer = (struct response){.reason = REASON_OK, .code = 200, .retry_after_ns = -1};
        answer->message = strdup("");
        return json_parse(desk->discovery, strlen(desk->discovery), &answer->value);
    }
    world_request(desk->stage.clusters[0], &request, desk->stage.now.wall_ns, &got);
    struct http_result result = {.outcome = HTTP_ANSWERED,
                                 .status = got.status,
                                 .body = got.body ? got.body : "",
                                 .body_len = got.body_len,
                                 .content_type = "application/json",
                                 .retry_after_ns = -1};
    response_read(answer, &result, VERB_RAW_GET);
    world_response_clear(&got);
    return NULL;
}

static inline void begin(struct desk *desk) {
    static char controller[] = "wharf.dev/host", path[] = "/etc/wharf.yaml", name[] = "job", file[] = "/x/job.so",
                version[] = "0.1.0";
    *desk = (struct desk){.names = {"management", "w1", "w2"}};
    stage_init(&desk->stage);
    desk->kinds[0] = desk->stage.kind;
    desk->const_kinds[0] = desk->stage.kind;
    desk->adapter = (struct adapter){
        .name = name, .file = file, .version = version, .sha256 = "ab", .kinds = desk->const_kinds, .n_kinds = 1};
    static struct adapter *list[1];
    list[0] = &desk->adapter;
    desk->adapters = (struct adapters){.list = list, .count = 1, .kinds = desk->kinds, .n_kinds = 1};
    desk->config = (struct config){.controller_name = controller, .path = path};
    desk->source = (struct api_source){.snapshot = give_snapshot,
                                       .free_snapshot = take_snapshot,
                                       .query = ask,
                                       .read = read_management,
                                       .ctx = desk,
                                       .config = &desk->config,
                                       .adapters = adapters_of,
                                       .short_names = short_names_new()};
    buffer_init(&desk->body, (size_t)16 << 20);
    stage_start(&desk->stage);
}

static inline void end(struct desk *desk) {
    json_free(desk->answer);
    api_source_clear(&desk->source);
    buffer_free(&desk->body);
    stage_end(&desk->stage);
}

// "path?a=b&c=d"; returns the code.
static inline unsigned get(struct desk *desk, const char *url) {
    char text[512];
    struct api_parameter parameters[8];
    struct api_request request = {.path = text, .parameters = parameters};
    text_copy(text, sizeof text, url);
    char *at = strchr(text, '?');
    while (at) {
        *at++ = '\0';
        char *value = strchr(at, '='), *next = strchr(at, '&');
        assert_non_null(value);
        *value = '\0';
        parameters[request.n_parameters++] = (struct api_parameter){at, value + 1};
        at = next;
    }
    unsigned code = 0;
    buffer_reset(&desk->body);
    assert_true(api_get(&desk->source, &request, &desk->body, &code));
    json_free(desk->answer);
    desk->answer = NULL;
    struct error *error = json_parse(desk->body.data, desk->body.len, &desk->answer);
    if (error)
        fail_msg("%s: %s: %s", url, error_text(error), desk->body.data);
    return code;
}

static inline void assert_at(struct desk *desk, const char *pointer, const char *expected) {
    const struct json *value = pointer_find(desk->answer, pointer);
    AUTO_TEXT text = value ? json_text(value, NULL) : NULL;
    if (!text_equal(text, expected))
        fail_msg("%s: found %s, expected %s in %s", pointer, text ? text : "nothing", expected ? expected : "nothing",
                 desk->body.data);
}

static inline size_t size_at(struct desk *desk, const char *pointer) {
    return json_size(pointer_find(desk->answer, pointer));
}

static inline void submit(struct desk *desk, const char *name) {
    stage_submit(&desk->stage, name, "");
    stage_run(&desk->stage, 200 * CLOCK_MS);
}
