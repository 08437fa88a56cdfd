// SPDX-License-Identifier: Apache-2.0
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/curl_transport.h"
#include "tests/unit/kube/pki.h"
#include "tests/unit/kube/tls_server.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE (20 * CLOCK_SECOND)

// One server with one transport to it.
struct world {
    struct pki_pair ca, cert;
    struct server *server;
    struct endpoint endpoint;
    struct transport *transport;
    sem_t gate; // what the server waits for before it goes on
    atomic_int asked, released;
};

// What the handlers of an exchange were told.
struct answer {
    struct world *world;
    uint64_t id;
    bool done, opened, stalled;
    enum http_outcome outcome;
    int status;
    int64_t retry_after_ns;
    struct buffer body, data;
    char content_type[64], warning[256], problem[512];
    bool (*on_data)(struct answer *answer);
    void (*on_done)(struct answer *answer);
    bool opened_before_data;
    struct answer *other;
};

static bool serve_chunks(struct world *world, struct peer *peer) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 1; i <= 3; i++) {
        sem_wait(&world->gate);
        peer_send(peer, "6\r\nchunk%d\r\n", i);
    }
    peer_send(peer, "0\r\n\r\n");
    return true;
}

// "hello", compressed: one stored block (RFC 1951 section 3.2.4).
static bool serve_gzip(struct peer *peer) {
    static const unsigned char hello[] = {0x1f, 0x8b, 8,   0,   0,   0,   0,    0,    2,    3,    1, 5, 0, 0xfa,
                                          0xff, 'h',  'e', 'l', 'l', 'o', 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0};
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", sizeof hello);
    peer_send_bytes(peer, hello, sizeof hello);
    return true;
}

static bool serve_echo(struct peer *peer, const char *request) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Name: %s\r\nContent-Length: %zu\r\n\r\n%s",
              peer_name(peer), strlen(request), request);
    return true;
}

struct page {
    const char *path, *answer;
    bool keep; // the connection
};

