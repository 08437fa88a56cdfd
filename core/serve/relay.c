// SPDX-License-Identifier: Apache-2.0
#include "core/serve/relay.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define SIZE ((size_t)16 * 1024)
#define POLL_MS 200 // between looks at `stop`

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

// Moves what it can. False: one of the sides is over, and what came from it was passed on.
static bool to_tunnel(struct pipe *pipe, int client, struct tunnel *tunnel, bool *moved) {
    ptrdiff_t count = 0;
    if (pipe->start == pipe->end) {
        pipe->start = pipe->end = 0;
        count = client_read(client, pipe->bytes, SIZE);
        if (count < 0)
            return false;
        pipe->end = (size_t)count;
    }
    ptrdiff_t sent =
        pipe->start < pipe->end ? tunnel_write(tunnel, pipe->bytes + pipe->start, pipe->end - pipe->start) : 0;
    if (sent < 0)
        return false;
    pipe->start += (size_t)sent;
    *moved = *moved || count > 0 || sent > 0;
    return true;
}

static bool to_client(struct pipe *pipe, int client, struct tunnel *tunnel, bool *moved) {
    ptrdiff_t count = 0;
    if (pipe->start == pipe->end) {
        pipe->start = pipe->end = 0;
        count = tunnel_read(tunnel, pipe->bytes, SIZE);
        if (count < 0)
            return false;
        pipe->end = (size_t)count;
    }
    ptrdiff_t sent =
        pipe->start < pipe->end ? client_write(client, pipe->bytes + pipe->start, pipe->end - pipe->start) : 0;
    if (sent < 0)
        return false;
    pipe->start += (size_t)sent;
    *moved = *moved || count > 0 || sent > 0;
    return true;
}

static bool is_full(const struct pipe *pipe) {
    return pipe->start < pipe->end;
}

// While one direction cannot be written, its source is not waited for: it would be ready all the time.
static void wait_for(const struct pipe *up, const struct pipe *down, int client, int server) {
    struct pollfd polled[] = {
        {.fd = client, .events = (short)((is_full(up) ? 0 : POLLIN) | (is_full(down) ? POLLOUT : 0))},
        {.fd = server, .events = (short)((is_full(down) ? 0 : POLLIN) | (is_full(up) ? POLLOUT : 0))},
    };
    (void)poll(polled, 2, POLL_MS);
}

void relay_run(int client, const void *early, size_t early_len, struct tunnel *tunnel, const atomic_bool *stop) {
    struct pipe up = {.start = 0}, down = {.start = 0};
    const char *rest = early;
    while (early_len > 0 && !atomic_load(stop)) {
        ptrdiff_t sent = tunnel_write(tunnel, rest, early_len);
        if (sent < 0)
            return;
        rest += sent;
        early_len -= (size_t)sent;
        if (early_len > 0)
            (void)poll(&(struct pollfd){.fd = tunnel_socket(tunnel), .events = POLLOUT}, 1, POLL_MS);
    }
    while (!atomic_load(stop)) {
        bool moved = false;
        if (!to_tunnel(&up, client, tunnel, &moved) || !to_client(&down, client, tunnel, &moved))
            return;
        if (!moved)
            wait_for(&up, &down, client, tunnel_socket(tunnel));
    }
}
