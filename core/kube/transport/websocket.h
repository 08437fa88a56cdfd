// SPDX-License-Identifier: Apache-2.0
// The part of the WebSocket protocol (RFC 6455) that exec needs: the handshake's texts, and a client's frames.
#pragma once

#include "core/base/buffer.h"

#include <stdint.h>

#define WEBSOCKET_KEY 25    // with the NUL
#define WEBSOCKET_ACCEPT 29 // with the NUL
#define WEBSOCKET_MESSAGE_MAX ((size_t)1 << 20)

// A new Sec-WebSocket-Key, and the Sec-WebSocket-Accept that belongs to a key. False when libcrypto fails.
bool websocket_key(char out[WEBSOCKET_KEY]);
bool websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT]);
bool websocket_key_is_valid(const char *key); // 16 bytes as base64

enum websocket_opcode {
    WEBSOCKET_CONTINUATION,
    WEBSOCKET_TEXT,
    WEBSOCKET_BINARY,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING,
    WEBSOCKET_PONG
};

// Appends a whole message as one masked frame.
bool websocket_put(struct buffer *out, enum websocket_opcode opcode, const void *bytes, size_t len);

// Data from the server. Zero-initialised but for the maxima (websocket_reader_init).
struct websocket_reader {
    struct buffer raw;     // received, not yet read
    struct buffer message; // of frames that are not the last one of their message
    enum websocket_opcode opcode;
    bool inside; // a message of several frames
    size_t used; // of `raw`, by the last message
};
void websocket_reader_init(struct websocket_reader *reader);
void websocket_reader_free(struct websocket_reader *reader);
bool websocket_feed(struct websocket_reader *reader, const void *bytes, size_t len);

enum websocket_result { WEBSOCKET_MORE, WEBSOCKET_MESSAGE, WEBSOCKET_BAD };
// The next message, control frames included; *bytes are valid until the next call. WEBSOCKET_BAD: the server violates
// the protocol, or the message is too long.
enum websocket_result websocket_next(struct websocket_reader *reader, enum websocket_opcode *opcode, const char **bytes,
                                     size_t *len);

// Finds the ends of a server's frames in a stream of bytes that is passed on unread. Zero-initialised: at an end.
struct websocket_frames {
    unsigned char head[10];
    size_t head_len; // 0: at the end of a frame
    uint64_t rest;   // of the frame, after a complete head
};
// The number of bytes to pass on at once without beginning another frame; 0: at the end of a frame.
uint64_t websocket_frames_rest(const struct websocket_frames *frames);
void websocket_frames_pass(struct websocket_frames *frames, const void *bytes, size_t len);

// Appends a server's close frame (RFC 6455 section 5.5.1); the reason is cut to fit.
void websocket_put_close(struct buffer *out, uint16_t code, const char *reason);