static const struct page pages[] = {
    {"/ok", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", true},
    {"/once", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false},
    {"/none", "HTTP/1.1 204 No Content\r\n\r\n", true},
    {"/missing", "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nmissing", true},
    {"/busy", "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", true},
    {"/busy-date", "HTTP/1.1 429 Too Many\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
     true},
    {"/warned",
     "HTTP/1.1 200 OK\r\nWarning: 299 - \"a \\\"quoted\\\" word\"\r\nWarning: 199 - \"other\", 299 a.b \"two\" \"Wed, "
     "21 "
     "Oct 2026 07:28:00 GMT\", 299 - \"three\"\r\nContent-Length: 0\r\n\r\n",
     true},
    {"/away", "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 4\r\n\r\naway", true},
    {"/cut-length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":", false},
    {"/cut-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"half\":", false},
    {"/cut-between", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", false},
    {"/cut-head", "HTTP/1.1 200 OK\r\nContent-Le", false},
    {"/garbage", "220 smtp.example ESMTP\r\n", false},
    {"/nothing", "", false},
    {"/large", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n12345678901234567890", true},
    {"/large-error", "HTTP/1.1 500 Oops\r\nContent-Length: 20\r\n\r\n12345678901234567890", true},
};

static bool serve(void *ctx, struct peer *peer, const char *request) {
    struct world *world = ctx;
    const char *path = strchr(request, ' ') + 1;
    size_t len = strcspn(path, " ?");
    atomic_fetch_add(&world->asked, 1);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strlen(pages[i].path) != len || strncmp(pages[i].path, path, len) != 0)
            continue;
        peer_send(peer, "%s", pages[i].answer);
        return pages[i].keep;
    }
    if (strncmp(path, "/chunks", len) == 0)
        return serve_chunks(world, peer);
    if (strncmp(path, "/gzip", len) == 0)
        return serve_gzip(peer);
    if (strncmp(path, "/silent", len) == 0) {
        peer_send(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
        peer_wait_closed(peer);
        atomic_fetch_add(&world->released, 1);
        return false;
    }
    return serve_echo(peer, request);
}

static char *write_temporary(const char *content) {
    char *path = text_format("/tmp/wharf-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return path;
}

static void rewrite(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
}

static void remove_temporary(char *path) {
    unlink(path);
    free(path);
}

static void serve_tls(struct world *world, const char *client_ca) {
    world->cert = pki_make(
        &(struct pki_request){.name = "server", .names = "DNS:api.example,IP:127.0.0.1", .issuer = &world->ca});
    world->server = server_start(&(struct server_options){
        .cert = world->cert.cert, .key = world->cert.key, .client_ca = client_ca, .serve = serve, .ctx = world});
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(world->server));
}

static void connect_world(struct world *world) {
    struct error *error = curl_transport_new(&world->endpoint, "wharf-test/1", &world->transport);
    assert_string_equal(error_text(error), "no error");
}

static void world_open(struct world *world) {
    *world = (struct world){0};
    sem_init(&world->gate, 0, 0);
    world->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    world->endpoint.ca_pem = strdup(world->ca.cert);
}

static int setup(void **state) {
    struct world *world = malloc(sizeof *world);
    world_open(world);
    serve_tls(world, NULL);
    *state = world;
    return 0;
}

static int setup_connected(void **state) {
    setup(state);
    connect_world(*state);
    return 0;
}

static int teardown(void **state) {
    struct world *world = *state;
    if (world->transport)
        world->transport->ops->free(world->transport);
    for (int i = 0; i < 16; i++)
        sem_post(&world->gate);
    if (world->server)
        server_stop(world->server);
    struct endpoint *endpoint = malloc(sizeof *endpoint);
    *endpoint = world->endpoint;
    endpoint_free(endpoint);
    pki_free(&world->ca);
    pki_free(&world->cert);
    sem_destroy(&world->gate);
    free(world);
    return 0;
}

static void answer_init(struct answer *answer, struct world *world) {
    *answer = (struct answer){.world = world};
    buffer_init(&answer->body, 1 << 20);
    buffer_init(&answer->data, 1 << 20);
}

static void answer_free(struct answer *answer) {
    buffer_free(&answer->body);
    buffer_free(&answer->data);
}

static const char *text_of(const struct buffer *buffer) {
    return buffer->data ? buffer->data : "";
}

static bool on_opened(void *ctx) {
    struct answer *answer = ctx;
    answer->opened_before_data = answer->data.len == 0 && !answer->opened;
    answer->opened = true;
    return true;
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct answer *answer = ctx;
    buffer_append(&answer->data, bytes, len);
    return !answer->on_data || answer->on_data(answer);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct answer *answer = ctx;
    assert_false(answer->done);
    answer->done = true;
    answer->outcome = result->outcome;
    answer->status = result->status;
    answer->stalled = result->stalled;
    answer->retry_after_ns = result->retry_after_ns;
    buffer_append(&answer->body, result->body, result->body_len);
    text_copy(answer->content_type, sizeof answer->content_type, result->content_type);
    text_copy(answer->warning, sizeof answer->warning, result->warning ? result->warning : "");
    text_copy(answer->problem, sizeof answer->problem, result->problem ? result->problem : "");
    assert_int_equal(result->problem == NULL, result->outcome == HTTP_ANSWERED);
    if (answer->on_done)
        answer->on_done(answer);
}

static void submit(struct answer *answer, const struct http_request *request) {
    struct transport *transport = answer->world->transport;
    struct http_handler handler = {.opened = on_opened, .data = on_data, .done = on_done, .ctx = answer};
    struct http_request full = *request;
    full.max_body = full.max_body ? full.max_body : 1 << 20;
    answer->id = transport->ops->submit(transport, &full, &handler);
    assert_true(answer->id != 0);
    assert_false(answer->done);
}

static void poll_once(struct world *world) {
    curl_transport_poll(world->transport, 10 * CLOCK_MS);
}

#define poll_until(world, condition)                                                                                   \
    do {                                                                                                               \
        int64_t begin_ns = clock_now().mono_ns;                                                                        \
        while (!(condition)) {                                                                                         \
            poll_once(world);                                                                                          \
            assert_true(clock_now().mono_ns - begin_ns < PATIENCE);                                                    \
        }                                                                                                              \
    } while (0)

// Sends one request and waits for its end.
static void ask(struct answer *answer, struct world *world, const struct http_request *request) {
    answer_init(answer, world);
    submit(answer, request);
    poll_until(world, answer->done);
}

static void answers_are_delivered_as_they_came(void **state) {
    static const struct {
        const char *path;
        int status;
        const char *body, *content_type, *warning;
        int64_t retry_after_ns;
    } cases[] = {
        {"/ok", 200, "{}", "application/json", "", -1},
        {"/none", 204, "", "", "", -1},
        {"/missing", 404, "missing", "", "", -1},
        {"/busy", 429, "", "", "", 7 * CLOCK_SECOND},
        {"/busy-date", 429, "", "", "", -1},
        {"/warned", 200, "", "", "a \"quoted\" word; two; three", -1},
        {"/gzip", 200, "hello", "", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = cases[i].path});
        assert_string_equal(answer.problem, "");
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(text_of(&answer.body), cases[i].body);
        assert_string_equal(answer.content_type, cases[i].content_type);
        assert_string_equal(answer.warning, cases[i].warning);
        assert_true(answer.retry_after_ns == cases[i].retry_after_ns);
        answer_free(&answer);
    }
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state) {
    struct world *world = *state;
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/away"});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 302);
    assert_string_equal(text_of(&answer.body), "away");
    assert_int_equal(atomic_load(&world->asked), 1);
    answer_free(&answer);
}

static void requests_say_what_they_were_given(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("s3cret");
    connect_world(world);
    static const struct {
        struct http_request request;
        const char *first, *has, *has_not;
    } cases[] = {
        {{.path = "/echo?a=b"}, "GET /echo?a=b HTTP/1.1\r\n", "\r\nAccept: application/json\r\n", "Content-Type"},
        {{.path = "/a/../b"}, "GET /a/../b HTTP/1.1\r\n", "\r\nAccept-Encoding: gzip\r\n", "Expect"},
        {{.path = "/x", .accept = "text/css"}, "GET /x ", "\r\nAccept: text/css\r\n", "application/json"},
        {{.method = HTTP_POST, .path = "/x", .content_type = "application/json", .body = "{}", .body_len = 2},
         "POST /x ",
         "\r\nContent-Type: application/json\r\n",
         "Expect"},
        {{.method = HTTP_POST, .path = "/x"}, "POST /x ", "\r\nContent-Length: 0\r\n", "Content-Type"},
        {{.method = HTTP_PUT, .path = "/x", .body = "{\"a\":1}", .body_len = 7},
         "PUT /x ",
         "\r\n\r\n{\"a\":1}",
         "-Type"},
        {{.method = HTTP_PATCH,
          .path = "/x",
          .content_type = "application/merge-patch+json",
          .body = "[]",
          .body_len = 2},
         "PATCH /x ",
         "\r\nContent-Type: application/merge-patch+json\r\n",
         "Expect"},
        {{.method = HTTP_DELETE, .path = "/x"}, "DELETE /x ", "\r\nUser-Agent: wharf-test/1\r\n", "Content-"},
        {{.method = HTTP_DELETE, .path = "/x", .body = "{}", .body_len = 2},
         "DELETE /x ",
         "\r\nContent-Length: 2\r\n",
         "curl"},
        {{.path = "/x"}, "GET /x ", "\r\nAuthorization: Bearer s3cret\r\n", "Content-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, world, &cases[i].request);
        const char *seen = text_of(&answer.body);
        assert_true(text_has_prefix(seen, cases[i].first));
        if (!strstr(seen, cases[i].has) || strstr(seen, cases[i].has_not))
            fail_msg("case %zu: the server saw\n%s", i, seen);
        answer_free(&answer);
    }
}

static void a_large_body_is_sent_whole(void **state) {
    struct world *world = *state;
    size_t len = 3 << 20;
    char *body = malloc(len);
    memset(body, 'x', len);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.method = HTTP_POST, .path = "/busy", .body = body, .body_len = len});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 429);
    answer_free(&answer);
    free(body);
}

