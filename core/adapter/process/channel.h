// SPDX-License-Identifier: Apache-2.0
// The channel between the host and the process of an adapter: frames, each a length (u32) and that many bytes, in one
// or more packets of a SOCK_SEQPACKET, which is faster than a stream. The first byte is the frame's type. Both ends are
// the same build on the same machine: numbers are in its own byte order. All that the host receives is untrusted.
#pragma once

#include "core/base/buffer.h"

#include <stdint.h>

#define CHANNEL_FD 3      // in the process
#define CHANNEL_FILE_FD 4 // the adapter's file, until it is loaded

enum frame_type {
    FRAME_START = 1,  // host: what to load
    FRAME_HELLO,      // process: what was loaded, or why not
    FRAME_CALL,       // host
    FRAME_ANSWER,     // process
    FRAME_LAST_WORDS, // process: why it ends now
    FRAME_LIMIT       // process: the limit at which it ends now
};

// Writing. A buffer that is full or out of memory is seen at the end (buffer.failed).
void wire_put_u8(struct buffer *out, unsigned value);
void wire_put_u32(struct buffer *out, size_t value); // SIZE_MAX fails for values that do not fit
void wire_put_i64(struct buffer *out, int64_t value);
// Room for a u32 that is known later, and where it is.
size_t wire_put_later(struct buffer *out);
void wire_put_at(struct buffer *out, size_t at, size_t value);
void wire_put_bytes(struct buffer *out, const void *bytes, size_t len);
void wire_put_text(struct buffer *out, const char *text); // NULL stays NULL

// Reading. After the first thing that is missing or wrong, all is zero, and `failed` is set.
struct wire {
    const char *at, *end;
    bool failed;
};

struct wire wire_of(const void *bytes, size_t len);
unsigned wire_u8(struct wire *wire);
uint32_t wire_u32(struct wire *wire);
int64_t wire_i64(struct wire *wire);
const char *wire_bytes(struct wire *wire, size_t *len);
const char *wire_text(struct wire *wire);   // within the frame, NUL-terminated; or NULL
bool wire_is_done(const struct wire *wire); // all was read, and nothing was wrong
bool wire_fail(struct wire *wire);          // returns false

// A frame under way. `begin` leaves room for the length.
void frame_begin(struct buffer *out, enum frame_type type);

// Times are clock_ticks(); CLOCK_NEVER blocks in the call itself.
//
enum frame_state {
    FRAME_WHOLE,
    FRAME_LATE,   // not whole by then; goes on with the next call
    FRAME_ENDED,  // the other end is gone
    FRAME_GARBAGE // its length is impossible
};

// Sends a whole frame that frame_begin began; waits for room until `until_ns`. False: the other end is gone, or does
// not read.
bool frame_send(int fd, struct buffer *frame, int64_t until_ns);
// The same from byte *at on, at first 0, as far as it gets until then; `until_ns` 0: what there is room for.
enum frame_state frame_send_part(int fd, struct buffer *frame, size_t *at, int64_t until_ns);

// Receives a frame into `in`, whose content is that of an earlier call, or nothing; a whole one stays as it is.
// `until_ns` 0: only what is there; else the
// descriptor's own timeout (SO_RCVTIMEO) is the smallest wait.
enum frame_state frame_receive(int fd, struct buffer *in, int64_t until_ns);
struct wire frame_content(const struct buffer *frame); // of a whole one: the type comes first
