// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/http.h"

#include "core/base/text.h"
#include "snapshot.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct served {
    struct fake fake;
    bool out_of_memory;
    int taken;
    struct http_server *server;
};

static int freed_snapshots; // of the one server that runs; read after it has answered

static struct error *give(void *ctx, struct host_snapshot *out) {
    struct served *served = ctx;
    if (served->out_of_memory)
        return error_no_memory();
    served->taken++;
    *out = served->fake.snapshot;
    return NULL;
}

static int64_t stalled_ns(void *ctx) {
    return ((struct served *)ctx)->fake.snapshot.stalled_ns;
}

static void take_back(struct host_snapshot *snapshot) {
    assert_non_null(snapshot);
    freed_snapshots++;
}

static int start(void **state) {
    struct served *served = calloc(1, sizeof *served);
    assert_non_null(served);
    fake_init(&served->fake);
    freed_snapshots = 0;
    struct http_source source = {.snapshot = give, .free_snapshot = take_back, .stalled_ns = stalled_ns, .ctx = served};
    assert_null(http_server_start("127.0.0.1:0", NULL, &source, &served->server));
    assert_int_not_equal(http_server_port(served->server), 0);
    *state = served;
    return 0;
}

static int stop(void **state) {
    struct served *served = *state;
    http_server_stop(served->server);
    free(served);
    return 0;
}

static int connect_to(int family, uint16_t port) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    assert_int_equal(connect(fd, address, family == AF_INET ? sizeof v4 : sizeof v6), 0);
    struct timeval patience = {.tv_sec = 20};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    return fd;
}

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

// All that comes until the server closes.
static char *hear(int fd) {
    struct buffer answer;
    buffer_init(&answer, 1 << 20);
    char chunk[4096];
    for (ssize_t len; (len = recv(fd, chunk, sizeof chunk, 0)) > 0;)
        assert_true(buffer_append(&answer, chunk, (size_t)len));
    close(fd);
    char *text = buffer_take(&answer, NULL);
    assert_non_null(text);
    return text;
}

// The whole answer, headers too.
static char *ask(const struct served *served, const char *method, const char *path) {
    int fd = connect_to(AF_INET, http_server_port(served->server));
    char request[512];
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", method, path);
    say(fd, request);
    return hear(fd);
}

static int code_of(const char *answer) {
    int64_t code = 0;
    char digits[4] = "";
    assert_true(text_has_prefix(answer, "HTTP/1.1 "));
    text_copy(digits, sizeof digits, answer + strlen("HTTP/1.1 "));
    assert_true(text_to_int64(digits, &code));
    return (int)code;
}