static void compression_is_not_asked_for_in_streams_and_where_it_is_disabled(void **state) {
    struct world *world = *state;
    struct answer answer;
    connect_world(world);
    ask(&answer, world, &(struct http_request){.path = "/echo", .stream = true});
    assert_null(strstr(text_of(&answer.data), "Accept-Encoding"));
    answer_free(&answer);
    world->endpoint.disable_compression = true;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_null(strstr(text_of(&answer.body), "Accept-Encoding"));
    answer_free(&answer);
}

static void one_connection_serves_many_requests(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 50; i++) {
        struct answer answer;
        ask(&answer, world, &(struct http_request){.path = i % 2 ? "/ok" : "/missing"});
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        answer_free(&answer);
    }
    assert_int_equal(server_connections(world->server), 1);
}

static void a_connection_that_the_server_closed_is_replaced(void **state) {
    for (int i = 0; i < 5; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = "/once"});
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        answer_free(&answer);
    }
}

static void many_requests_at_once_are_all_answered(void **state) {
    enum { COUNT = 200 };
    struct world *world = *state;
    struct answer *answers = calloc(COUNT, sizeof *answers);
    size_t done = 0;
    for (int i = 0; i < COUNT; i++) {
        answer_init(&answers[i], world);
        submit(&answers[i], &(struct http_request){.path = i % 2 ? "/echo" : "/ok"});
    }
    for (int i = 0; i < COUNT; i++) {
        poll_until(world, answers[i].done);
        done += answers[i].outcome == HTTP_ANSWERED && answers[i].status == 200;
        answer_free(&answers[i]);
    }
    assert_int_equal(done, COUNT);
    free(answers);
}

