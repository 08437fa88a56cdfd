// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/net_world.h"

#include "core/base/log.h"

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

// 1 MB of headers. `each`: before each of them, which is a response of its own then.
static bool serve_headers(struct peer *peer, const char *before, const char *each, const char *after) {
    peer_send(peer, "%s", before);
    for (int i = 0; i < 1000; i++)
        peer_send(peer, "%sX-Filler-%d: %01000d\r\n%s", each, i, i, *each ? "\r\n" : "");
    peer_send(peer, "%s", after);
    return false;
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

bool world_serve(void *ctx, struct peer *peer, const char *request) {
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
    if (strncmp(path, "/long-head", len) == 0)
        return serve_headers(peer, "HTTP/1.1 200 OK\r\n", "", "Content-Length: 0\r\n\r\n");
    if (strncmp(path, "/long-trailers", len) == 0)
        return serve_headers(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "", "\r\n");
    if (strncmp(path, "/many-interim", len) == 0)
        return serve_headers(peer, "", "HTTP/1.1 103 Early\r\n", "\r\n");
    if (strncmp(path, "/silent", len) == 0) {
        peer_send(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
        peer_wait_closed(peer);
        atomic_fetch_add(&world->released, 1);
        return false;
    }
    return serve_echo(peer, request);
}

char *write_temporary(const char *content) {
    char *path = text_format("/tmp/wharf-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return path;
}

void rewrite(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
}

void remove_temporary(char *path) {
    unlink(path);
    free(path);
}

static void serve_tls(struct world *world) {
    world->cert = pki_make(
        &(struct pki_request){.name = "server", .names = "DNS:api.example,IP:127.0.0.1", .issuer = &world->ca});
    world->server = server_start(
        &(struct server_options){.cert = world->cert.cert, .key = world->cert.key, .serve = world_serve, .ctx = world});
    world->endpoint.server = text_format("https://127.0.0.1:%u", server_port(world->server));
}

void world_connect(struct world *world) {
    struct error *error = curl_transport_new(&world->endpoint, "wharf-test/1", &world->transport);
    assert_string_equal(error_text(error), "no error");
}

void world_open(struct world *world) {
    *world = (struct world){0};
    sem_init(&world->gate, 0, 0);
    world->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    world->endpoint.ca_pem = strdup(world->ca.cert);
}

int world_setup(void **state) {
    struct world *world = malloc(sizeof *world);
    world_open(world);
    serve_tls(world);
    *state = world;
    return 0;
}

int world_setup_connected(void **state) {
    world_setup(state);
    world_connect(*state);
    return 0;
}

int world_teardown(void **state) {
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

void answer_init(struct answer *answer, struct world *world) {
    *answer = (struct answer){.world = world};
    buffer_init(&answer->body, 1 << 20);
    buffer_init(&answer->data, 1 << 20);
}

void answer_free(struct answer *answer) {
    buffer_free(&answer->body);
    buffer_free(&answer->data);
}

const char *text_of(const struct buffer *buffer) {
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
    assert_int_equal(!result->problem, result->outcome == HTTP_ANSWERED);
    if (answer->on_done)
        answer->on_done(answer);
}

void submit(struct answer *answer, const struct http_request *request) {
    struct transport *transport = answer->world->transport;
    struct http_handler handler = {.opened = on_opened, .data = on_data, .done = on_done, .ctx = answer};
    struct http_request full = *request;
    full.max_body = full.max_body ? full.max_body : 1 << 20;
    answer->id = transport->ops->submit(transport, &full, &handler);
    assert_true(answer->id != 0);
    assert_false(answer->done);
}

// Sends one request and waits for its end.
void ask(struct answer *answer, struct world *world, const struct http_request *request) {
    answer_init(answer, world);
    submit(answer, request);
    poll_until(world, answer->done);
}

bool world_ready(void) {
    log_setup(LOG_TEXT, LOG_ERROR);
    struct error *error = curl_transport_setup();
    if (!error)
        return true;
    fprintf(stderr, "%s\n", error_text(error));
    error_free(error);
    return false;
}
