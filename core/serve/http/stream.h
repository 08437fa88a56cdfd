// SPDX-License-Identifier: Apache-2.0
// Bytes from a producing thread to the thread of a connection, through a ring of fixed size. The producer waits while
// the ring is full, so a slow client holds back one producer only.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define STREAM_BUFFER ((size_t)64 * 1024)

struct stream;
struct error *stream_new(struct stream **out);
void stream_free(struct stream *stream); // once both threads are done with the stream; NULL is fine

// The producer's side.
// The answer is decided: stream_wait returns.
void stream_begin(struct stream *stream);
// Blocks until all bytes are in the ring. False: the client is gone.
bool stream_write(struct stream *stream, const void *bytes, size_t len);
bool stream_is_read(struct stream *stream); // false: the client is gone
// The reader's thread calls `wake` when the client goes away; at once if the client is gone already. NULL: no more.
void stream_on_gone(struct stream *stream, void (*wake)(void *ctx), void *ctx);
void stream_end(struct stream *stream); // the client still gets the rest of the ring

// The reader's side.
void stream_wait(struct stream *stream); // for stream_begin or stream_end
// Blocks until there are bytes, and reads up to `max`. -1: the end. -2: abandoned, or the peer of the socket `client`
// closed the connection.
ptrdiff_t stream_read(struct stream *stream, int client, char *out, size_t max);
// The client is gone, or has to go.
void stream_abandon(struct stream *stream);