static void a_stream_is_told_piece_by_piece(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    submit(&answer, &(struct http_request){.path = "/chunks", .stream = true});
    poll_until(world, answer.opened);
    assert_true(answer.opened_before_data);
    assert_int_equal(answer.data.len, 0);
    for (size_t i = 1; i <= 3; i++) {
        sem_post(&world->gate);
        poll_until(world, answer.data.len == i * 6);
    }
    poll_until(world, answer.done);
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 200);
    assert_string_equal(text_of(&answer.data), "chunk1chunk2chunk3");
    assert_string_equal(text_of(&answer.body), "");
    answer_free(&answer);
}

static void an_error_instead_of_a_stream_has_its_body(void **state) {
    struct answer answer;
    ask(&answer, *state, &(struct http_request){.path = "/missing", .stream = true});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 404);
    assert_false(answer.opened);
    assert_int_equal(answer.data.len, 0);
    assert_string_equal(text_of(&answer.body), "missing");
    answer_free(&answer);
}

static void what_is_cut_off_is_broken_and_never_an_answer(void **state) {
    static const struct {
        const char *path;
        bool stream;
        int status;
    } cases[] = {
        {"/cut-length", false, 0},   {"/cut-chunk", false, 0}, {"/cut-between", false, 0}, {"/cut-head", false, 0},
        {"/garbage", false, 0},      {"/nothing", false, 0},   {"/cut-length", true, 200}, {"/cut-chunk", true, 200},
        {"/cut-between", true, 200}, {"/nothing", true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = cases[i].path, .stream = cases[i].stream});
        if (answer.outcome != HTTP_BROKEN || answer.status != cases[i].status)
            fail_msg("%s: outcome %d, status %d: %s", cases[i].path, answer.outcome, answer.status, answer.problem);
        assert_non_null(strstr(answer.problem, "broke off"));
        answer_free(&answer);
    }
}

static void a_body_over_the_limit_ends_the_exchange(void **state) {
    static const struct {
        const char *path;
        size_t limit;
        bool stream;
        enum http_outcome outcome;
    } cases[] = {
        {"/large", 19, false, HTTP_BROKEN},      {"/large", 20, false, HTTP_ANSWERED},
        {"/gzip", 4, false, HTTP_BROKEN},        {"/gzip", 5, false, HTTP_ANSWERED},
        {"/large-error", 19, true, HTTP_BROKEN}, {"/large-error", 20, true, HTTP_ANSWERED},
        {"/large", 1, true, HTTP_ANSWERED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state,
            &(struct http_request){.path = cases[i].path, .max_body = cases[i].limit, .stream = cases[i].stream});
        assert_int_equal(answer.outcome, cases[i].outcome);
        if (cases[i].outcome == HTTP_BROKEN)
            assert_non_null(strstr(answer.problem, "is larger than"));
        answer_free(&answer);
    }
}

