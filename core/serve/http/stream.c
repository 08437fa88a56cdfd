// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"
#include "core/serve/http/net.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

// The kernel doubles the number, and counts its own data too.
#define BUFFER_BYTES (32 * 1024)

struct stream {
    pthread_mutex_t lock;
    pthread_cond_t changed; // the answer is decided
    int reader, producer;   // the ends of a pair of sockets
    bool decided, abandoned;
    void (*wake)(void *ctx);
    void *wake_ctx;
};

struct error *stream_new(struct stream **out) {
    int ends[2];
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return error_no_memory();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(stream);
        return error_new(ERROR_IO, "cannot open a stream: %s", strerror(errno));
    }
    (void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &(int){BUFFER_BYTES}, sizeof(int));
    stream->reader = ends[0];
    stream->producer = ends[1];
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    *out = stream;
    return NULL;
}

void stream_free(struct stream *stream) {
    if (!stream)
        return;
    close(stream->reader);
    close(stream->producer);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

bool stream_write(struct stream *stream, const void *bytes, size_t len) {
    for (const char *at = bytes; len > 0;) {
        ssize_t sent = send(stream->producer, at, len, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        at += sent > 0 ? sent : 0;
        len -= sent > 0 ? (size_t)sent : 0;
    }
    return stream_is_read(stream);
}

bool stream_is_read(struct stream *stream) {
    AUTO_LOCK(&stream->lock);
    return !stream->abandoned;
}

void stream_on_gone(struct stream *stream, void (*wake)(void *ctx), void *ctx) {
    AUTO_LOCK(&stream->lock);
    stream->wake = wake;
    stream->wake_ctx = ctx;
    if (stream->abandoned && wake)
        wake(ctx);
}

void stream_begin(struct stream *stream) {
    AUTO_LOCK(&stream->lock);
    stream->decided = true;
    pthread_cond_broadcast(&stream->changed);
}

void stream_end(struct stream *stream) {
    (void)shutdown(stream->producer, SHUT_WR);
    stream_begin(stream);
}

void stream_wait(struct stream *stream) {
    AUTO_LOCK(&stream->lock);
    while (!stream->decided)
        pthread_cond_wait(&stream->changed, &stream->lock);
}

void stream_abandon(struct stream *stream) {
    AUTO_LOCK(&stream->lock);
    stream->abandoned = true;
    (void)shutdown(stream->reader, SHUT_RDWR); // ends a write that waits
    if (stream->wake)
        stream->wake(stream->wake_ctx);
}

ptrdiff_t stream_read(struct stream *stream, int client, char *out, size_t max) {
    while (stream_is_read(stream)) {
        ssize_t len = recv(stream->reader, out, max, MSG_DONTWAIT);
        if (len >= 0)
            return len > 0 ? len : -1;
        struct pollfd polled[] = {{.fd = stream->reader, .events = POLLIN}, {.fd = client, .events = POLLRDHUP}};
        (void)poll(polled, 2, -1);
        if (polled[1].revents != 0)
            stream_abandon(stream);
    }
    return -2;
}
