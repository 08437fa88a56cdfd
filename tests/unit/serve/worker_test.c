// SPDX-License-Identifier: Apache-2.0
// Pods and logs of a worker that does not behave, read over TCP.
#include "tests/unit/serve/desk.h"

#include "core/base/log.h"
#include "core/kube/transport/curl_transport.h"
#include "core/serve/http/http.h"
#include "core/serve/pods/logs.h"
#include "tests/unit/kube/tls_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum worker { WORKER_SILENT, WORKER_ENDLESS, WORKER_MANY_PODS, WORKER_WITHOUT_EXEC };
#define MANY 120

// RFC 6455 section 1.3 has this key and its answer.
#define WEBSOCKET                                                                                                      \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "                    \
    "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
#define ACCEPTED                                                                                                       \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "          \
    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"

struct office {
    struct desk desk;
    pthread_mutex_t engine; // queries come from several threads
    struct server *worker;
    struct http_server *server;
    enum worker kind;
    char uid[64]; // of the mirror
    atomic_int logs, pages, over;
    atomic_bool withdrawn; // the right of every caller
};

static void send_json(struct peer *peer, const char *body) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body),
              body);
}

#define METADATA                                                                                                       \
    "\"metadata\":{\"name\":\"p-%d\",\"uid\":\"u-%d\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","              \
    "\"kind\":\"Job\",\"name\":\"a\",\"uid\":\"%s\"}]}"

// The pods of the mirror, with what people see of them.
static void send_pods(const struct office *office, struct peer *peer) {
    AUTO_BUFFER(body, 1 << 20);
    int count = office->kind == WORKER_MANY_PODS ? MANY : 1;
    buffer_text(&body, "{\"metadata\":{},\"items\":[");
    for (int i = 0; i < count; i++)
        buffer_printf(&body,
                      "%s{" METADATA
                      ",\"spec\":{\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":\"Running\"}}",
                      i > 0 ? "," : "", i, i, office->uid);
    buffer_text(&body, "]}");
    send_json(peer, body.data);
}