static const char *body_of(const char *answer) {
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static void each_path_and_method_has_its_answer(void **state) {
    const struct served *served = *state;
    static const struct {
        const char *method, *path;
        int code;
        const char *contains;
    } cases[] = {
        {"GET", "/healthz", 200, "\r\n\r\nok\n"},
        {"GET", "/readyz", 200, "\r\n\r\nok\n"},
        {"GET", "/readyz?verbose", 200, "\r\n\r\nok\n"},
        {"GET", "/metrics", 200, "wharf_in_sync 1\n"},
        {"GET", "/metrics", 200, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"},
        {"HEAD", "/metrics", 200, "Content-Length: "},
        {"GET", "/", 404, "/healthz"},
        {"GET", "/metrics/", 404, ""},
        {"GET", "/../etc/passwd", 404, ""},
        {"POST", "/metrics", 405, "Allow: GET, HEAD\r\n"},
        {"DELETE", "/healthz", 405, "Allow: GET, HEAD\r\n"},
        {"OPTIONS", "/readyz", 405, ""},
        {"POST", "/nowhere", 404, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = ask(served, cases[i].method, cases[i].path);
        if (code_of(answer) != cases[i].code || !strstr(answer, cases[i].contains))
            fail_msg("%s %s: %s", cases[i].method, cases[i].path, answer);
        free(answer);
    }
}

static void head_has_no_body(void **state) {
    char *answer = ask(*state, "HEAD", "/healthz");
    assert_int_equal(code_of(answer), 200);
    assert_string_equal(body_of(answer), "");
    free(answer);
}

static void unready_is_503_with_reasons(void **state) {
    struct served *served = *state;
    served->fake.feeds[0][0].state = REFLECTOR_LOST;
    char *answer = ask(served, "GET", "/readyz");
    assert_int_equal(code_of(answer), 503);
    assert_non_null(strstr(body_of(answer), "management/jobs.batch: not connected\n"));
    free(answer);
    answer = ask(served, "GET", "/healthz");
    assert_int_equal(code_of(answer), 200);
    free(answer);
}

static void an_engine_that_hangs_is_503_on_both_paths(void **state) {
    struct served *served = *state;
    static const char *const paths[] = {"/healthz", "/readyz"};
    for (size_t i = 0; i < 2; i++) {
        served->fake.snapshot.stalled_ns = 29 * CLOCK_SECOND;
        char *answer = ask(served, "GET", paths[i]);
        assert_int_equal(code_of(answer), 200);
        free(answer);
        served->fake.snapshot.stalled_ns = 42 * CLOCK_SECOND;
        answer = ask(served, "GET", paths[i]);
        assert_int_equal(code_of(answer), 503);
        assert_string_equal(body_of(answer), "the engine has made no progress for 42 s, although there is work\n");
        free(answer);
    }
}

static void it_remembers_that_it_was_in_sync(void **state) {
    struct served *served = *state;
    for (int i = 0; i < 2; i++) {
        char *answer = ask(served, "GET", "/readyz");
        assert_int_equal(code_of(answer), 200);
        free(answer);
        served->fake.snapshot.in_sync = false;
    }
}

static void out_of_memory_is_500(void **state) {
    struct served *served = *state;
    served->out_of_memory = true;
    char *answer = ask(served, "GET", "/metrics");
    assert_int_equal(code_of(answer), 500);
    free(answer);
    served->out_of_memory = false;
    answer = ask(served, "GET", "/metrics");
    assert_int_equal(code_of(answer), 200);
    free(answer);
}

static void every_snapshot_is_given_back(void **state) {
    struct served *served = *state;
    static const char *const paths[] = {"/metrics", "/readyz", "/healthz", "/nowhere"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        free(ask(served, "GET", paths[i]));
    assert_int_equal(served->taken, 2);
    assert_int_equal(freed_snapshots, 2);
}

static void several_requests_go_over_one_connection(void **state) {
    const struct served *served = *state;
    int fd = connect_to(AF_INET, http_server_port(served->server));
    say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    say(fd, "GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    char *both = hear(fd);
    const char *second = strstr(both + 1, "HTTP/1.1 200");
    assert_non_null(second);
    free(both);
}

static void garbage_does_no_harm(void **state) {
    const struct served *served = *state;
    static const char *const garbage[] = {"\x16\x03\x01\x02\x01\r\n\r\n", "GET\r\n\r\n", "\r\n\r\n\r\n\r\n"};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        int fd = connect_to(AF_INET, http_server_port(served->server));
        say(fd, garbage[i]);
        close(fd);
    }
    char *answer = ask(served, "GET", "/healthz");
    assert_int_equal(code_of(answer), 200);
    free(answer);
}

static void headers_too_large_are_refused(void **state) {
    const struct served *served = *state;
    int fd = connect_to(AF_INET, http_server_port(served->server));
    say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ");
    char filler[4097];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    for (int i = 0; i < 8; i++)
        if (send(fd, filler, sizeof filler - 1, MSG_NOSIGNAL) < 0)
            break; // it has closed already
    send(fd, "\r\n\r\n", 4, MSG_NOSIGNAL);
    char *answer = hear(fd);
    assert_false(text_has_prefix(answer, "HTTP/1.1 200"));
    free(answer);
}

static void an_address_in_use_is_told_clearly(void **state) {
    const struct served *served = *state;
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)http_server_port(served->server));
    struct http_source source = {.snapshot = give, .free_snapshot = take_back, .stalled_ns = stalled_ns, .ctx = *state};
    struct http_server *second = NULL;
    struct error *error = http_server_start(address, NULL, &source, &second);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_IO);
    assert_non_null(strstr(error->message, address));
    assert_non_null(strstr(error->message, "another process"));
    assert_null(second);
    error_free(error);
}

static void addresses_are_checked(void **state) {
    static const char *const bad[] = {"",
                                      "127.0.0.1",
                                      "localhost:1",
                                      ":9440",
                                      "127.0.0.1:",
                                      "[::1]",
                                      "::1:9440",
                                      "[127.0.0.1]:1",
                                      "[::1:9440",
                                      "127.0.0.1:65536",
                                      "1.2.3:80",
                                      "127.0.0.1:x",
                                      "[]:1",
                                      "[:1",
                                      "127.0.0.1:-1",
                                      "[::1]x:80",
                                      "]:1",
                                      "[1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:1:2:3:4:5:6:7]:1"};
    struct http_source source = {.snapshot = give, .free_snapshot = take_back, .stalled_ns = stalled_ns, .ctx = *state};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_server *server = NULL;
        struct error *error = http_server_start(bad[i], NULL, &source, &server);
        if (!error)
            fail_msg("accepted: \"%s\"", bad[i]);
        assert_int_equal(error->code, ERROR_INVALID);
        assert_null(server);
        error_free(error);
    }
}

