// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/stream.h"

#include "core/base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    pthread_mutex_t lock;
    pthread_cond_t room;
    unsigned references;
    size_t start, len; // of what is in `data`, a ring
    struct buffer pushed;
    size_t pushed_read;
    bool suspended, ended, abandoned;
    struct stream_reader reader;
    void (*wake)(void *ctx);
    void *wake_ctx;
    char data[STREAM_BUFFER];
};

struct stream *stream_new(void) {
    struct stream *stream = malloc(sizeof *stream);
    if (!stream)
        return NULL;
    memset(stream, 0, offsetof(struct stream, data));
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->room, NULL);
    stream->references = 2;
    return stream;
}

// Unlocks.
static void release(struct stream *stream) {
    bool last = --stream->references == 0;
    pthread_mutex_unlock(&stream->lock);
    if (!last)
        return;
    pthread_cond_destroy(&stream->room);
    pthread_mutex_destroy(&stream->lock);
    buffer_free(&stream->pushed);
    free(stream);
}

static void resume(struct stream *stream) {
    if (!stream->suspended)
        return;
    stream->suspended = false;
    stream->reader.resume(stream->reader.ctx);
}

static size_t put(struct stream *stream, const char *bytes, size_t len) {
    len = size_least(len, STREAM_BUFFER - stream->len);
    size_t end = (stream->start + stream->len) % STREAM_BUFFER;
    size_t first = size_least(len, STREAM_BUFFER - end);
    memcpy(stream->data + end, bytes, first);
    memcpy(stream->data, bytes + first, len - first);
    stream->len += len;
    return len;
}

bool stream_write(struct stream *stream, const void *bytes, size_t len) {
    const char *at = bytes;
    pthread_mutex_lock(&stream->lock);
    while (len > 0 && !stream->abandoned) {
        while (stream->len == STREAM_BUFFER && !stream->abandoned)
            pthread_cond_wait(&stream->room, &stream->lock);
        size_t taken = stream->abandoned ? len : put(stream, at, len);
        at += taken;
        len -= taken;
        resume(stream);
    }
    bool ok = !stream->abandoned;
    pthread_mutex_unlock(&stream->lock);
    return ok;
}

bool stream_offer(struct stream *stream, const void *bytes, size_t len) {
    pthread_mutex_lock(&stream->lock);
    bool ok = !stream->abandoned && len <= STREAM_BUFFER - stream->len;
    if (ok && len > 0) {
        (void)put(stream, bytes, len);
        resume(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    return ok;
}

// Under the lock.
static bool is_drained(const struct stream *stream) {
    return stream->len == 0 && stream->pushed_read == stream->pushed.len;
}

bool stream_push(struct stream *stream, struct buffer *bytes) {
    pthread_mutex_lock(&stream->lock);
    bool ok = !stream->abandoned;
    if (ok && is_drained(stream)) {
        buffer_free(&stream->pushed);
        stream->pushed = *bytes;
        stream->pushed_read = 0;
        *bytes = (struct buffer){.max = bytes->max};
        resume(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    return ok;
}

bool stream_is_drained(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    bool drained = is_drained(stream);
    pthread_mutex_unlock(&stream->lock);
    return drained;
}

bool stream_is_read(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    bool read = !stream->abandoned;
    pthread_mutex_unlock(&stream->lock);
    return read;
}

void stream_on_gone(struct stream *stream, void (*wake)(void *ctx), void *ctx) {
    pthread_mutex_lock(&stream->lock);
    stream->wake = wake;
    stream->wake_ctx = ctx;
    if (stream->abandoned && wake)
        wake(ctx);
    pthread_mutex_unlock(&stream->lock);
}

void stream_end(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->ended = true;
    stream->wake = NULL;
    resume(stream);
    release(stream);
}

void stream_abandon(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    if (!stream->abandoned) {
        stream->abandoned = true;
        pthread_cond_broadcast(&stream->room);
        if (stream->wake)
            stream->wake(stream->wake_ctx);
        resume(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void stream_detach(struct stream *stream) {
    stream_abandon(stream);
    pthread_mutex_lock(&stream->lock);
    release(stream);
}

void stream_set_reader(struct stream *stream, const struct stream_reader *reader) {
    pthread_mutex_lock(&stream->lock);
    stream->reader = *reader;
    pthread_mutex_unlock(&stream->lock);
}

static size_t take(struct stream *stream, char *out, size_t max) {
    size_t len = size_least(stream->len, max);
    size_t first = size_least(len, STREAM_BUFFER - stream->start);
    memcpy(out, stream->data + stream->start, first);
    memcpy(out + first, stream->data, len - first);
    stream->start = (stream->start + len) % STREAM_BUFFER;
    stream->len -= len;
    pthread_cond_signal(&stream->room);
    return len;
}

static size_t take_pushed(struct stream *stream, char *out, size_t max) {
    size_t len = size_least(stream->pushed.len - stream->pushed_read, max);
    memcpy(out, stream->pushed.data + stream->pushed_read, len);
    stream->pushed_read += len;
    if (stream->pushed_read == stream->pushed.len) {
        buffer_free(&stream->pushed);
        stream->pushed_read = 0;
    }
    return len;
}

ptrdiff_t stream_read(struct stream *stream, char *out, size_t max) {
    ptrdiff_t result = 0;
    pthread_mutex_lock(&stream->lock);
    if (stream->abandoned)
        result = -2;
    else if (stream->len > 0)
        result = (ptrdiff_t)take(stream, out, max);
    else if (stream->pushed.len > 0)
        result = (ptrdiff_t)take_pushed(stream, out, max);
    else if (stream->ended)
        result = -1;
    else {
        stream->suspended = true;
        stream->reader.suspend(stream->reader.ctx);
    }
    pthread_mutex_unlock(&stream->lock);
    return result;
}