static bool serve(void *ctx, struct peer *peer, const char *request) {
    struct office *office = ctx;
    if (strstr(request, "/log?")) {
        atomic_fetch_add(&office->logs, 1);
        if (office->kind == WORKER_MANY_PODS)
            peer_send(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nline\r\n");
        peer_wait_closed(peer);
        return false;
    }
    if (strstr(request, "/exec?") && office->kind == WORKER_WITHOUT_EXEC) {
        static const char refusal[] =
            "{\"kind\":\"Status\",\"message\":\"pods \\\"p-0\\\" is forbidden\",\"code\":403}";
        peer_send(peer, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                  sizeof refusal - 1, refusal);
        return true;
    }
    // A frame whose second half comes once the right was withdrawn, and half of another.
    if (strstr(request, "/exec?")) {
        peer_send(peer, ACCEPTED "\x82\x06\x01"
                                 "one");
        while (!atomic_load(&office->withdrawn))
            usleep(10000);
        usleep(300000);
        peer_send(peer, "tw\x82\x06\x01"
                        "t");
        peer_wait_closed(peer);
        return false;
    }
    if (office->kind == WORKER_ENDLESS) {
        atomic_fetch_add(&office->pages, 1);
        send_json(peer, "{\"metadata\":{\"continue\":\"again\"},\"items\":[]}");
    } else if (text_has_prefix(request, "GET /api/v1/namespaces/default/pods/p-0 ")) {
        AUTO_TEXT body = text_format(
            "{" METADATA ",\"spec\":{\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":\"Running\"}}", 0, 0,
            office->uid);
        send_json(peer, body);
    } else {
        send_pods(office, peer);
    }
    return true;
}

static struct error *query(void *ctx, query_run run, void *arg) {
    struct office *office = ctx;
    pthread_mutex_lock(&office->engine);
    run(arg, office->desk.stage.engine, office->desk.stage.now);
    pthread_mutex_unlock(&office->engine);
    return NULL;
}

static struct error *endpoint(void *ctx, const char *cluster, struct endpoint **out) {
    struct office *office = ctx;
    (void)cluster;
    *out = calloc(1, sizeof **out);
    (*out)->server = text_format("http://127.0.0.1:%u", server_port(office->worker));
    return NULL;
}

static struct error *review(void *ctx, const struct request *request, struct response *response) {
    struct office *office = ctx;
    const char *text = strstr(request->body, "\"token\"")
                           ? "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"jane\"}}}"
                       : atomic_load(&office->withdrawn) ? "{\"status\":{\"allowed\":false}}"
                                                         : "{\"status\":{\"allowed\":true}}";
    *response = (struct response){.reason = REASON_OK, .retry_after_ns = -1};
    return json_parse(text, strlen(text), &response->value);
}

static int64_t stalled_ns(void *ctx) {
    (void)ctx;
    return 0;
}

static void open_office(struct office *office, enum worker kind) {
    struct api_mirror mirror;
    *office = (struct office){.kind = kind};
    assert_null(curl_transport_setup());
    pthread_mutex_init(&office->engine, NULL);
    begin(&office->desk);
    submit(&office->desk, "a");
    assert_null(api_find_mirror(&office->desk.source, office->desk.stage.kind, "default", "a", &mirror));
    text_copy(office->uid, sizeof office->uid, mirror.uid);
    office->desk.source.query = query;
    office->desk.source.ctx = office;
    office->worker = server_start(&(struct server_options){.serve = serve, .ctx = office});
    struct http_source source = {.snapshot = give_snapshot,
                                 .free_snapshot = take_snapshot,
                                 .stalled_ns = stalled_ns,
                                 .api = &office->desk.source,
                                 .review = review,
                                 .endpoint = endpoint,
                                 .ctx = office,
                                 .patience_ns = CLOCK_SECOND,
                                 .review_ns = 50 * CLOCK_MS};
    assert_null(http_server_start("127.0.0.1:0", NULL, &source, &office->server));
}

static void close_office(struct office *office) {
    http_server_stop(office->server);
    server_stop(office->worker);
    end(&office->desk);
    pthread_mutex_destroy(&office->engine);
}

static int connect_with(const struct office *office, const char *path, const char *headers) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(http_server_port(office->server)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval patience = {.tv_sec = 20};
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    AUTO_TEXT request = text_format("GET %s HTTP/1.1\r\nHost: w\r\nAuthorization: Bearer t\r\n%s\r\n", path, headers);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    return fd;
}

static int connect_to(const struct office *office, const char *path) {
    return connect_with(office, path, "Connection: close\r\n");
}

// Reads until the text has come, or the end; "" is everything.
static char *read_until(int fd, const char *text) {
    AUTO_BUFFER(answer, 1 << 20);
    char chunk[4096];
    buffer_text(&answer, "");
    for (ssize_t len; !(*text && strstr(answer.data, text)) && (len = recv(fd, chunk, sizeof chunk, 0)) > 0;)
        assert_true(buffer_append(&answer, chunk, (size_t)len));
    return buffer_take(&answer, NULL);
}

static void assert_answer(const struct office *office, const char *path, const char *begins, const char *contains) {
    int fd = connect_to(office, path);
    AUTO_TEXT answer = read_until(fd, "");
    close(fd);
    if (!text_has_prefix(answer, begins) || !strstr(answer, contains))
        fail_msg("%s: %s", path, answer);
}

static void a_log_that_a_worker_does_not_open_is_given_up(void **state) {
    (void)state;
    struct office office;
    open_office(&office, WORKER_SILENT);
    assert_answer(&office, "/api/v1/logs/jobs/default/a", "HTTP/1.1 504", "has not answered for 1 s");
    assert_int_equal(atomic_load(&office.logs), 1);
    close_office(&office);
}

static void pages_without_an_end_are_not_read_for_ever(void **state) {
    (void)state;
    struct office office;
    open_office(&office, WORKER_ENDLESS);
    assert_answer(&office, "/api/v1/pods/jobs/default/a", "HTTP/1.1 504", "it has taken longer than 1 s");
    assert_true(atomic_load(&office.pages) > 1);
    assert_answer(&office, "/api/v1/logs/jobs/default/a", "HTTP/1.1 504", "it has taken longer than 1 s");
    close_office(&office);
}

static void a_log_that_is_followed_ends_when_the_right_is_withdrawn(void **state) {
    (void)state;
    struct office office;
    open_office(&office, WORKER_MANY_PODS);
    int fd = connect_to(&office, "/api/v1/logs/jobs/default/a?follow=true");
    AUTO_TEXT head = read_until(fd, "line");
    atomic_store(&office.withdrawn, true);
    AUTO_TEXT rest = read_until(fd, "");
    if (!strstr(rest,
                "wharf: the log ends here: user jane may not get pods/log in namespace default of the management"))
        fail_msg("%s: %s", head, rest);
    close(fd);
    close_office(&office);
}

#define REASON "user jane may not create pods/exec in namespace default of the management cluster"

static void a_session_ends_when_the_right_is_withdrawn(void **state) {
    (void)state;
    struct office office;
    open_office(&office, WORKER_SILENT);
    int fd = connect_with(&office, "/api/v1/exec/jobs/default/a?command=ls", WEBSOCKET);
    AUTO_TEXT head = read_until(fd, "one");
    atomic_store(&office.withdrawn, true);
    // The frame that has begun is whole, nothing of the next one comes, and the session closes with the reason.
    AUTO_TEXT rest = read_until(fd, "");
    if (!text_has_prefix(rest, "tw\x88") || !strstr(rest, REASON) || strlen(rest) != 2 + 4 + strlen(REASON))
        fail_msg("%s: %s", head, rest);
    close(fd);
    close_office(&office);
}

static void a_worker_that_lets_the_host_run_no_commands_is_named_with_the_remedy(void **state) {
    (void)state;
    struct office office;
    open_office(&office, WORKER_WITHOUT_EXEC);
    int fd = connect_with(&office, "/api/v1/exec/jobs/default/a?command=ls", WEBSOCKET);
    AUTO_TEXT answer = read_until(fd, "}\n");
    close(fd);
    if (!text_has_prefix(answer, "HTTP/1.1 403") ||
        !strstr(answer, "w1: the host may not run commands there: repeat wharf join for it with --exec (or apply wharf "
                        "rbac --for worker --exec): pods \\\"p-0\\\" is forbidden"))
        fail_msg("%s", answer);
    close_office(&office);
}

// The log of a session with this query; free().
static char *audit_of(const char *query) {
    struct office office;
    char text[16 * 1024];
    int log[2];
    assert_int_equal(pipe2(log, O_CLOEXEC | O_NONBLOCK), 0);
    open_office(&office, WORKER_SILENT);
    log_to(log[1]);
    AUTO_TEXT path = text_format("/api/v1/exec/jobs/default/a?%s", query);
    int fd = connect_with(&office, path, WEBSOCKET);
    AUTO_TEXT head = read_until(fd, "one");
    log_to(2);
    ssize_t len = read(log[0], text, sizeof text - 1);
    assert_true(len > 0);
    text[len] = '\0';
    atomic_store(&office.withdrawn, true);
    close(fd);
    close_office(&office);
    close(log[0]);
    close(log[1]);
    const char *line = strstr(text, "exec session");
    assert_non_null(line);
    return strndup(line, strcspn(line, "\n"));
}

static void a_session_is_logged_with_each_word_of_its_command(void **state) {
    (void)state;
    AUTO_TEXT audit = audit_of("command=sh&command=-c&command=rm%20-rf%20'/'%0A%1B&command=");
    if (!strstr(audit, "user=jane cluster=w1 namespace=default pod=p-0 container=main "
                       "command=\"sh -c 'rm -rf '\\\\''/'\\\\''\\n\\u001b' ''\""))
        fail_msg("%s", audit);
}

static void a_long_command_is_logged_with_a_mark_that_it_was_cut(void **state) {
    (void)state;
    AUTO_BUFFER(query, 16 * 1024);
    buffer_text(&query, "command=");
    while (query.len < 6000)
        buffer_char(&query, 'x');
    buffer_text(&query, "&command=evil");
    AUTO_TEXT audit = audit_of(query.data);
    if (!strstr(audit, "xxx ... (cut, 5997 bytes)") || strlen(audit) > 4300)
        fail_msg("%s", audit);
}

// What is left of the file descriptors is for the connections to clusters.
static void logs_take_a_part_of_the_file_descriptors(void **state) {
    (void)state;
    struct office office;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = 400, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    open_office(&office, WORKER_MANY_PODS);
    low.rlim_cur = 1024; // the worker has its own here, in the same process
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int first = connect_to(&office, "/api/v1/logs/jobs/default/a?allPods=true&follow=true");
    AUTO_TEXT head = read_until(first, "line");
    assert_non_null(strstr(head, "there are more than are shown"));
    usleep(500000);
    assert_true(atomic_load(&office.logs) <= 51);
    int second = connect_to(&office, "/api/v1/logs/jobs/default/a?allPods=true&follow=true");
    AUTO_TEXT other = read_until(second, "line");
    assert_true(text_has_prefix(other, "HTTP/1.1 200"));
    usleep(500000);
    assert_true(atomic_load(&office.logs) <= 77);
    close(first);
    close(second);
    close_office(&office);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_a_worker_does_not_open_is_given_up),
        cmocka_unit_test(pages_without_an_end_are_not_read_for_ever),
        cmocka_unit_test(a_log_that_is_followed_ends_when_the_right_is_withdrawn),
        cmocka_unit_test(a_session_ends_when_the_right_is_withdrawn),
        cmocka_unit_test(a_worker_that_lets_the_host_run_no_commands_is_named_with_the_remedy),
        cmocka_unit_test(a_session_is_logged_with_each_word_of_its_command),
        cmocka_unit_test(a_long_command_is_logged_with_a_mark_that_it_was_cut),
        cmocka_unit_test(logs_take_a_part_of_the_file_descriptors),
    };
    alarm(120);
    return cmocka_run_group_tests_name("a worker that does not behave", tests, stage_load, NULL);
}