static void a_server_that_cannot_be_reached_was_not_asked(void **state) {
    struct world *world = *state;
    server_stop(world->server);
    world->server = NULL;
    connect_world(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.method = HTTP_POST, .path = "/ok"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_non_null(strstr(answer.problem, "cannot connect to https://127.0.0.1:"));
    answer_free(&answer);
}

// What the server shows and what the client trusts, and whether they go together.
static void only_the_given_authority_is_trusted(void **state) {
    struct world *world = *state;
    struct pki_pair other = pki_make(&(struct pki_request){.name = "other", .ca = true});
    char *public_file = write_temporary(world->ca.cert); // in the role of the system's CAs
    const struct {
        const char *ca, *system;
        bool insecure, trusted;
    } cases[] = {
        {world->ca.cert, NULL, false, true}, {other.cert, NULL, false, false}, {other.cert, public_file, false, false},
        {NULL, public_file, false, true},    {NULL, NULL, false, false},       {NULL, NULL, true, true},
    };
    free(world->endpoint.ca_pem);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world->endpoint.ca_pem = cases[i].ca ? strdup(cases[i].ca) : NULL;
        world->endpoint.insecure = cases[i].insecure;
        if (cases[i].system)
            setenv("SSL_CERT_FILE", cases[i].system, 1);
        struct answer answer;
        connect_world(world);
        ask(&answer, world, &(struct http_request){.path = "/ok"});
        unsetenv("SSL_CERT_FILE");
        if (answer.outcome != (cases[i].trusted ? HTTP_ANSWERED : HTTP_REFUSED))
            fail_msg("case %zu: outcome %d: %s", i, answer.outcome, answer.problem);
        answer_free(&answer);
        world->transport->ops->free(world->transport);
        free(world->endpoint.ca_pem);
    }
    world->transport = NULL;
    world->endpoint.ca_pem = NULL;
    remove_temporary(public_file);
    pki_free(&other);
}

