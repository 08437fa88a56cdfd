// SPDX-License-Identifier: Apache-2.0
#include "core/serve/pods/relay.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/kube/transport/websocket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define SIZE ((size_t)16 * 1024)
#define POLL_MS 200               // between checks of `stop`
#define CLOSE_POLICY 1008         // RFC 6455 section 7.4.1
#define END_NS (2 * CLOCK_SECOND) // for the rest of a frame

struct pipe { // one direction
    size_t start, end;
    char bytes[SIZE];
};

static ptrdiff_t result_of(ssize_t count) {
    if (count < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    return count;
}

static ptrdiff_t client_read(int client, void *bytes, size_t len) {
    ssize_t count = recv(client, bytes, len, MSG_DONTWAIT);
    return count == 0 ? -1 : result_of(count);
}

static ptrdiff_t client_write(int client, const void *bytes, size_t len) {
    return result_of(send(client, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// Reads into an empty pipe. False: the source has ended.
static bool fill_pipe(struct pipe *pipe, int client, struct tunnel *tunnel) {
    if (pipe->start < pipe->end)
        return true;
    ptrdiff_t count = tunnel ? tunnel_read(tunnel, pipe->bytes, SIZE) : client_read(client, pipe->bytes, SIZE);
    pipe->start = 0;
    pipe->end = count > 0 ? (size_t)count : 0;
    return count >= 0;
}

// Moves bytes without blocking. False: one of the sides has ended, after all of that side's bytes.
static bool to_tunnel(struct pipe *pipe, int client, struct tunnel *tunnel, bool *moved) {
    if (!fill_pipe(pipe, client, NULL))
        return false;
    size_t len = pipe->end - pipe->start;
    ptrdiff_t sent = len > 0 ? tunnel_write(tunnel, pipe->bytes + pipe->start, len) : 0;
    pipe->start += sent > 0 ? (size_t)sent : 0;
    *moved = *moved || sent > 0;
    return sent >= 0;
}

static bool to_client(struct pipe *pipe, size_t max, const struct relay *relay, struct websocket_frames *frames,
                      bool *moved) {
    if (!fill_pipe(pipe, relay->client, relay->tunnel))
        return false;
    size_t len = size_least(pipe->end - pipe->start, max);
    ptrdiff_t sent = len > 0 ? client_write(relay->client, pipe->bytes + pipe->start, len) : 0;
    if (sent < 0)
        return false;
    websocket_frames_pass(frames, pipe->bytes + pipe->start, (size_t)sent);
    pipe->start += (size_t)sent;
    *moved = *moved || sent > 0;
    return true;
}

static bool is_full(const struct pipe *pipe) {
    return pipe->start < pipe->end;
}

// While one direction is blocked, poll() excludes the source, which would be ready all the time.
static void wait_for(const struct pipe *up, const struct pipe *down, int client, int server) {
    struct pollfd polled[] = {
        {.fd = client, .events = (short)((is_full(up) ? 0 : POLLIN) | (is_full(down) ? POLLOUT : 0))},
        {.fd = server, .events = (short)((is_full(down) ? 0 : POLLIN) | (is_full(up) ? POLLOUT : 0))},
    };
    (void)poll(polled, 2, POLL_MS);
}

// The rest of the frame that has begun. False: the rest does not come, or cannot be sent.
static bool end_frame(const struct relay *relay, struct pipe *pipe, struct websocket_frames *frames) {
    int64_t until_ns = clock_now().mono_ns + END_NS;
    for (uint64_t rest; (rest = websocket_frames_rest(frames)) > 0;) {
        bool moved = false;
        if (!to_client(pipe, rest < SIZE ? (size_t)rest : SIZE, relay, frames, &moved) ||
            clock_now().mono_ns > until_ns)
            return false;
        if (!moved)
            wait_for(&(struct pipe){.start = 0}, pipe, relay->client, tunnel_socket(relay->tunnel));
    }
    return true;
}

static void send_lost_grant(const struct relay *relay, struct pipe *pipe, struct websocket_frames *frames) {
    AUTO_BUFFER(close, 256);
    if (!end_frame(relay, pipe, frames))
        return;
    websocket_put_close(&close, CLOSE_POLICY, grant_reason(relay->grant));
    if (!close.failed)
        (void)client_write(relay->client, close.data, close.len);
}

static bool is_over(const struct relay *relay) {
    return atomic_load(relay->stop) || grant_is_lost(relay->grant);
}

static bool send_early(const struct relay *relay) {
    const char *at = relay->early;
    for (size_t rest = relay->early_len; rest > 0;) {
        ptrdiff_t sent = is_over(relay) ? -1 : tunnel_write(relay->tunnel, at, rest);
        if (sent < 0)
            return false;
        at += sent;
        rest -= (size_t)sent;
        if (rest > 0)
            (void)poll(&(struct pollfd){.fd = tunnel_socket(relay->tunnel), .events = POLLOUT}, 1, POLL_MS);
    }
    return true;
}

void relay_run(const struct relay *relay) {
    struct pipe up = {.start = 0}, down = {.start = 0};
    struct websocket_frames frames = {.head_len = 0};
    bool open = send_early(relay);
    while (open && !is_over(relay)) {
        bool moved = false;
        open = to_tunnel(&up, relay->client, relay->tunnel, &moved) && to_client(&down, SIZE, relay, &frames, &moved);
        if (open && !moved)
            wait_for(&up, &down, relay->client, tunnel_socket(relay->tunnel));
    }
    if (grant_is_lost(relay->grant))
        send_lost_grant(relay, &down, &frames);
}
