// SPDX-License-Identifier: Apache-2.0
// Workers with invalid answers, all of them at once, beside a correct one.
#include "tests/integration/raw_server.h"
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define CUT_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
#define HTML                                                                                                           \
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><body>Please log in</body></html>"
#define LIST "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":"
#define TEAPOT                                                                                                         \
    "HTTP/1.1 418 I'm a teapot\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"                         \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Teapot\",\"code\":418}"

// A 5xx leaves the outcome of the write unknown; 418 would not.
#define BROKEN_TEAPOT                                                                                                  \
    "HTTP/1.1 599 Teapot is broken\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Teapot\",\"code\":599}"

// Its port is only known when the test runs.
static unsigned trap_port;

static void send_redirect(struct peer *peer, const struct raw_case *raw) {
    peer_send(peer, "HTTP/1.1 %s\r\nLocation: http://127.0.0.1:%u/apis/batch/v1\r\nContent-Length: 0\r\n\r\n",
              raw->detail, trap_port);
}

// A page with a continue token that leads to itself.
static void send_endless_list(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    raw_send_json(peer, "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":\"1\","
                        "\"continue\":\"again\"},\"items\":[]}");
}

static const struct raw_case cases[] = {
    {"d-html", RAW_DISCOVERY, HTML, NULL, NULL},
    {"d-garbage", RAW_DISCOVERY, OK_JSON "}{]]\"", NULL, NULL},
    {"d-empty", RAW_DISCOVERY, OK_JSON, NULL, NULL},
    {"d-cut", RAW_DISCOVERY, CUT_JSON "{\"kind\":\"APIResourceList\",\"resources\":[", NULL, NULL},
    {"d-other-kind", RAW_DISCOVERY, OK_JSON LIST "[]}", NULL, NULL},
    {"d-types", RAW_DISCOVERY,
     OK_JSON "{\"kind\":\"APIResourceList\",\"resources\":[1,null,{\"name\":7,\"verbs\":{}}]}", NULL, NULL},
    {"d-reason", RAW_DISCOVERY, TEAPOT, NULL, NULL},
    {"d-no-http", RAW_DISCOVERY, "SSH-2.0-OpenSSH_9.2\r\n", NULL, NULL},
    {"d-binary", RAW_DISCOVERY, "\x16\x03\x01\x02\x01\x01", NULL, NULL},
    {"d-closed", RAW_DISCOVERY, "", NULL, NULL},
    {"d-gzip", RAW_DISCOVERY, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\nno gzip", NULL,
     NULL},
    {"d-deep", RAW_DISCOVERY, NULL, raw_send_deep, NULL},
    {"d-head", RAW_DISCOVERY, NULL, raw_send_endless_head, NULL},
    {"d-301", RAW_DISCOVERY, NULL, send_redirect, "301 Moved Permanently"},
    {"d-302", RAW_DISCOVERY, NULL, send_redirect, "302 Found"},
    {"d-307", RAW_DISCOVERY, NULL, send_redirect, "307 Temporary Redirect"},
    {"l-html", RAW_LIST, HTML, NULL, NULL},
    {"l-cut", RAW_LIST, CUT_JSON LIST "[{\"metadata\":{\"name\":\"a", NULL, NULL},
    {"l-type", RAW_LIST,
     "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf\r\nConnection: close\r\n\r\nk8s\x01\x02",
     NULL, NULL},
    {"l-no-metadata", RAW_LIST,
     OK_JSON LIST "[{},{\"spec\":{}},{\"metadata\":null},{\"metadata\":{\"name\":7}},null,3]}", NULL, NULL},
    {"l-no-items", RAW_LIST, OK_JSON "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"metadata\":{},\"items\":{}}",
     NULL, NULL},
    {"l-endless", RAW_LIST, NULL, send_endless_list, NULL},
    {"l-308", RAW_LIST, NULL, send_redirect, "308 Permanent Redirect"},
    {"l-huge", RAW_LIST, NULL, raw_send_huge, LIST "[%s]}"},
    {"w-html", RAW_WATCH, HTML, NULL, NULL},
    {"w-garbage", RAW_WATCH, OK_JSON "}{]]\"\n", NULL, NULL},
    {"w-empty", RAW_WATCH, OK_JSON, NULL, NULL},
    {"w-no-object", RAW_WATCH, OK_JSON "{\"type\":\"ADDED\"}\n{\"type\":7}\n{}\n[]\n", NULL, NULL},
    {"w-no-metadata", RAW_WATCH, OK_JSON "{\"type\":\"ADDED\",\"object\":{\"spec\":{}}}\n", NULL, NULL},
    {"w-type", RAW_WATCH, OK_JSON "{\"type\":\"SURPRISE\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n", NULL, NULL},
    {"w-reason", RAW_WATCH,
     OK_JSON "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":\"Teapot\",\"code\":418}}\n", NULL, NULL},
    {"w-cut", RAW_WATCH, CUT_JSON "{\"type\":\"ADDED\",\"object\":{\"metadata\":", NULL, NULL},
    {"w-chunk", RAW_WATCH, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", NULL, NULL},
    {"w-302", RAW_WATCH, NULL, send_redirect, "302 Found"},
    {"w-huge", RAW_WATCH, NULL, raw_send_huge, "{\"type\":\"ADDED\",\"object\":%s}\n"},
};
#define CASES (sizeof cases / sizeof *cases)

// Each of them has its own budget (docs/memory.md), which only some come near.
#define MEMORY_MAX_MIB 200
#define MEMORY_LEFT_MIB 100

// The write took effect; the watch shows its result.
static const struct raw_case write_cases[] = {
    {"html", RAW_WRITE, HTML, NULL, NULL},
    {"garbage", RAW_WRITE, OK_JSON "}{", NULL, NULL},
    {"empty", RAW_WRITE, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", NULL, NULL},
    {"cut", RAW_WRITE, CUT_JSON "{\"kind\":\"Job\",\"metadata\":{", NULL, NULL},
    {"closed", RAW_WRITE, "", NULL, NULL},
    {"no-metadata", RAW_WRITE, OK_JSON "{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}", NULL, NULL},
    {"other", RAW_WRITE, OK_JSON "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"uid\":\"y\"}}", NULL, NULL},
    {"reason", RAW_WRITE, BROKEN_TEAPOT, NULL, NULL},
    {"redirect", RAW_WRITE, NULL, send_redirect, "307 Temporary Redirect"},
    {"huge", RAW_WRITE, NULL, raw_send_huge, "%s"},
};
#define WRITE_CASES (sizeof write_cases / sizeof *write_cases)

struct play {
    struct scene *scene;
    struct raw_server *servers[CASES + WRITE_CASES];
    size_t count;
    struct server *trap;
};

static bool serve_nothing(void *ctx, struct peer *peer, const char *request) {
    (void)ctx;
    (void)peer;
    (void)request;
    return false;
}

static int open_play(void **state, const struct raw_case *raw, size_t count, size_t good) {
    struct play *play = calloc(1, sizeof *play);
    assert_non_null(play);
    *state = play;
    play->count = count;
    play->trap = server_start(&(struct server_options){.serve = serve_nothing});
    trap_port = server_port(play->trap);
    static const char settings[] = "mirrorRetention: 0s\nworkerLostTimeout: 2s\n";
    play->scene = stage_open(good, true, settings);
    AUTO_BUFFER(workers, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        play->servers[i] = raw_start(&raw[i]);
        AUTO_TEXT url = text_format("http://127.0.0.1:%u", raw_port(play->servers[i]));
        AUTO_TEXT kubeconfig = certs_kubeconfig(NULL, raw[i].name, url);
        AUTO_TEXT file = text_format("%s.kubeconfig", raw[i].name);
        assert_null(scene_write(play->scene, file, kubeconfig));
        buffer_printf(&workers, "- {name: %s, kubeconfig: %s.kubeconfig}\n", raw[i].name, raw[i].name);
    }
    assert_null(scene_configure(play->scene, workers.data, settings));
    assert_null(wharf_start(play->scene));
    return 0;
}

static int open_readers(void **state) {
    return open_play(state, cases, CASES, 1);
}

static int open_writers(void **state) {
    return open_play(state, write_cases, WRITE_CASES, 0);
}

static int close_play(void **state) {
    struct play *play = *state;
    size_t trapped = server_connections(play->trap);
    stage_close(play->scene); // first, since wharf is connected to them
    for (size_t i = 0; i < play->count; i++)
        raw_stop(play->servers[i]);
    server_stop(play->trap);
    free(play);
    assert_int_equal(trapped, 0); // no redirect was followed
    return 0;
}

// VmHWM of /proc/<pid>/status (proc(5)), in MiB.
static long peak_memory(const struct scene *scene) {
    AUTO_TEXT path = text_format("/proc/%d/status", (int)scene->child);
    AUTO_BUFFER(text, 1 << 16);
    struct error *error = text_read_file(path, 1 << 16, &text);
    error_free(error);
    const char *line = text.data ? strstr(text.data, "VmHWM:") : NULL;
    return line ? strtol(line + strlen("VmHWM:"), NULL, 10) / 1024 : -1;
}

static void let_end(struct play *play) {
    stage_let_end(play->scene);
    for (size_t i = 0; i < play->count; i++)
        raw_let_end(play->servers[i]);
}

static bool all_were_asked(struct play *play) {
    for (size_t i = 0; i < play->count; i++)
        if (raw_hits(play->servers[i]) == 0)
            return false;
    return true;
}

// Creates in workers whose list is accepted: each is connected until its watch is found to be invalid, and may be given
// Jobs then, which go to w1 after workerLostTimeout. The others get none.
static uint64_t creates_elsewhere(struct play *play) {
    uint64_t creates = 0;
    for (size_t i = 0; i < play->count; i++)
        if (cases[i].stage == RAW_WATCH || strcmp(cases[i].name, "l-no-metadata") == 0)
            creates += raw_creates(play->servers[i]);
        else
            assert_int_equal(raw_creates(play->servers[i]), 0);
    return creates;
}

static void workers_that_answer_nonsense_disturb_nobody_and_are_used_once_they_answer(void **state) {
    struct play *play = *state;
    struct scene *scene = play->scene;
    int64_t start_ns = clock_now().mono_ns;
    UNTIL(scene, 10, stage_is_connected(scene, "management") && stage_takes_work(scene, "w1"));
    stage_submit_many(scene, "job", 20);
    stage_submit_held(scene, "long");
    UNTIL(scene, 10, stage_complete(scene, "job") == 20);
    UNTIL(scene, 20, all_were_asked(play));
    let_end(play);
    UNTIL(scene, 20, stage_is_complete(scene, "long"));
    uint64_t elsewhere = creates_elsewhere(play);
    assert_in_range(stage_creates(scene, 1, 2), elsewhere < 20 ? 21 - elsewhere : 1, 21); // mostly 0 and 21
    double seconds = (double)(clock_now().mono_ns - start_ns) / 1e9;
    for (size_t i = 0; i < play->count; i++) {
        size_t hits = raw_hits(play->servers[i]);
        if ((double)hits > 10 + 5 * seconds)
            fail_msg("%s was asked %zu times in %.1f s", cases[i].name, hits, seconds);
    }
    long peak = peak_memory(scene);
    print_message("           peak memory %ld MiB, %.1f s\n", peak, seconds);
    assert_in_range(peak, 1, MEMORY_MAX_MIB * STAGE_SLOW);
    assert_int_equal(http_ask(scene->serve_port, "GET", "/healthz", NULL), 200);
    for (size_t i = 0; i < play->count; i++)
        raw_heal(play->servers[i]);
    for (size_t i = 0; i < play->count; i++)
        UNTIL(scene, 45, stage_is_connected(scene, cases[i].name));
    double resident = wharf_metric(scene, "process_resident_memory_bytes");
    print_message("           %.0f MiB in the end\n", resident / (1 << 20));
    assert_true(resident < (double)(MEMORY_LEFT_MIB * STAGE_SLOW) * (1 << 20));
}

static size_t jobs_there(struct play *play) {
    size_t count = 0;
    for (size_t i = 0; i < play->count; i++)
        count += raw_jobs(play->servers[i]);
    return count;
}

static void writes_whose_answers_are_nonsense_are_neither_lost_nor_made_twice(void **state) {
    struct play *play = *state;
    struct scene *scene = play->scene;
    for (size_t i = 0; i < play->count; i++)
        UNTIL(scene, 10, stage_takes_work(scene, write_cases[i].name));
    // Each worker gets some, as none ends before all are placed.
    stage_submit_many_held(scene, "job", 2 * play->count);
    UNTIL(scene, 20, jobs_there(play) == 2 * play->count);
    let_end(play);
    UNTIL(scene, 20, stage_complete(scene, "job") == 2 * play->count);
    UNTIL(scene, 20, jobs_there(play) == 0);
    uint64_t creates = 0;
    for (size_t i = 0; i < play->count; i++) {
        creates += raw_creates(play->servers[i]);
        assert_true(raw_hits(play->servers[i]) > 0);
    }
    for (size_t i = 0; i < 2 * play->count; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_int_equal(stage_attempt_of(scene, name), 1);
    }
    assert_int_equal(creates, 2 * play->count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers_that_answer_nonsense_disturb_nobody_and_are_used_once_they_answer,
                                        open_readers, close_play),
        cmocka_unit_test_setup_teardown(writes_whose_answers_are_nonsense_are_neither_lost_nor_made_twice, open_writers,
                                        close_play),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
