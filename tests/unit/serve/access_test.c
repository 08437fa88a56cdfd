// SPDX-License-Identifier: Apache-2.0
// Who may have what, asked of a server over TCP.
#include "core/base/text.h"
#include "core/base/trust.h"
#include "core/serve/access/access.h"
#include "core/serve/http/http.h"
#include "snapshot.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct served {
    atomic_int reviews; // of tokens
    struct fake fake;
    struct adapters adapters;
    struct api_source api;
    struct http_server *server;
    struct local_socket socket; // where it listens; zero: at a loopback address
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

static struct json *parse(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

// The token is the user's name; "boss" may do everything, "viewer" gets /wharf, everybody else nothing.
static struct error *review(void *ctx, const struct request *request, struct response *response) {
    AUTO_JSON body = parse(request->body);
    const struct json *spec = json_get(body, "spec");
    AUTO_TEXT text = NULL;
    const char *token = json_string(json_get(spec, "token"));
    if (token)
        atomic_fetch_add(&((struct served *)ctx)->reviews, 1);
    if (token && strcmp(token, "down") == 0)
        return error_new(ERROR_LIMIT, "no answer within 10 s");
    if (token)
        text = text_format("{\"status\":{\"authenticated\":%s,\"user\":{\"username\":\"%s\"}}}",
                           text_has_prefix(token, "nobody") ? "false" : "true", token);
    else {
        const char *user = json_string_or(json_get(spec, "user"), "");
        const char *path = json_string_or(json_path(spec, "nonResourceAttributes", "path", NULL), "");
        bool allowed = strcmp(user, "boss") == 0 || (strcmp(user, "viewer") == 0 && strcmp(path, "/wharf") == 0);
        text = text_format("{\"status\":{\"allowed\":%s}}", allowed ? "true" : "false");
    }
    *response = (struct response){.reason = REASON_OK, .retry_after_ns = -1, .value = parse(text)};
    return NULL;
}

static const struct adapters *adapters_of(void *ctx) {
    const struct served *served = ctx;
    return &served->adapters;
}

static struct served *make(struct http_source *source) {
    struct served *served = calloc(1, sizeof *served);
    assert_non_null(served);
    fake_init(&served->fake);
    served->api =
        (struct api_source){.snapshot = give, .free_snapshot = take_back, .ctx = served, .adapters = adapters_of};
    *source = (struct http_source){.snapshot = give,
                                   .free_snapshot = take_back,
                                   .stalled_ns = stalled_ns,
                                   .api = &served->api,
                                   .review = review,
                                   .ctx = served};
    return served;
}

static int start(void **state) {
    struct http_source source;
    struct served *served = make(&source);
    assert_null(http_server_start("127.0.0.1:0", NULL, &source, &served->server));
    *state = served;
    return 0;
}

static int start_local(void **state) {
    struct http_source source;
    struct served *served = make(&source);
    int fd = -1;
    AUTO_TEXT path = text_format("/tmp/wharf-access-%ld/wharf.sock", (long)getpid());
    assert_null(local_socket_listen(path, NULL, &served->socket, &fd));
    assert_null(http_server_start_on(fd, NULL, &source, &served->server));
    *state = served;
    return 0;
}

static int stop(void **state) {
    struct served *served = *state;
    http_server_stop(served->server);
    AUTO_TEXT folder = served->socket.path ? text_directory(served->socket.path) : NULL;
    local_socket_remove(&served->socket);
    assert_true(!folder || rmdir(folder) == 0);
    free(served);
    return 0;
}

static int connect_to(const struct served *served) {
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(http_server_port(served->server)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    bool at_socket = served->socket.path;
    text_copy(local.sun_path, sizeof local.sun_path, at_socket ? served->socket.path : "");
    int fd = socket(at_socket ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, at_socket ? (struct sockaddr *)&local : (struct sockaddr *)&name,
                             at_socket ? sizeof local : sizeof name),
                     0);
    return fd;
}

static char *ask(const struct served *served, const char *path, const char *headers) {
    int fd = connect_to(served);
    AUTO_TEXT request = text_format("GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n", path, headers);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    AUTO_BUFFER(answer, 1 << 20);
    char chunk[4096];
    for (ssize_t len; (len = recv(fd, chunk, sizeof chunk, 0)) > 0;)
        assert_true(buffer_append(&answer, chunk, (size_t)len));
    close(fd);
    char *text = buffer_take(&answer, NULL);
    assert_non_null(text);
    return text;
}

#define LOCAL "Host: localhost\r\n"
#define REMOTE "Host: wharf.example\r\n"
#define UPGRADE "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define PROTOCOL "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
#define STATUS_OF(code) "HTTP/1.1 " #code

static void who_may_have_what(void **state) {
    static const struct {
        const char *path, *headers, *code, *contains;
    } cases[] = {
        {"/healthz", REMOTE, STATUS_OF(200), "ok\n"},
        {"/metrics", REMOTE, STATUS_OF(200), "wharf_in_sync"},
        {"/api/v1/adapters", LOCAL, STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", "Host: [::1]:9440\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", REMOTE, STATUS_OF(401), "\"reason\":\"Unauthorized\""},
        {"/api/v1/adapters", REMOTE, STATUS_OF(401), "WWW-Authenticate: Bearer"},
        {"/api/v1/adapters", LOCAL "X-Forwarded-For: 10.0.0.1\r\n", STATUS_OF(401),
         "a token of the management cluster"},
        {"/api/v1/adapters", LOCAL "Forwarded: for=10.0.0.1\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Via: 1.1 proxy\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "X-Real-IP: 10.0.0.1\r\n", STATUS_OF(401), ""},
        // A page of another origin cannot read the answer, but could keep the host busy.
        {"/api/v1/adapters", LOCAL "Origin: https://evil.example\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Origin: http://localhost:3000\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Origin: null\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Sec-Fetch-Site: cross-site\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Sec-Fetch-Site: same-site\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Sec-Fetch-Site: same-origin\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", LOCAL "Sec-Fetch-Site: none\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", LOCAL "Origin: http://localhost\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", REMOTE "Authorization: Bearer viewer\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", REMOTE "Wharf-Authorization: Bearer viewer\r\n", STATUS_OF(200), "\"items\":"},
        // The proxy's own credentials, if it leaves them, are not the caller's.
        {"/api/v1/adapters", REMOTE "Authorization: Bearer viewer\r\nWharf-Authorization: Bearer jane\r\n",
         STATUS_OF(403), "user jane may not get the path /wharf of the management cluster"},
        {"/api/v1/adapters", REMOTE "Authorization: Bearer jane\r\n", STATUS_OF(403), "\"reason\":\"Forbidden\""},
        {"/api/v1/adapters", REMOTE "Authorization: Basic Ym9zczo=\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", REMOTE "Authorization: Bearer nobody\r\n", STATUS_OF(401),
         "the bearer token is not valid in the management cluster"},
        {"/api/v1/adapters", REMOTE "Authorization: Bearer down\r\n", STATUS_OF(503), "no answer within 10 s"},
        // Pods and logs need a token from everywhere.
        {"/api/v1/pods/jobs/a/b", LOCAL, STATUS_OF(401), "a token of the management cluster"},
        {"/api/v1/logs/jobs/a/b", LOCAL, STATUS_OF(401), "a token of the management cluster"},
        {"/api/v1/logs/jobs/a/b", LOCAL "Authorization: Bearer viewer\r\n", STATUS_OF(403),
         "user viewer may not get pods/log in namespace a of the management cluster"},
        {"/api/v1/pods/jobs/a/b", REMOTE "Authorization: Bearer jane\r\n", STATUS_OF(403),
         "user jane may not get pods/log in namespace a of the management cluster"},
        {"/api/v1/logs/jobs/a/b", REMOTE "Authorization: Bearer boss\r\n", STATUS_OF(404), "no enabled adapter brings"},
        {"/api/v1/logs/jobs/a/b?tailLines=-1", REMOTE "Authorization: Bearer boss\r\n", STATUS_OF(400),
         "tailLines: found "},
        {"/api/v1/exec/jobs/a/b?command=ls", LOCAL, STATUS_OF(401), ""},
        {"/api/v1/exec/jobs/a/b?command=ls", REMOTE "Authorization: Bearer viewer\r\n", STATUS_OF(403),
         "user viewer may not create pods/exec in namespace a of the management cluster"},
        {"/api/v1/exec/jobs/a/b?command=ls", REMOTE "Authorization: Bearer boss\r\n", STATUS_OF(400),
         "exec is a WebSocket"},
        {"/api/v1/exec/jobs/a/b?command=ls", REMOTE "Authorization: Bearer boss\r\n" UPGRADE, STATUS_OF(400),
         "found no subprotocol, expected v5.channel.k8s.io or v4.channel.k8s.io"},
        {"/api/v1/exec/jobs/a/b", REMOTE "Authorization: Bearer boss\r\n" UPGRADE PROTOCOL, STATUS_OF(400),
         "found no command"},
        {"/api/v1/exec/jobs/a/b?command=ls", REMOTE "Authorization: Bearer boss\r\n" UPGRADE PROTOCOL, STATUS_OF(404),
         "no enabled adapter brings"},
        {"/api/v1/workloads/jobs/a", LOCAL, STATUS_OF(404), "KIND/NAMESPACE/NAME"},
        {"/api/v1/workloads/jobs/a/b/c", LOCAL, STATUS_OF(404), "\"kind\":\"Status\""},
        {"/api/v1/workloads/jobs//b", LOCAL, STATUS_OF(404), "\"kind\":\"Status\""},
        {"/api/v1/accounts", LOCAL, STATUS_OF(200), "\"items\":[]"},
        {"/api/v1/accounts", REMOTE, STATUS_OF(401), ""},
        {"/api/v1/accounts?kind=jobs", REMOTE "Authorization: Bearer viewer\r\n", STATUS_OF(404), "no enabled adapter"},
        {"/api/v1/nothing", LOCAL, STATUS_OF(404), "\"reason\":\"NotFound\""},
        {"/nothing", LOCAL, STATUS_OF(404), "not found: available are"},
    };
    const struct served *served = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = ask(served, cases[i].path, cases[i].headers);
        if (!text_has_prefix(answer, cases[i].code) || !strstr(answer, cases[i].contains))
            fail_msg("%s with %s: %s", cases[i].path, cases[i].headers, answer);
        free(answer);
    }
}

static void callers_at_the_unix_socket_have_what_those_at_a_loopback_address_have(void **state) {
    static const struct {
        const char *path, *headers, *code, *contains;
    } cases[] = {
        {"/healthz", LOCAL, STATUS_OF(200), "ok\n"},
        {"/api/v1/adapters", LOCAL, STATUS_OF(200), "\"items\":"},
        {"/api/v1/adapters", REMOTE, STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "X-Forwarded-For: 10.0.0.1\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", LOCAL "Origin: http://localhost:3000\r\n", STATUS_OF(401), ""},
        {"/api/v1/adapters", REMOTE "Authorization: Bearer viewer\r\n", STATUS_OF(200), "\"items\":"},
        {"/api/v1/pods/jobs/a/b", LOCAL, STATUS_OF(401), "a token of the management cluster"},
        {"/api/v1/logs/jobs/a/b", LOCAL, STATUS_OF(401), "a token of the management cluster"},
        {"/api/v1/exec/jobs/a/b?command=ls", LOCAL UPGRADE PROTOCOL, STATUS_OF(401), ""},
        {"/api/v1/logs/jobs/a/b", LOCAL "Authorization: Bearer viewer\r\n", STATUS_OF(403), ""},
        {"/api/v1/logs/jobs/a/b", LOCAL "Authorization: Bearer boss\r\n", STATUS_OF(404), "no enabled adapter brings"},
    };
    const struct served *served = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_TEXT answer = ask(served, cases[i].path, cases[i].headers);
        if (!text_has_prefix(answer, cases[i].code) || !strstr(answer, cases[i].contains))
            fail_msg("%s with %s: %s", cases[i].path, cases[i].headers, answer);
    }
}

