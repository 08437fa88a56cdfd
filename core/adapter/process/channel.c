// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/channel.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define NO_TEXT UINT32_MAX
#define CHUNK ((size_t)16 << 10) // of one packet
#define FRAME_MAX ((size_t)1 << 30)
#define LENGTH sizeof(uint32_t)

// -- writing --

void wire_put_u8(struct buffer *out, unsigned value) {
    buffer_char(out, (char)value);
}

void wire_put_u32(struct buffer *out, size_t value) {
    uint32_t number = (uint32_t)value;
    buffer_append(out, &number, sizeof number);
    out->failed |= number != value;
}

size_t wire_put_later(struct buffer *out) {
    size_t at = out->len;
    wire_put_u32(out, 0);
    return at;
}

void wire_put_at(struct buffer *out, size_t at, size_t value) {
    uint32_t number = (uint32_t)value;
    out->failed |= number != value;
    if (!out->failed)
        memcpy(out->data + at, &number, sizeof number);
}

void wire_put_i64(struct buffer *out, int64_t value) {
    buffer_append(out, &value, sizeof value);
}

void wire_put_bytes(struct buffer *out, const void *bytes, size_t len) {
    wire_put_u32(out, len);
    buffer_append(out, bytes, len);
}

void wire_put_text(struct buffer *out, const char *text) {
    if (text)
        wire_put_bytes(out, text, strlen(text) + 1);
    else
        wire_put_u32(out, NO_TEXT);
}

// -- reading --

struct wire wire_of(const void *bytes, size_t len) {
    return (struct wire){.at = bytes, .end = (const char *)bytes + len};
}

bool wire_fail(struct wire *wire) {
    wire->failed = true;
    wire->at = wire->end;
    return false;
}

static const char *take_bytes(struct wire *wire, size_t len) {
    if (wire->failed || (size_t)(wire->end - wire->at) < len) {
        wire_fail(wire);
        return NULL;
    }
    const char *bytes = wire->at;
    wire->at += len;
    return bytes;
}

static bool take(struct wire *wire, void *out, size_t len) {
    const char *bytes = take_bytes(wire, len);
    if (bytes)
        memcpy(out, bytes, len);
    return bytes;
}

unsigned wire_u8(struct wire *wire) {
    unsigned char value = 0;
    return take(wire, &value, sizeof value) ? value : 0;
}

uint32_t wire_u32(struct wire *wire) {
    uint32_t value = 0;
    return take(wire, &value, sizeof value) ? value : 0;
}

int64_t wire_i64(struct wire *wire) {
    int64_t value = 0;
    return take(wire, &value, sizeof value) ? value : 0;
}

const char *wire_bytes(struct wire *wire, size_t *len) {
    *len = wire_u32(wire);
    const char *bytes = take_bytes(wire, *len);
    *len = bytes ? *len : 0;
    return bytes;
}

const char *wire_text(struct wire *wire) {
    size_t len = wire_u32(wire);
    const char *text = wire->failed || len == NO_TEXT ? NULL : take_bytes(wire, len);
    if (text && (len == 0 || memchr(text, '\0', len) != text + len - 1)) {
        wire_fail(wire);
        return NULL;
    }
    return text;
}

bool wire_is_done(const struct wire *wire) {
    return !wire->failed && wire->at == wire->end;
}

// -- frames --

void frame_begin(struct buffer *out, enum frame_type type) {
    buffer_reset(out);
    wire_put_u32(out, 0);
    wire_put_u8(out, type);
}

// CLOCK_NEVER is a blocking call: the process of an adapter must not poll.
static int flags_of(int64_t until_ns) {
    return until_ns == CLOCK_NEVER ? 0 : MSG_DONTWAIT;
}

// Waits for room. False: not by then.
static bool wait_for_room(int fd, int64_t until_ns) {
    for (;;) {
        int64_t left_ns = until_ns - clock_ticks();
        if (until_ns == 0 || left_ns <= 0)
            return false;
        struct timespec timeout = {left_ns / CLOCK_SECOND, left_ns % CLOCK_SECOND};
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        int ready = ppoll(&polled, 1, &timeout, NULL);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

enum frame_state frame_send_part(int fd, struct buffer *frame, size_t *at, int64_t until_ns) {
    if (frame->failed || frame->len - LENGTH > FRAME_MAX)
        return FRAME_GARBAGE;
    uint32_t len = (uint32_t)(frame->len - LENGTH);
    memcpy(frame->data, &len, sizeof len);
    while (*at < frame->len) {
        ssize_t sent =
            send(fd, frame->data + *at, size_least(frame->len - *at, CHUNK), MSG_NOSIGNAL | flags_of(until_ns));
        if (sent >= 0)
            *at += (size_t)sent;
        else if (errno == EAGAIN && !wait_for_room(fd, until_ns))
            return FRAME_LATE;
        else if (errno != EAGAIN && errno != EINTR)
            return FRAME_ENDED;
    }
    return FRAME_WHOLE;
}

bool frame_send(int fd, struct buffer *frame, int64_t until_ns) {
    size_t at = 0;
    return frame_send_part(fd, frame, &at, until_ns) == FRAME_WHOLE;
}

static enum frame_state state_of(const struct buffer *in) {
    uint32_t len = 0;
    if (in->len < LENGTH)
        return FRAME_LATE;
    memcpy(&len, in->data, sizeof len);
    if (len == 0 || len > in->max - LENGTH || in->len - LENGTH > len)
        return FRAME_GARBAGE;
    return in->len - LENGTH == len ? FRAME_WHOLE : FRAME_LATE;
}

enum frame_state frame_receive(int fd, struct buffer *in, int64_t until_ns) {
    char chunk[CHUNK];
    enum frame_state known = state_of(in);
    if (known != FRAME_LATE)
        return known;
    for (;;) {
        ssize_t got = recv(fd, chunk, sizeof chunk, until_ns == 0 ? MSG_DONTWAIT : 0);
        bool nothing = got < 0 && (errno == EAGAIN || errno == EINTR);
        if (nothing && (until_ns == 0 || clock_ticks() >= until_ns) && errno == EAGAIN)
            return FRAME_LATE;
        if (nothing)
            continue;
        if (got <= 0)
            return FRAME_ENDED;
        if (!buffer_append(in, chunk, (size_t)got))
            return FRAME_GARBAGE;
        enum frame_state state = state_of(in);
        bool late = until_ns != 0 && until_ns != CLOCK_NEVER && clock_ticks() >= until_ns;
        if (state != FRAME_LATE || late)
            return state;
    }
}

struct wire frame_content(const struct buffer *frame) {
    return wire_of(frame->data + LENGTH, frame->len - LENGTH);
}
