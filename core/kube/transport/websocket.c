// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/websocket.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" // RFC 6455 section 1.3
#define RAW_MAX (WEBSOCKET_MESSAGE_MAX + ((size_t)64 << 10))
#define MASK_LEN 4
#define CONTROL_MAX ((size_t)125) // RFC 6455 section 5.5

bool websocket_key(char out[WEBSOCKET_KEY]) {
    unsigned char bytes[16];
    return RAND_bytes(bytes, sizeof bytes) == 1 && EVP_EncodeBlock((unsigned char *)out, bytes, sizeof bytes) > 0;
}

bool websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT]) {
    unsigned char digest[DIGEST_SHA1_LEN];
    AUTO_TEXT both = text_format("%s" GUID, key);
    return both && digest_sha1(both, strlen(both), digest) &&
           EVP_EncodeBlock((unsigned char *)out, digest, sizeof digest) > 0;
}

bool websocket_key_is_valid(const char *key) {
    AUTO_BUFFER(bytes, 64);
    if (strlen(key) != WEBSOCKET_KEY - 1)
        return false;
    struct error *error = text_base64_decode(key, &bytes);
    bool valid = !error && bytes.len == 16;
    error_free(error);
    return valid;
}

bool websocket_put(struct buffer *out, enum websocket_opcode opcode, const void *bytes, size_t len) {
    unsigned char head[14] = {(unsigned char)(0x80 | opcode)}, mask[MASK_LEN];
    size_t n = 2;
    if (RAND_bytes(mask, sizeof mask) != 1)
        return false;
    size_t width = len < 126 ? 0 : len < 65536 ? 2 : 8;
    head[1] = (unsigned char)(0x80 | (width == 0 ? len : width == 2 ? 126 : 127));
    for (size_t i = 0; i < width; i++)
        head[n++] = (unsigned char)(len >> (8 * (width - 1 - i)));
    memcpy(head + n, mask, MASK_LEN);
    buffer_append(out, head, n + MASK_LEN);
    size_t begin = out->len;
    if (!buffer_append(out, bytes, len))
        return false;
    for (size_t i = 0; i < len; i++)
        out->data[begin + i] = (char)(out->data[begin + i] ^ mask[i % MASK_LEN]);
    return true;
}

void websocket_reader_init(struct websocket_reader *reader) {
    *reader = (struct websocket_reader){.raw = {.max = RAW_MAX}, .message = {.max = WEBSOCKET_MESSAGE_MAX}};
}

void websocket_reader_free(struct websocket_reader *reader) {
    buffer_free(&reader->raw);
    buffer_free(&reader->message);
}

bool websocket_feed(struct websocket_reader *reader, const void *bytes, size_t len) {
    return buffer_append(&reader->raw, bytes, len);
}

struct frame {
    bool last;
    enum websocket_opcode opcode;
    size_t head, len; // bytes
};

// The length of the head of a server's frame, by its first two bytes (RFC 6455 section 5.2).
static size_t head_size(const unsigned char *head) {
    unsigned char len = head[1] & 0x7f;
    return len == 126 ? 4 : len == 127 ? 10 : 2;
}

static uint64_t payload_size(const unsigned char *head) {
    size_t size = head_size(head);
    uint64_t len = size > 2 ? 0 : head[1] & 0x7f;
    for (size_t i = 2; i < size; i++)
        len = len << 8 | head[i];
    return len;
}

// A server's frames are not masked, and no extension was negotiated.
static enum websocket_result read_head(const struct buffer *raw, struct frame *out) {
    const unsigned char *bytes = (const unsigned char *)raw->data;
    if (raw->len < 2)
        return WEBSOCKET_MORE;
    if ((bytes[0] & 0x70) || (bytes[1] & 0x80))
        return WEBSOCKET_BAD;
    *out = (struct frame){.last = bytes[0] & 0x80, .opcode = bytes[0] & 0x0f, .head = head_size(bytes)};
    if (raw->len < out->head)
        return WEBSOCKET_MORE;
    uint64_t len = payload_size(bytes);
    if (len > WEBSOCKET_MESSAGE_MAX || (out->opcode >= WEBSOCKET_CLOSE && (len > 125 || !out->last)))
        return WEBSOCKET_BAD;
    out->len = (size_t)len;
    return raw->len - out->head < out->len ? WEBSOCKET_MORE : WEBSOCKET_MESSAGE;
}

static bool is_in_order(const struct websocket_reader *reader, const struct frame *frame) {
    if (frame->opcode >= WEBSOCKET_CLOSE)
        return frame->opcode <= WEBSOCKET_PONG;
    return (frame->opcode == WEBSOCKET_CONTINUATION) == reader->inside && frame->opcode <= WEBSOCKET_BINARY;
}

enum websocket_result websocket_next(struct websocket_reader *reader, enum websocket_opcode *opcode, const char **bytes,
                                     size_t *len) {
    for (;;) {
        struct frame frame = {.len = 0};
        buffer_consume(&reader->raw, reader->used);
        reader->used = 0;
        enum websocket_result result = read_head(&reader->raw, &frame);
        if (result != WEBSOCKET_MESSAGE)
            return result;
        if (!is_in_order(reader, &frame))
            return WEBSOCKET_BAD;
        reader->used = frame.head + frame.len;
        *bytes = reader->raw.data + frame.head;
        *len = frame.len;
        *opcode = frame.opcode;
        if (frame.opcode >= WEBSOCKET_CLOSE || (frame.last && !reader->inside))
            return WEBSOCKET_MESSAGE;
        if (!reader->inside) {
            buffer_reset(&reader->message);
            reader->opcode = frame.opcode;
        }
        reader->inside = !frame.last;
        if (!buffer_append(&reader->message, *bytes, frame.len))
            return WEBSOCKET_BAD;
        if (!frame.last)
            continue;
        *opcode = reader->opcode;
        *bytes = reader->message.data;
        *len = reader->message.len;
        return WEBSOCKET_MESSAGE;
    }
}

static size_t head_width(const struct websocket_frames *frames) {
    return frames->head_len > 1 ? head_size(frames->head) : 2;
}

uint64_t websocket_frames_rest(const struct websocket_frames *frames) {
    if (frames->head_len == 0)
        return 0;
    return frames->rest > 0 ? frames->rest : head_width(frames) - frames->head_len;
}

void websocket_frames_pass(struct websocket_frames *frames, const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    while (len > 0) {
        if (frames->rest > 0) {
            size_t part = frames->rest < len ? (size_t)frames->rest : len;
            frames->rest -= part;
            at += part;
            len -= part;
        } else {
            frames->head[frames->head_len++] = *at++;
            len--;
            if (frames->head_len < head_width(frames))
                continue;
            frames->rest = payload_size(frames->head);
        }
        if (frames->rest == 0)
            frames->head_len = 0;
    }
}

void websocket_put_close(struct buffer *out, uint16_t code, const char *reason) {
    size_t len = text_utf8_valid(reason, size_least(strlen(reason), CONTROL_MAX - 2));
    const unsigned char head[] = {0x80 | WEBSOCKET_CLOSE, (unsigned char)(len + 2), (unsigned char)(code >> 8),
                                  (unsigned char)code};
    buffer_append(out, head, sizeof head);
    buffer_append(out, reason, len);
}