// A proxy in front could take the rest for the request of another caller.
static void requests_that_others_read_differently_are_refused_and_end_the_connection(void **state) {
    static const char *const headers[] = {
        LOCAL "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        LOCAL "Content-Length: 0\r\nContent-Length: 40\r\n",
        LOCAL "Content-Length : 40\r\n",
        LOCAL REMOTE,
        "Host: evil.example\r\n localhost\r\n",
    };
    const struct served *served = *state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        AUTO_TEXT all = text_format("%sX-End: 1\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n" LOCAL, headers[i]);
        AUTO_TEXT answer = ask(served, "/healthz", all);
        if (!text_has_prefix(answer, STATUS_OF(400)) || strstr(answer, "200 OK"))
            fail_msg("%s: %s", headers[i], answer);
    }
}

static void every_answer_has_the_headers_that_protect_it(void **state) {
    static const char *const paths[] = {"/metrics", "/api/v1/adapters", "/nothing"};
    static const char *const headers[] = {"Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n",
                                          "X-Frame-Options: DENY\r\n",
                                          "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *answer = ask(*state, paths[i], LOCAL);
        for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++)
            if (!strstr(answer, headers[h]))
                fail_msg("%s has no %s: %s", paths[i], headers[h], answer);
        free(answer);
    }
}

