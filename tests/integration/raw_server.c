// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/raw_server.h"
#include "core/base/clock.h"
#include "core/base/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)100 << 20)
#define BLOCK ((size_t)1 << 20)

struct raw_server {
    const struct raw_case *raw;
    struct server *server;
    struct world_cluster *cluster;
    pthread_mutex_t lock; // of the cluster
    pthread_t stepper;
    atomic_bool stopping, healed;
    atomic_size_t hits;
};

void raw_send_json(struct peer *peer, const char *body) {
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body),
              body);
}

static void send_block(struct peer *peer, size_t len, char c) {
    size_t size = len < BLOCK ? len : BLOCK;
    char *block = malloc(size);
    if (!block)
        abort();
    memset(block, c, size);
    for (; len > 0 && !peer_is_gone(peer); len -= len < size ? len : size)
        peer_send_bytes(peer, block, len < size ? len : size);
    free(block);
}

void raw_send_huge(struct peer *peer, const struct raw_case *raw) {
    const char *mark = strstr(raw->detail, "%s");
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    peer_send_bytes(peer, raw->detail, (size_t)(mark - raw->detail));
    peer_send(peer, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"huge\",\"namespace\":"
                    "\"default\",\"uid\":\"u\",\"resourceVersion\":\"1\",\"annotations\":{\"a\":\"");
    send_block(peer, HUGE_BYTES, 'x');
    peer_send(peer, "\"}}}%s", mark + 2);
}

void raw_send_endless_head(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    peer_send(peer, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1000 && !peer_is_gone(peer); i++) {
        peer_send(peer, "X-Filler-%d: ", i);
        send_block(peer, 10000, 'h');
        peer_send(peer, "\r\n");
    }
    raw_send_json(peer, "{}");
}

void raw_send_deep(struct peer *peer, const struct raw_case *raw) {
    (void)raw;
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n");
    send_block(peer, 100000, '[');
}

struct parsed {
    char method[8];
    char *path;
    char *type;
    const char *body;
};

// The value of a header, copied; NULL if it is not there.
static char *header(const char *head, const char *name) {
    const char *at = strcasestr(head, name);
    if (!at)
        return NULL;
    at += strlen(name);
    at += strspn(at, " ");
    return strndup(at, strcspn(at, "\r"));
}

static bool parse(const char *request, struct parsed *out) {
    size_t method = strcspn(request, " ");
    const char *end = strstr(request, "\r\n\r\n");
    if (method >= sizeof out->method || !end)
        return false;
    memcpy(out->method, request, method);
    out->method[method] = '\0';
    const char *path = request + method + 1;
    out->path = strndup(path, strcspn(path, " "));
    out->type = header(request, "\r\nContent-Type:");
    out->body = end + 4;
    return out->path;
}

static enum raw_stage stage_of(const struct parsed *parsed, const struct world_request *request) {
    if (strcmp(parsed->method, "GET") != 0)
        return RAW_WRITE;
    if (world_is_watch(request))
        return RAW_WATCH;
    return strstr(parsed->path, "/jobs") ? RAW_LIST : RAW_DISCOVERY;
}

static void spoil(struct raw_server *server, struct peer *peer) {
    const struct raw_case *raw = server->raw;
    if (raw->answer)
        peer_send_bytes(peer, raw->answer, strlen(raw->answer));
    else
        raw->spoil(peer, raw);
    atomic_fetch_add(&server->hits, 1);
}

static void answer(struct raw_server *server, struct peer *peer, const struct world_request *request, bool spoiled) {
    struct world_response response;
    pthread_mutex_lock(&server->lock);
    world_request(server->cluster, request, clock_now().wall_ns, &response);
    pthread_mutex_unlock(&server->lock);
    if (spoiled)
        spoil(server, peer);
    else
        peer_send(peer, "HTTP/1.1 %d Whatever\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", response.status,
                  response.content_type, response.body_len, response.body);
    world_response_clear(&response);
}

static void ignore(void *ctx) {
    (void)ctx;
}

