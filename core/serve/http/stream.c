// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include "core/base/memory.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct stream {
    pthread_mutex_t lock;
    pthread_cond_t changed; // there is space in the ring, or the answer is decided
    int filled_fd;          // an eventfd: there is something for the reader
    size_t start, len;      // of the bytes in `data`
    bool begun, ended, abandoned;
    void (*wake)(void *ctx);
    void *wake_ctx;
    char data[STREAM_BUFFER];
};

struct error *stream_new(struct stream **out) {
    struct stream *stream = malloc(sizeof *stream);
    if (!stream)
        return error_no_memory();
    memset(stream, 0, offsetof(struct stream, data));
    stream->filled_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stream->filled_fd < 0) {
        free(stream);
        return error_new(ERROR_IO, "cannot open a stream: %s", strerror(errno));
    }
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    *out = stream;
    return NULL;
}

void stream_free(struct stream *stream) {
    if (!stream)
        return;
    close(stream->filled_fd);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

static size_t put_bytes(struct stream *stream, const char *bytes, size_t len) {
    len = size_least(len, STREAM_BUFFER - stream->len);
    size_t end = (stream->start + stream->len) % STREAM_BUFFER;
    size_t first = size_least(len, STREAM_BUFFER - end);
    memcpy(stream->data + end, bytes, first);
    memcpy(stream->data, bytes + first, len - first);
    stream->len += len;
    (void)eventfd_write(stream->filled_fd, 1);
    return len;
}

bool stream_write(struct stream *stream, const void *bytes, size_t len) {
    const char *at = bytes;
    AUTO_LOCK(&stream->lock);
    while (len > 0 && !stream->abandoned) {
        size_t taken = put_bytes(stream, at, len);
        at += taken;
        len -= taken;
        if (len > 0)
            pthread_cond_wait(&stream->changed, &stream->lock);
    }
    return !stream->abandoned;
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

static void set_flag(struct stream *stream, bool *flag) {
    AUTO_LOCK(&stream->lock);
    *flag = true;
    pthread_cond_broadcast(&stream->changed);
    (void)eventfd_write(stream->filled_fd, 1);
    if (flag == &stream->abandoned && stream->wake)
        stream->wake(stream->wake_ctx);
}

void stream_begin(struct stream *stream) {
    set_flag(stream, &stream->begun);
}

void stream_end(struct stream *stream) {
    set_flag(stream, &stream->ended);
}

void stream_wait(struct stream *stream) {
    AUTO_LOCK(&stream->lock);
    while (!stream->begun && !stream->ended)
        pthread_cond_wait(&stream->changed, &stream->lock);
}

void stream_abandon(struct stream *stream) {
    set_flag(stream, &stream->abandoned);
}

static size_t take_bytes(struct stream *stream, char *out, size_t max) {
    size_t len = size_least(stream->len, max);
    size_t first = size_least(len, STREAM_BUFFER - stream->start);
    memcpy(out, stream->data + stream->start, first);
    memcpy(out + first, stream->data, len - first);
    stream->start = (stream->start + len) % STREAM_BUFFER;
    stream->len -= len;
    pthread_cond_signal(&stream->changed);
    return len;
}

// 0: nothing yet.
static ptrdiff_t read_now(struct stream *stream, char *out, size_t max) {
    eventfd_t count;
    AUTO_LOCK(&stream->lock);
    (void)eventfd_read(stream->filled_fd, &count);
    if (stream->abandoned)
        return -2;
    if (stream->len > 0)
        return (ptrdiff_t)take_bytes(stream, out, max);
    return stream->ended ? -1 : 0;
}

ptrdiff_t stream_read(struct stream *stream, int client, char *out, size_t max) {
    ptrdiff_t result;
    while ((result = read_now(stream, out, max)) == 0) {
        struct pollfd polled[] = {{.fd = stream->filled_fd, .events = POLLIN}, {.fd = client, .events = POLLRDHUP}};
        (void)poll(polled, 2, -1);
        if (polled[1].revents != 0)
            stream_abandon(stream);
    }
    return result;
}
