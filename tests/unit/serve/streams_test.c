// SPDX-License-Identifier: Apache-2.0
// Streams of a server over TCP: how many there may be, how they end, and that nothing else suffers.
#include "core/base/text.h"
#include "core/serve/access/access.h"
#include "core/serve/http/http.h"
#include "core/serve/http/net.h"
#include "snapshot.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct served {
    atomic_bool token_withdrawn, right_withdrawn, down;
    atomic_uint unanswered;
    struct fake fake;
    struct adapters adapters;
    struct config config;
    struct api_source api;
    struct http_server *server;
};

static struct error *give(void *ctx, struct host_snapshot *out) {
    *out = ((struct served *)ctx)->fake.snapshot;
    return NULL;
}

static void take_back(struct host_snapshot *snapshot) {
    (void)snapshot;
}

static int64_t stalled_ns(void *ctx) {
    (void)ctx;
    return 0;
}

// An engine that has not started: the stream stays open without an event.
static struct error *query(void *ctx, query_run run, void *arg) {
    (void)ctx, (void)run, (void)arg;
    return error_new(ERROR_STOPPED, "not running yet");
}

// The token is the user's name, and everybody may do everything until it is withdrawn.
static struct error *review(void *ctx, const struct request *request, struct response *response) {
    struct served *served = ctx;
    if (atomic_load(&served->down)) {
        atomic_fetch_add(&served->unanswered, 1);
        return error_new(ERROR_LIMIT, "no answer within 10 s");
    }
    AUTO_JSON body = NULL;
    assert_null(json_parse(request->body, request->body_len, &body));
    const char *token = json_string(json_path(body, "spec", "token", NULL));
    AUTO_TEXT text =
        token ? text_format("{\"status\":{\"authenticated\":%s,\"user\":{\"username\":\"%s\"}}}",
                            atomic_load(&served->token_withdrawn) ? "false" : "true", token)
              : text_format("{\"status\":{\"allowed\":%s}}", atomic_load(&served->right_withdrawn) ? "false" : "true");
    *response = (struct response){.reason = REASON_OK, .retry_after_ns = -1};
    return json_parse(text, strlen(text), &response->value);
}

static const struct adapters *adapters_of(void *ctx) {
    const struct served *served = ctx;
    return &served->adapters;
}

static int start(void **state) {
    struct served *served = calloc(1, sizeof *served);
    assert_non_null(served);
    fake_init(&served->fake);
    served->api = (struct api_source){.snapshot = give,
                                      .free_snapshot = take_back,
                                      .query = query,
                                      .ctx = served,
                                      .config = &served->config,
                                      .adapters = adapters_of};
    struct http_source source = {.snapshot = give,
                                 .free_snapshot = take_back,
                                 .stalled_ns = stalled_ns,
                                 .api = &served->api,
                                 .review = review,
                                 .ctx = served,
                                 .review_ns = 50 * CLOCK_MS};
    assert_null(http_server_start("127.0.0.1:0", NULL, &source, &served->server));
    *state = served;
    return 0;
}

static int stop(void **state) {
    struct served *served = *state;
    http_server_stop(served->server);
    free(served);
    return 0;
}

static int begin_as(const struct served *served, const char *path, const char *headers) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(http_server_port(served->server)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval patience = {.tv_sec = 20};
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    AUTO_TEXT request = text_format("GET %s HTTP/1.1\r\n%s\r\n", path, headers);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    return fd;
}

static int begin(const struct served *served, const char *path) {
    return begin_as(served, path, "Host: localhost\r\n");
}

// The code of the answer that begins; 0: the connection was closed.
static int code_of(int fd) {
    char head[13] = "";
    size_t len = 0;
    int64_t code = 0;
    for (ssize_t count = 1; len < 12 && count > 0; len += count > 0 ? (size_t)count : 0)
        count = recv(fd, head + len, 12 - len, 0);
    return len == 12 && text_to_int64(head + 9, &code) ? (int)code : 0;
}

static void assert_served(const struct served *served, const char *path) {
    int fd = begin(served, path);
    assert_int_equal(code_of(fd), 200);
    close(fd);
}

static void streams_are_bounded_and_probes_are_answered_beside_them(void **state) {
    const struct served *served = *state;
    int fds[CONNECTIONS_LASTING];
    for (size_t i = 0; i < CONNECTIONS_LASTING; i++) {
        fds[i] = begin(served, "/api/v1/watch");
        assert_int_equal(code_of(fds[i]), 200);
    }
    int more = begin(served, "/api/v1/watch");
    assert_int_equal(code_of(more), 503);
    close(more);
    for (int i = 0; i < 40; i++)
        assert_served(served, "/healthz");
    assert_served(served, "/api/v1/adapters");
    for (size_t i = 0; i < CONNECTIONS_LASTING; i++)
        close(fds[i]);
}

#define AS(user) "Host: wharf.example\r\nAuthorization: Bearer " user "\r\nConnection: close\r\n"

static void one_user_does_not_take_all_streams(void **state) {
    const struct served *served = *state;
    int fds[CONNECTIONS_LASTING / 2];
    for (size_t i = 0; i < CONNECTIONS_LASTING / 2; i++) {
        fds[i] = begin_as(served, "/api/v1/watch", AS("greedy"));
        assert_int_equal(code_of(fds[i]), 200);
    }
    int more = begin_as(served, "/api/v1/watch", AS("greedy"));
    assert_int_equal(code_of(more), 429);
    close(more);
    int other = begin_as(served, "/api/v1/watch", AS("other"));
    assert_int_equal(code_of(other), 200);
    close(other);
    // What they close may be opened again.
    for (size_t i = 0; i < CONNECTIONS_LASTING / 2; i++)
        close(fds[i]);
    for (int i = 0, code = 429; code == 429; i++) {
        assert_true(i < 500);
        usleep(20000);
        int again = begin_as(served, "/api/v1/watch", AS("greedy"));
        code = code_of(again);
        close(again);
    }
}