static void a_certificate_for_another_name_or_time_is_refused(void **state) {
    struct world *world = *state;
    const struct {
        struct pki_request request;
        const char *tls_server_name;
        bool trusted;
    } cases[] = {
        {{.name = "a", .names = "IP:127.0.0.1"}, NULL, true},
        {{.name = "a", .names = "IP:127.0.0.2"}, NULL, false},
        {{.name = "127.0.0.1", .names = "DNS:localhost"}, NULL, false},
        {{.name = "a", .names = "DNS:api.example"}, "api.example", true},
        {{.name = "a", .names = "IP:127.0.0.1"}, "api.example", false},
        {{.name = "a", .names = "IP:127.0.0.1", .begin_s = -7200, .end_s = -3600}, NULL, false},
        {{.name = "a", .names = "IP:127.0.0.1", .begin_s = 3600, .end_s = 7200}, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pki_request request = cases[i].request;
        request.issuer = &world->ca;
        struct pki_pair pair = pki_make(&request);
        struct server *server =
            server_start(&(struct server_options){.cert = pair.cert, .key = pair.key, .serve = serve, .ctx = world});
        struct endpoint endpoint = {.ca_pem = world->ca.cert, .tls_server_name = (char *)cases[i].tls_server_name};
        endpoint.server = text_format("https://127.0.0.1:%u/prefix", server_port(server));
        assert_null(curl_transport_new(&endpoint, "wharf-test/1", &world->transport));
        struct answer answer;
        ask(&answer, world, &(struct http_request){.path = "/echo"});
        if (answer.outcome != (cases[i].trusted ? HTTP_ANSWERED : HTTP_REFUSED))
            fail_msg("case %zu: outcome %d: %s", i, answer.outcome, answer.problem);
        AUTO_TEXT host = text_format("\r\nHost: 127.0.0.1:%u\r\n", server_port(server));
        if (cases[i].trusted && !strstr(text_of(&answer.body), host))
            fail_msg("case %zu: the server saw\n%s", i, text_of(&answer.body));
        assert_true(!cases[i].trusted || text_has_prefix(text_of(&answer.body), "GET /prefix/echo "));
        answer_free(&answer);
        world->transport->ops->free(world->transport);
        world->transport = NULL;
        server_stop(server);
        free(endpoint.server);
        pki_free(&pair);
    }
}

static void a_silent_stream_ends_as_stalled(void **state) {
    struct answer first, answer;
    ask(&first, *state, &(struct http_request){.path = "/ok"}); // so that the connection is there
    answer_free(&first);
    ask(&answer, *state, &(struct http_request){.path = "/silent", .stream = true, .stall_ns = 300 * CLOCK_MS});
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    assert_int_equal(answer.status, 200);
    assert_true(answer.stalled);
    assert_string_equal(text_of(&answer.data), "hi");
    assert_non_null(strstr(answer.problem, "was silent for 300 ms"));
    answer_free(&answer);
}

static void an_exchange_ends_at_its_time_limit(void **state) {
    struct answer first, answer;
    ask(&first, *state, &(struct http_request){.path = "/ok"}); // so that the connection is there
    ask(&answer, *state, &(struct http_request){.path = "/silent", .timeout_ns = 300 * CLOCK_MS});
    answer_free(&first);
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    assert_false(answer.stalled);
    answer_free(&answer);
}

static bool refuse_more(struct answer *answer) {
    (void)answer;
    return false;
}

static void a_handler_ends_a_stream_by_refusing_more(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    answer.on_data = refuse_more;
    submit(&answer, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, answer.done);
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    poll_until(world, atomic_load(&world->released) == 1);
    answer_free(&answer);
}

static bool cancel_other_on_data(struct answer *answer) {
    struct transport *transport = answer->world->transport;
    transport->ops->cancel(transport, answer->other->id);
    return true;
}

static void cancel_other_on_done(struct answer *answer) {
    cancel_other_on_data(answer);
}

// The handlers of `other` must stay silent, and its connection must go.
static void check_cancelled(struct world *world, struct answer *other) {
    poll_until(world, atomic_load(&world->released) == 1);
    assert_false(other->done);
    answer_free(other);
}

static void cancelling_from_another_handler_is_silent(void **state) {
    struct world *world = *state;
    struct answer first, other;
    answer_init(&first, world);
    answer_init(&other, world);
    first.other = &other;
    first.on_done = cancel_other_on_done;
    submit(&other, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, other.data.len > 0);
    submit(&first, &(struct http_request){.path = "/ok"});
    poll_until(world, first.done);
    check_cancelled(world, &other);
    answer_free(&first);
}

static void cancelling_oneself_while_being_told_is_silent(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    answer.other = &answer;
    answer.on_data = cancel_other_on_data;
    submit(&answer, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, answer.data.len > 0);
    check_cancelled(world, &answer);
}

static void what_is_cancelled_before_it_started_is_never_sent(void **state) {
    struct world *world = *state;
    struct answer cancelled, after;
    answer_init(&cancelled, world);
    submit(&cancelled, &(struct http_request){.path = "/ok"});
    world->transport->ops->cancel(world->transport, cancelled.id);
    world->transport->ops->cancel(world->transport, cancelled.id);
    world->transport->ops->cancel(world->transport, 0);
    world->transport->ops->cancel(world->transport, UINT64_MAX);
    ask(&after, world, &(struct http_request){.path = "/ok"});
    assert_int_equal(atomic_load(&world->asked), 1);
    assert_false(cancelled.done);
    answer_free(&cancelled);
    answer_free(&after);
}

static void an_old_id_does_not_cancel_what_came_later(void **state) {
    struct world *world = *state;
    struct answer old, fresh;
    ask(&old, world, &(struct http_request){.path = "/ok"});
    answer_init(&fresh, world);
    submit(&fresh, &(struct http_request){.path = "/ok"});
    world->transport->ops->cancel(world->transport, old.id);
    poll_until(world, fresh.done);
    assert_true(old.id != fresh.id);
    answer_free(&old);
    answer_free(&fresh);
}

static void freeing_with_exchanges_under_way_calls_nobody(void **state) {
    struct world *world = *state;
    struct answer running, waiting;
    answer_init(&running, world);
    answer_init(&waiting, world);
    submit(&running, &(struct http_request){.path = "/silent", .stream = true, .stall_ns = CLOCK_MINUTE});
    poll_until(world, running.data.len > 0);
    submit(&waiting, &(struct http_request){.path = "/ok"});
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    assert_false(running.done || waiting.done);
    answer_free(&running);
    answer_free(&waiting);
}

static void submit_again_on_done(struct answer *answer) {
    submit(answer->other, &(struct http_request){.path = "/ok"});
}

static void a_handler_may_submit(void **state) {
    struct world *world = *state;
    struct answer first, second;
    answer_init(&first, world);
    answer_init(&second, world);
    first.other = &second;
    first.on_done = submit_again_on_done;
    submit(&first, &(struct http_request){.path = "/ok"});
    poll_until(world, second.done);
    assert_int_equal(second.outcome, HTTP_ANSWERED);
    assert_int_equal(server_connections(world->server), 1);
    answer_free(&first);
    answer_free(&second);
}

static void expect_token(struct world *world, const char *token) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    AUTO_TEXT header = text_format("\r\nAuthorization: Bearer %s\r\n", token);
    if (!strstr(text_of(&answer.body), header))
        fail_msg("expected %s, the server saw\n%s%s", token, text_of(&answer.body), answer.problem);
    answer_free(&answer);
}

