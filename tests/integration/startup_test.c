// SPDX-License-Identifier: Apache-2.0
// What the host reports while it waits for the management cluster, and that it starts once that answers.
#include "tests/integration/stage.h"

#include <string.h>

#define ORIGIN_LINE "origin: " SCENE_ORIGIN "\n"
#define ADVICE "set origin in the configuration"

// The configuration without an origin, and wharf started with it.
static struct scene *open_without_origin(const char *settings) {
    struct scene *scene = stage_open(1, true, settings);
    AUTO_TEXT file = text_format("%s/wharf.yaml", scene->directory);
    AUTO_BUFFER(text, 65536);
    assert_null(text_read_file(file, 65536, &text));
    char *line = strstr(text.data, ORIGIN_LINE);
    assert_non_null(line);
    memmove(line, line + strlen(ORIGIN_LINE), strlen(line + strlen(ORIGIN_LINE)) + 1);
    assert_null(scene_write(scene, "wharf.yaml", text.data));
    return scene;
}

static bool readyz_says(struct scene *scene, const char *text) {
    AUTO_BUFFER(body, 65536);
    int status = http_ask(scene->serve_port, "GET", "/readyz", &body);
    return status == 503 && body.data && strstr(body.data, text);
}

static void an_api_server_that_is_away_is_what_is_told_and_nothing_is_advised(void **state) {
    struct scene *scene = *state = open_without_origin("");
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_down(management->front);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_logged(scene, "the API server cannot be reached cluster=management error=") == 1);
    UNTIL(scene, 5, readyz_says(scene, "not running yet: the API server cannot be reached: "));
    assert_true(readyz_says(scene, "127.0.0.1"));
    assert_int_equal(wharf_logged(scene, ADVICE), 0);
    assert_null(front_up(management->front));
    UNTIL(scene, 15, wharf_is_ready(scene));
    stage_submit(scene, "job");
    UNTIL(scene, 15, stage_is_complete(scene, "job"));
}

static void where_the_namespace_may_not_be_read_it_is_said_what_helps(void **state) {
    struct scene *scene = *state = open_without_origin("");
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    world_deny(management->cluster, "get", "namespaces");
    front_unlock(management->front);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_logged(scene, ADVICE) == 1);
    UNTIL(scene, 5, readyz_says(scene, "not running yet: origin cannot be derived"));
    assert_int_equal(wharf_logged(scene, "cannot be reached"), 0);
}

static void at_debug_the_requests_to_all_clusters_are_logged(void **state) {
    struct scene *scene = *state = open_without_origin("mirrorRetention: 0s\nlog: {level: debug}\n");
    assert_null(wharf_start(scene));
    UNTIL(scene, 15, wharf_is_ready(scene));
    stage_submit(scene, "job");
    UNTIL(scene, 15, stage_is_complete(scene, "job"));
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
    static const char *const lines[] = {
        "request cluster=management verb=get path=/api/v1/namespaces/kube-system code=200 ms=",
        "request cluster=management verb=patch path=\"" JOBS "/job/status?fieldManager=wharf\" code=200 ms=",
        "request cluster=w1 verb=create path=\"" JOBS "?fieldManager=wharf\" code=201 ms=",
        "request cluster=w1 verb=get path=/apis/batch/v1 code=200 ms=",
        "stream opened cluster=w1 verb=watch path=",
        "request cluster=w1 verb=delete path=" JOBS "/job code=200 ms=",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        UNTIL(scene, 5, wharf_logged(scene, lines[i]) > 0);
}

static int end(void **state) {
    scene_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_api_server_that_is_away_is_what_is_told_and_nothing_is_advised, end),
        cmocka_unit_test_teardown(where_the_namespace_may_not_be_read_it_is_said_what_helps, end),
        cmocka_unit_test_teardown(at_debug_the_requests_to_all_clusters_are_logged, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
