// SPDX-License-Identifier: Apache-2.0
// What the host reports while it waits for the management cluster, and that it starts once that answers.
#include "tests/integration/stage.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

// The next message to systemd; "" if none comes in time.
static const char *next_message(int fd, char *text, size_t size) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    ssize_t len = poll(&wait, 1, STAGE_SLOW * 60000) == 1 ? recv(fd, text, size - 1, 0) : 0;
    text[len > 0 ? len : 0] = '\0';
    return text;
}

// The next one that is no keep-alive begins so.
static void until_message(int fd, char *text, size_t size, const char *begin) {
    while (strcmp(next_message(fd, text, size), "WATCHDOG=1") == 0)
        ;
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
}

static void systemd_is_told_when_the_engine_runs_and_when_it_stops(void **state) {
    struct scene *scene = *state = open_without_origin("");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path, sizeof address.sun_path, "@wharf-stop-test-%d", (int)getpid());
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)), 0);
    front_down(scene->clusters[SCENE_MANAGEMENT].front);
    assert_null(wharf_start(scene));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    char text[1024];
    assert_non_null(strstr(next_message(fd, text, sizeof text), "STATUS="));
    assert_null(strstr(text, "READY"));
    assert_null(front_up(scene->clusters[SCENE_MANAGEMENT].front));
    while (strcmp(next_message(fd, text, sizeof text), "READY=1\nSTATUS=running") != 0)
        assert_memory_equal(text, "STATUS=", 7);
    assert_string_equal(next_message(fd, text, sizeof text), "WATCHDOG=1");
    assert_int_equal(kill(scene->child, SIGHUP), 0);
    until_message(fd, text, sizeof text, "RELOADING=1\n");
    until_message(fd, text, sizeof text, "READY=1\nSTATUS=running");
    assert_null(scene_write(scene, "wharf.yaml", "nothing: like this\n"));
    until_message(fd, text, sizeof text, "RELOADING=1\n");
    until_message(fd, text, sizeof text, "READY=1\nSTATUS=running; the configuration was not reloaded");
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    while (strcmp(next_message(fd, text, sizeof text), "STOPPING=1") != 0)
        assert_string_equal(text, "WATCHDOG=1");
    assert_int_equal(wharf_exit_code(scene), 0);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_api_server_that_is_away_is_what_is_told_and_nothing_is_advised, end),
        cmocka_unit_test_teardown(where_the_namespace_may_not_be_read_it_is_said_what_helps, end),
        cmocka_unit_test_teardown(at_debug_the_requests_to_all_clusters_are_logged, end),
        cmocka_unit_test_teardown(systemd_is_told_when_the_engine_runs_and_when_it_stops, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