// Reads to the end; the answer must contain the text.
static void assert_ends_with_reason(int fd, const char *text) {
    AUTO_BUFFER(answer, 1 << 20);
    char chunk[4096];
    buffer_text(&answer, "");
    for (ssize_t len; (len = recv(fd, chunk, sizeof chunk, 0)) != 0;) {
        if (len < 0)
            fail_msg("it has not ended: %s", answer.data);
        assert_true(buffer_append(&answer, chunk, (size_t)len));
    }
    if (!strstr(answer.data, text))
        fail_msg("found %s, expected %s", answer.data, text);
    close(fd);
}

static void a_watch_ends_when_its_token_or_its_right_is_withdrawn(void **state) {
    struct served *served = *state;
    int local = begin(served, "/api/v1/watch"), fd = begin_as(served, "/api/v1/watch", AS("jane"));
    assert_int_equal(code_of(fd), 200);
    atomic_store(&served->right_withdrawn, true);
    assert_ends_with_reason(fd, "event: end\ndata: {\"kind\":\"Status\"");
    atomic_store(&served->right_withdrawn, false);
    fd = begin_as(served, "/api/v1/watch", AS("joe"));
    assert_int_equal(code_of(fd), 200);
    atomic_store(&served->token_withdrawn, true);
    assert_ends_with_reason(fd, "the bearer token is not valid in the management cluster");
    assert_int_equal(code_of(local), 200); // it needs none
    close(local);
}

static void a_watch_ends_when_reviews_are_not_answered_again_and_again(void **state) {
    struct served *served = *state;
    int fd = begin_as(served, "/api/v1/watch", AS("jane"));
    assert_int_equal(code_of(fd), 200);
    atomic_store(&served->down, true);
    assert_ends_with_reason(fd, "no answer within 10 s");
    assert_true(atomic_load(&served->unanswered) >= GRANTS_UNVERIFIED);
}

// The timer of the server's side of a connection, in the kernel's table; "02": keepalive. "": it is not there.
static void read_timer(int server_port, int client_port, char timer[3]) {
    char line[512];
    AUTO_TEXT wanted = text_format(" 0100007F:%04X 0100007F:%04X 01 ", (unsigned)server_port, (unsigned)client_port);
    FILE *table = fopen("/proc/net/tcp", "r");
    assert_non_null(table);
    timer[0] = '\0';
    while (fgets(line, sizeof line, table)) {
        const char *at = strstr(line, wanted);
        if (at && strlen(at) > strlen(wanted) + 20)
            text_copy(timer, 3, at + strlen(wanted) + strlen("00000000:00000000 "));
    }
    fclose(table);
}

// A machine that lost power sends no FIN.
static void a_client_that_vanished_is_noticed(void **state) {
    const struct served *served = *state;
    struct sockaddr_in own;
    socklen_t len = sizeof own;
    int fd = begin(served, "/api/v1/watch");
    assert_int_equal(code_of(fd), 200);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &len), 0);
    char timer[3] = "01"; // what was sent is not acknowledged yet
    for (int i = 0; i < 200 && strcmp(timer, "02") != 0; i++) {
        usleep(20000);
        read_timer(http_server_port(served->server), ntohs(own.sin_port), timer);
    }
    assert_string_equal(timer, "02");
    close(fd);
}

static void a_stream_whose_reader_leaves_makes_room_for_another(void **state) {
    const struct served *served = *state;
    for (size_t round = 0; round < 3 * CONNECTIONS_LASTING; round++) {
        int fd = begin(served, "/api/v1/watch"), code = code_of(fd);
        // The server may not have noticed yet that the former ones are gone.
        for (int attempts = 0; code == 503 && attempts < 200; attempts++) {
            close(fd);
            usleep(10000);
            fd = begin(served, "/api/v1/watch");
            code = code_of(fd);
        }
        assert_int_equal(code, 200);
        close(fd);
    }
}

static void streams_end_with_the_server(void **state) {
    struct served *served = *state;
    int fds[8];
    for (size_t i = 0; i < 8; i++) {
        fds[i] = begin(served, "/api/v1/watch");
        assert_int_equal(code_of(fds[i]), 200);
    }
    int waits = begin(served, "/api/v1/workloads"); // answered, or not: it does not keep the server
    http_server_stop(served->server);
    served->server = NULL;
    char rest[4096];
    for (size_t i = 0; i < 8; i++) {
        while (recv(fds[i], rest, sizeof rest, 0) > 0)
            ;
        close(fds[i]);
    }
    close(waits);
}

static void a_head_request_gets_no_stream(void **state) {
    const struct served *served = *state;
    int fd = begin(served, "/nothing");
    assert_int_equal(code_of(fd), 404);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(http_server_port(served->server)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    static const char request[] = "HEAD /api/v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), (ssize_t)sizeof request - 1);
    assert_int_equal(code_of(fd), 405);
    close(fd);
}

int main(void) {
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        SERVED(streams_are_bounded_and_probes_are_answered_beside_them),
        SERVED(a_stream_whose_reader_leaves_makes_room_for_another),
        SERVED(one_user_does_not_take_all_streams),
        SERVED(a_watch_ends_when_its_token_or_its_right_is_withdrawn),
        SERVED(a_watch_ends_when_reviews_are_not_answered_again_and_again),
        SERVED(a_client_that_vanished_is_noticed),
        SERVED(streams_end_with_the_server),
        SERVED(a_head_request_gets_no_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