// Polls for frames until the server or the stream ends.
static void stream(struct raw_server *server, struct peer *peer, const char *path) {
    struct world_response refused;
    pthread_mutex_lock(&server->lock);
    struct world_watch *watch = world_watch(server->cluster, path, clock_now().wall_ns, ignore, NULL, &refused);
    pthread_mutex_unlock(&server->lock);
    if (!watch) {
        peer_send(peer, "HTTP/1.1 %d Whatever\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", refused.status,
                  refused.content_type, refused.body_len, refused.body);
        world_response_clear(&refused);
        return;
    }
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    AUTO_BUFFER(out, 64 << 20);
    for (bool ended = false; !ended && !atomic_load(&server->stopping); usleep(5000)) {
        buffer_reset(&out);
        pthread_mutex_lock(&server->lock);
        world_watch_read(watch, &out, 65536, clock_now().wall_ns);
        ended = out.len == 0 && world_watch_ended(watch);
        pthread_mutex_unlock(&server->lock);
        if (out.len > 0)
            peer_send_bytes(peer, out.data, out.len);
    }
    pthread_mutex_lock(&server->lock);
    world_watch_close(watch);
    pthread_mutex_unlock(&server->lock);
}

static bool serve(void *ctx, struct peer *peer, const char *text) {
    struct raw_server *server = ctx;
    struct parsed parsed = {.path = NULL};
    if (!parse(text, &parsed))
        return false;
    struct world_request request = {.method = parsed.method,
                                    .path = parsed.path,
                                    .content_type = parsed.type,
                                    .body = parsed.body,
                                    .body_len = strlen(parsed.body)};
    enum raw_stage stage = stage_of(&parsed, &request);
    bool spoiled = stage == server->raw->stage && !atomic_load(&server->healed);
    bool streams = stage == RAW_WATCH && !spoiled;
    if (streams)
        stream(server, peer, parsed.path);
    else if (spoiled && stage != RAW_WRITE)
        spoil(server, peer);
    else
        answer(server, peer, &request, spoiled);
    free(parsed.path);
    free(parsed.type);
    return !streams && !spoiled;
}

static void *step(void *arg) {
    struct raw_server *server = arg;
    for (; !atomic_load(&server->stopping); usleep(10000)) {
        pthread_mutex_lock(&server->lock);
        world_step(server->cluster, clock_now().wall_ns);
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

struct raw_server *raw_start(const struct raw_case *raw) {
    struct raw_server *server = calloc(1, sizeof *server);
    if (!server)
        abort();
    struct world_options options = {.name = raw->name,
                                    .seed = text_hash(TEXT_HASH, raw->name), // and with it the uid of kube-system
                                    .no_watch_list = raw->stage == RAW_LIST,
                                    .pod_start_ns = 40 * CLOCK_MS,
                                    .pod_run_ns = 200 * CLOCK_MS};
    server->raw = raw;
    server->cluster = world_new(&options, clock_now().wall_ns);
    pthread_mutex_init(&server->lock, NULL);
    server->server = server_start(&(struct server_options){.serve = serve, .ctx = server});
    if (pthread_create(&server->stepper, NULL, step, server) != 0)
        abort();
    return server;
}

void raw_stop(struct raw_server *server) {
    if (!server)
        return;
    atomic_store(&server->stopping, true);
    server_stop(server->server);
    pthread_join(server->stepper, NULL);
    world_free(server->cluster);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

unsigned raw_port(const struct raw_server *server) {
    return server_port(server->server);
}

size_t raw_hits(struct raw_server *server) {
    return atomic_load(&server->hits);
}

void raw_heal(struct raw_server *server) {
    atomic_store(&server->healed, true);
}

size_t raw_jobs(struct raw_server *server) {
    pthread_mutex_lock(&server->lock);
    size_t count = world_count(server->cluster, "batch", "jobs");
    pthread_mutex_unlock(&server->lock);
    return count;
}

void raw_let_end(struct raw_server *server) {
    pthread_mutex_lock(&server->lock);
    world_let_end(server->cluster, true, clock_now().wall_ns);
    pthread_mutex_unlock(&server->lock);
}

uint64_t raw_creates(struct raw_server *server) {
    pthread_mutex_lock(&server->lock);
    uint64_t count = world_counts(server->cluster)->writes[WORLD_CREATE];
    pthread_mutex_unlock(&server->lock);
    return count;
}
