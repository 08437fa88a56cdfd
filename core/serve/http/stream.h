// SPDX-License-Identifier: Apache-2.0
// Bytes from a producing thread to a client, through a buffer of fixed size. The connection is suspended while there is
// nothing to send, and the producer waits while the buffer is full, so a slow reader holds back its own producer only.
#ifndef WHARF_SERVE_STREAM_H
#define WHARF_SERVE_STREAM_H

#include "core/base/buffer.h"
#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define STREAM_BUFFER ((size_t)64 * 1024)

struct stream;
// Two references: the producer's (stream_end) and the reader's (stream_detach).
struct stream *stream_new(void); // NULL when out of memory

// The producer's side.
// Blocks until everything is in the buffer. False: there is no reader any more.
bool stream_write(struct stream *stream, const void *bytes, size_t len);
// The same without blocking: false, and nothing is written, also if there is no room.
bool stream_offer(struct stream *stream, const void *bytes, size_t len);
// Takes the content of `bytes`, however much it is, if everything before has been read (stream_is_drained), without
// blocking. False: there is no reader any more.
bool stream_push(struct stream *stream, struct buffer *bytes);
bool stream_is_drained(struct stream *stream);
bool stream_is_read(struct stream *stream); // there still is a reader
// `wake` is called, from another thread, when the reader goes away; at once if it has. NULL: no more.
void stream_on_gone(struct stream *stream, void (*wake)(void *ctx), void *ctx);
void stream_end(struct stream *stream); // what is in the buffer is still sent

// The reader's side.
// The reader went away, or must go: the producer is told, what is in the buffer is dropped.
void stream_abandon(struct stream *stream);
void stream_detach(struct stream *stream);

struct stream_reader {
    void (*suspend)(void *ctx);
    void (*resume)(void *ctx);
    void *ctx;
};
void stream_set_reader(struct stream *stream, const struct stream_reader *reader);
// Takes up to `max` bytes. 0: none now: `suspend(ctx)` was called, and `resume(ctx)` will be. -1: the end.
// -2: abandoned.
ptrdiff_t stream_read(struct stream *stream, char *out, size_t max);

#endif