static bool has_ipv6(void) {
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof name) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

static void it_serves_on_ipv6(void **state) {
    if (!has_ipv6())
        skip();
    struct served *served = *state;
    struct http_source source = {.snapshot = give, .free_snapshot = take_back, .stalled_ns = stalled_ns, .ctx = served};
    struct http_server *server = NULL;
    assert_null(http_server_start("[::1]:0", NULL, &source, &server));
    int fd = connect_to(AF_INET6, http_server_port(server));
    say(fd, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n");
    char *answer = hear(fd);
    assert_int_equal(code_of(answer), 200);
    free(answer);
    http_server_stop(server);
}

static void idle_connections_do_not_keep_it_from_stopping(void **state) {
    struct served *served = *state;
    int fd = connect_to(AF_INET, http_server_port(served->server));
    free(ask(served, "GET", "/healthz"));
    http_server_stop(served->server);
    char *rest = hear(fd);
    assert_string_equal(rest, "");
    free(rest);
    served->server = NULL;
}

#define CROWD 60

static void half_open_connections_keep_nobody_out(void **state) {
    const struct served *served = *state;
    static const char *const beginnings[] = {"", "GET /metr", "GET /metrics HTTP/1.1\r\nHost: a\r\nX-Slow: "};
    int crowd[CROWD];
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = connect_to(AF_INET, http_server_port(served->server));
        const char *text = beginnings[i % 3];
        if (*text)
            say(crowd[i], text);
        if (i % 10 == 9) {
            char *answer = ask(served, "GET", "/healthz");
            assert_int_equal(code_of(answer), 200);
            free(answer);
        }
    }
    char *rest = hear(crowd[0]); // the oldest had to go
    assert_string_equal(rest, "");
    free(rest);
    char *answer = ask(served, "GET", "/metrics");
    assert_int_equal(code_of(answer), 200);
    free(answer);
    for (size_t i = 1; i < CROWD; i++)
        close(crowd[i]);
}

int main(void) {
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        SERVED(each_path_and_method_has_its_answer),
        SERVED(head_has_no_body),
        SERVED(unready_is_503_with_reasons),
        SERVED(an_engine_that_hangs_is_503_on_both_paths),
        SERVED(it_remembers_that_it_was_in_sync),
        SERVED(out_of_memory_is_500),
        SERVED(every_snapshot_is_given_back),
        SERVED(several_requests_go_over_one_connection),
        SERVED(garbage_does_no_harm),
        SERVED(half_open_connections_keep_nobody_out),
        SERVED(headers_too_large_are_refused),
        SERVED(an_address_in_use_is_told_clearly),
        SERVED(addresses_are_checked),
        SERVED(it_serves_on_ipv6),
        SERVED(idle_connections_do_not_keep_it_from_stopping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