static void a_changed_token_file_counts_after_refresh_and_the_old_token_until_it_can_be_read(void **state) {
    struct world *world = *state;
    world->endpoint.token_file = write_temporary(" one\n");
    connect_world(world);
    expect_token(world, "one");
    rewrite(world->endpoint.token_file, "two\n");
    expect_token(world, "one");
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
    rewrite(world->endpoint.token_file, "bad\r\nX-Injected: yes\n");
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
    unlink(world->endpoint.token_file);
    assert_true(world->transport->ops->refresh(world->transport));
    expect_token(world, "two");
}

static void without_the_token_that_is_needed_nothing_is_sent(void **state) {
    struct world *world = *state;
    world->endpoint.token_file = text_format("/nonexistent/token");
    connect_world(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_non_null(strstr(answer.problem, "/nonexistent/token"));
    assert_int_equal(atomic_load(&world->asked), 0);
    answer_free(&answer);
}

static void there_is_nothing_to_refresh_without_files(void **state) {
    struct world *world = *state;
    world->endpoint.username = strdup("Aladdin");
    world->endpoint.password = strdup("open sesame");
    connect_world(world);
    assert_false(world->transport->ops->refresh(world->transport));
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_non_null(strstr(text_of(&answer.body), "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
    answer_free(&answer);
}

static void no_credentials_go_over_http(void **state) {
    struct world world;
    (void)state;
    world_open(&world);
    world.server = server_start(&(struct server_options){.serve = serve, .ctx = &world});
    world.endpoint.server = text_format("http://127.0.0.1:%u", server_port(world.server));
    world.endpoint.token = strdup("s3cret");
    world.endpoint.token_file = strdup("/nonexistent/token");
    connect_world(&world);
    struct answer answer;
    ask(&answer, &world, &(struct http_request){.path = "/echo"});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_null(strstr(text_of(&answer.body), "Authorization"));
    answer_free(&answer);
    struct world *copy = malloc(sizeof *copy);
    *copy = world;
    teardown((void **)&copy);
}

static void name_of_client(struct world *world, char *out, size_t size) {
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/client"});
    assert_string_equal(answer.problem, "");
    text_copy(out, size, text_of(&answer.body));
    answer_free(&answer);
}

static bool serve_name(void *ctx, struct peer *peer, const char *request) {
    if (!text_has_prefix(request, "GET /client"))
        return serve(ctx, peer, request);
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(peer_name(peer)), peer_name(peer));
    return true;
}

static void a_changed_client_certificate_replaces_the_connections(void **state) {
    struct world *world = *state;
    struct pki_pair one = pki_make(&(struct pki_request){.name = "one", .issuer = &world->ca});
    struct pki_pair two = pki_make(&(struct pki_request){.name = "two", .issuer = &world->ca});
    struct server *server = server_start(&(struct server_options){.cert = world->cert.cert,
                                                                  .key = world->cert.key,
                                                                  .client_ca = world->ca.cert,
                                                                  .serve = serve_name,
                                                                  .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(server));
    world->endpoint.client_cert_pem = strdup(one.cert);
    world->endpoint.client_key_pem = strdup(one.key);
    world->endpoint.client_cert_file = write_temporary(one.cert);
    world->endpoint.client_key_file = write_temporary(one.key);
    connect_world(world);
    char name[64];
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "one");
    struct answer stream;
    answer_init(&stream, world);
    submit(&stream, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, stream.data.len > 0);
    size_t before = server_connections(server);

    rewrite(world->endpoint.client_cert_file, two.cert); // the key is still the other's
    assert_true(world->transport->ops->refresh(world->transport));
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "one");
    assert_false(stream.done);
    rewrite(world->endpoint.client_key_file, two.key);
    assert_true(world->transport->ops->refresh(world->transport));
    name_of_client(world, name, sizeof name);
    assert_string_equal(name, "two");
    assert_true(stream.done);
    assert_int_equal(stream.outcome, HTTP_BROKEN);
    assert_true(server_connections(server) > before);
    poll_until(world, atomic_load(&world->released) == 1);
    answer_free(&stream);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    unlink(world->endpoint.client_cert_file);
    unlink(world->endpoint.client_key_file);
    server_stop(server);
    pki_free(&one);
    pki_free(&two);
}

static void requests_go_through_the_proxy_that_is_given(void **state) {
    struct world *world = *state;
    struct server *proxy = server_start(&(struct server_options){.serve = serve, .ctx = world});
    free(world->endpoint.server);
    world->endpoint.server = strdup("http://api.invalid:8080");
    world->endpoint.proxy_url = text_format("http://user:word@127.0.0.1:%u", server_port(proxy));
    connect_world(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_string_equal(answer.problem, "");
    assert_true(text_has_prefix(text_of(&answer.body), "GET http://api.invalid:8080/echo HTTP/1.1\r\n"));
    assert_non_null(strstr(text_of(&answer.body), "\r\nProxy-Authorization: Basic "));
    answer_free(&answer);
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    server_stop(proxy);
}

static void *wake_later(void *arg) {
    struct world *world = arg;
    sem_wait(&world->gate);
    curl_transport_wakeup(world->transport);
    return NULL;
}

static void a_wakeup_from_another_thread_ends_a_poll(void **state) {
    struct world *world = *state;
    pthread_t thread;
    int64_t begin_ns = clock_now().mono_ns;
    curl_transport_wakeup(world->transport); // also one before the poll
    curl_transport_poll(world->transport, PATIENCE);
    assert_int_equal(pthread_create(&thread, NULL, wake_later, world), 0);
    sem_post(&world->gate);
    curl_transport_poll(world->transport, PATIENCE);
    pthread_join(thread, NULL);
    assert_true(clock_now().mono_ns - begin_ns < PATIENCE);
}

static void an_endpoint_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        struct endpoint endpoint;
        const char *message;
    } cases[] = {
        {{.server = "ftp://host"}, "\"ftp://host\" is neither http nor https, expected a URL like https://host:6443"},
        {{.server = "https://"}, "\"https://\" is not a URL, expected a URL like https://host:6443"},
        {{.server = "https://h?a=b"},
         "\"https://h?a=b\" has a query or a fragment, expected a URL like "
         "https://host:6443"},
        {{.server = "https://h", .tls_server_name = "a b"}, "tls-server-name: found \"a b\", expected a host name"},
        {{.server = "https://h", .proxy_url = "ftp://p", .description = "x.yaml"},
         "x.yaml: proxy-url: found a URL of another kind, expected one that begins with http://, https:// or "
         "socks5://"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transport *transport = NULL;
        struct error *error = curl_transport_new(&cases[i].endpoint, "wharf-test/1", &transport);
        assert_string_equal(error_text(error), cases[i].message);
        assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
    }
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define with_transport(test) cmocka_unit_test_setup_teardown(test, setup_connected, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_transport(answers_are_delivered_as_they_came),
        with_transport(a_redirect_is_an_answer_and_is_not_followed),
        with_world(requests_say_what_they_were_given),
        with_transport(a_large_body_is_sent_whole),
        with_world(compression_is_not_asked_for_in_streams_and_where_it_is_disabled),
        with_transport(one_connection_serves_many_requests),
        with_transport(a_connection_that_the_server_closed_is_replaced),
        with_transport(many_requests_at_once_are_all_answered),
        with_transport(a_stream_is_told_piece_by_piece),
        with_transport(an_error_instead_of_a_stream_has_its_body),
        with_transport(what_is_cut_off_is_broken_and_never_an_answer),
        with_transport(a_body_over_the_limit_ends_the_exchange),
        with_world(a_server_that_cannot_be_reached_was_not_asked),
        with_world(only_the_given_authority_is_trusted),
        with_world(a_certificate_for_another_name_or_time_is_refused),
        with_transport(a_silent_stream_ends_as_stalled),
        with_transport(an_exchange_ends_at_its_time_limit),
        with_transport(a_handler_ends_a_stream_by_refusing_more),
        with_transport(cancelling_from_another_handler_is_silent),
        with_transport(cancelling_oneself_while_being_told_is_silent),
        with_transport(what_is_cancelled_before_it_started_is_never_sent),
        with_transport(an_old_id_does_not_cancel_what_came_later),
        with_transport(freeing_with_exchanges_under_way_calls_nobody),
        with_transport(a_handler_may_submit),
        with_world(a_changed_token_file_counts_after_refresh_and_the_old_token_until_it_can_be_read),
        with_world(without_the_token_that_is_needed_nothing_is_sent),
        with_world(there_is_nothing_to_refresh_without_files),
        cmocka_unit_test(no_credentials_go_over_http),
        with_world(a_changed_client_certificate_replaces_the_connections),
        with_world(requests_go_through_the_proxy_that_is_given),
        with_transport(a_wakeup_from_another_thread_ends_a_poll),
        cmocka_unit_test(an_endpoint_that_makes_no_sense_is_refused),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    struct error *error = curl_transport_setup();
    if (error) {
        fprintf(stderr, "%s\n", error_text(error));
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