#define FLOODERS 8

struct flood {
    const struct served *served;
    atomic_bool over;
    atomic_int asked, refused, later, other;
};

static void *flood(void *arg) {
    struct flood *flood = arg;
    while (!atomic_load(&flood->over)) {
        AUTO_TEXT headers =
            text_format(REMOTE "Authorization: Bearer nobody-%d\r\n", atomic_fetch_add(&flood->asked, 1));
        AUTO_TEXT answer = ask(flood->served, "/api/v1/adapters", headers);
        bool refused = text_has_prefix(answer, STATUS_OF(401)), later = text_has_prefix(answer, STATUS_OF(429));
        atomic_fetch_add(refused ? &flood->refused : later ? &flood->later : &flood->other, 1);
    }
    return NULL;
}

// All callers come from one address, as those behind a NAT or the API server's service proxy do.
static void new_tokens_are_served_beside_many_that_are_not_valid(void **state) {
    struct served *served = *state;
    struct flood flooding = {.served = served};
    pthread_t threads[FLOODERS];
    int served_others = 0, served_locals = 0;
    for (size_t i = 0; i < FLOODERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, flood, &flooding), 0);
    while (atomic_load(&flooding.refused) + atomic_load(&flooding.later) < 2 * NEW_TOKENS_BURST)
        usleep(10000);
    for (int i = 0; i < 5; i++) {
        AUTO_TEXT token = text_format(REMOTE "Authorization: Bearer user-%d\r\n", i);
        AUTO_TEXT answer = ask(served, "/api/v1/adapters", token);
        AUTO_TEXT local = ask(served, "/api/v1/adapters", LOCAL);
        served_others += text_has_prefix(answer, STATUS_OF(403)); // reviewed, without the right
        served_locals += text_has_prefix(local, STATUS_OF(200));
    }
    atomic_store(&flooding.over, true);
    for (size_t i = 0; i < FLOODERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&flooding.other), 0);
    assert_int_equal(served_others, 5);
    assert_int_equal(served_locals, 5);
}

