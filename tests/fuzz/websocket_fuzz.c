// SPDX-License-Identifier: Apache-2.0
// What an exec session reads from a server: however its bytes are cut, the same messages come out, none too large, and
// nothing after a violation of the protocol.
#include "tests/fuzz/fuzz.h"

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/cmd/main.h"
#include "core/kube/transport/curl_transport.h"
#include "core/kube/transport/websocket.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_MAX ((size_t)64 << 20)

// Appends each message: opcode, length, content; and how it ends.
static void read_all(const uint8_t *data, size_t size, size_t step, struct buffer *seen) {
    struct websocket_reader reader;
    enum websocket_result result = WEBSOCKET_MORE;
    websocket_reader_init(&reader);
    for (size_t at = 0; at < size && result != WEBSOCKET_BAD; at += step) {
        enum websocket_opcode opcode;
        const char *bytes;
        size_t len;
        if (!websocket_feed(&reader, data + at, size_least(step, size - at)))
            fuzz_fail("%zu bytes were too many", size);
        while ((result = websocket_next(&reader, &opcode, &bytes, &len)) == WEBSOCKET_MESSAGE) {
            if (len > WEBSOCKET_MESSAGE_MAX || (opcode >= WEBSOCKET_CLOSE && len > 125))
                fuzz_fail("a message of %zu bytes", len);
            if (opcode == WEBSOCKET_CONTINUATION || opcode > WEBSOCKET_PONG)
                fuzz_fail("a message with opcode %d", opcode);
            buffer_printf(seen, "%d %zu ", opcode, len);
            buffer_append(seen, bytes, len);
        }
    }
    buffer_printf(seen, "%s", result == WEBSOCKET_BAD ? "bad" : "more");
    websocket_reader_free(&reader);
}

static void check_result(const char *text, size_t len) {
    int code = -1;
    struct error *error = session_result(text, len, &code);
    if (error ? error_text(error)[0] == '\0' : code < 0 || code > 255)
        fuzz_fail("exit code %d", code);
    error_free(error);
}

static void check_header(const char *text, size_t len) {
    struct tunnel_answer answer = {.headers = strndup(text, len)};
    char *value = tunnel_header(&answer, "Sec-WebSocket-Protocol");
    if (value && strpbrk(value, "\r\n"))
        fuzz_fail("a header of two lines");
    free(value);
    free(answer.headers);
}

void fuzz_one(const uint8_t *data, size_t size) {
    AUTO_BUFFER(whole, SEEN_MAX);
    AUTO_BUFFER(parts, SEEN_MAX);
    size_t step = size > 0 ? data[0] % 7 + 1 : 1;
    read_all(data, size, size + 1, &whole);
    read_all(data, size, step, &parts);
    if (whole.failed || parts.failed || whole.len != parts.len || memcmp(whole.data, parts.data, whole.len) != 0)
        fuzz_fail("%zu bytes at once give other messages than %zu at a time", size, step);
    check_result((const char *)data, size);
    check_header((const char *)data, size);
}