// Each costs the management cluster two reviews with the host's own credentials.
static void tokens_that_are_not_valid_are_reviewed_within_a_budget(void **state) {
    struct served *served = *state;
    struct flood flooding = {.served = served};
    pthread_t threads[FLOODERS];
    int64_t start_ns = clock_now().mono_ns;
    for (size_t i = 0; i < FLOODERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, flood, &flooding), 0);
    while (atomic_load(&flooding.refused) + atomic_load(&flooding.later) < 2 * NEW_TOKENS_BURST)
        usleep(10000);
    atomic_store(&flooding.over, true);
    for (size_t i = 0; i < FLOODERS; i++)
        pthread_join(threads[i], NULL);
    int64_t most = NEW_TOKENS_BURST + NEW_TOKENS_AT_ONCE + (clock_now().mono_ns - start_ns) / NEW_TOKENS_NS;
    assert_true(atomic_load(&served->reviews) <= 2 * most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_may_have_what, start, stop),
        cmocka_unit_test_setup_teardown(new_tokens_are_served_beside_many_that_are_not_valid, start, stop),
        cmocka_unit_test_setup_teardown(tokens_that_are_not_valid_are_reviewed_within_a_budget, start, stop),
        cmocka_unit_test_setup_teardown(callers_at_the_unix_socket_have_what_those_at_a_loopback_address_have,
                                        start_local, stop),
        cmocka_unit_test_setup_teardown(requests_that_others_read_differently_are_refused_and_end_the_connection, start,
                                        stop),
        cmocka_unit_test_setup_teardown(every_answer_has_the_headers_that_protect_it, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
