// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_handshake_is_that_of_the_rfc(void **state) {
    (void)state;
    char accept[WEBSOCKET_ACCEPT], key[WEBSOCKET_KEY], other[WEBSOCKET_KEY];
    assert_true(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept)); // RFC 6455 section 1.3
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_true(websocket_key(key) && websocket_key(other));
    assert_true(websocket_key_is_valid(key));
    assert_string_not_equal(key, other);
    static const char *const bad[] = {"",
                                      "short",
                                      "dGhlIHNhbXBsZSBub25jZ===",
                                      "dGhlIHNhbXBsZSBub25jZTEyMzQ=",
                                      "dGhlIHNhbXBs\r\nX: bm9uY2U==",
                                      "dGhlIHNhbXBsZSBub25jZTE="};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (websocket_key_is_valid(bad[i]))
            fail_msg("valid: %s", bad[i]);
}

// Removes the mask of a frame.
static void unmask(const unsigned char *frame, size_t head, char *out, size_t len) {
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(frame[head + 4 + i] ^ frame[head + i % 4]);
}

static void a_clients_frames_are_masked_and_have_the_shortest_length(void **state) {
    (void)state;
    static const struct {
        size_t len, head;
        unsigned char second;
    } cases[] = {{0, 2, 0x80},         {1, 2, 0x81},    {125, 2, 0x80 | 125},
                 {126, 4, 0x80 | 126}, {65535, 4, 254}, {65536, 10, 255}};
    char *text = malloc(65536), *back = malloc(65536);
    assert_non_null(text);
    assert_non_null(back);
    for (size_t i = 0; i < 65536; i++)
        text[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_BUFFER(out, (size_t)1 << 20);
        assert_true(websocket_put(&out, WEBSOCKET_BINARY, text, cases[i].len));
        const unsigned char *frame = (const unsigned char *)out.data;
        assert_int_equal(frame[0], 0x82);
        assert_int_equal(frame[1], cases[i].second);
        assert_int_equal(out.len, cases[i].head + 4 + cases[i].len);
        unmask(frame, cases[i].head, back, cases[i].len);
        assert_memory_equal(back, text, cases[i].len);
    }
    free(text);
    free(back);
}

struct expected {
    enum websocket_opcode opcode;
    const char *bytes;
    size_t len;
};

static void messages_are_read_whatever_the_chunks(void **state) {
    (void)state;
    // A message, one of two frames with a ping between them, an empty one, a close.
    static const char stream[] = "\x82\x03"
                                 "abc"
                                 "\x02\x02"
                                 "de"
                                 "\x89\x01p"
                                 "\x80\x01"
                                 "f"
                                 "\x81\x00"
                                 "\x88\x02\x03\xe8";
    static const struct expected expected[] = {{WEBSOCKET_BINARY, "abc", 3},
                                               {WEBSOCKET_PING, "p", 1},
                                               {WEBSOCKET_BINARY, "def", 3},
                                               {WEBSOCKET_TEXT, "", 0},
                                               {WEBSOCKET_CLOSE, "\x03\xe8", 2}};
    for (size_t chunk = 1; chunk < sizeof stream; chunk++) {
        struct websocket_reader reader;
        size_t count = 0;
        websocket_reader_init(&reader);
        for (size_t at = 0; at < sizeof stream - 1; at += chunk) {
            size_t left = sizeof stream - 1 - at;
            assert_true(websocket_feed(&reader, stream + at, left < chunk ? left : chunk));
            enum websocket_opcode opcode;
            const char *bytes;
            size_t len;
            while (websocket_next(&reader, &opcode, &bytes, &len) == WEBSOCKET_MESSAGE) {
                assert_int_equal(opcode, expected[count].opcode);
                assert_int_equal(len, expected[count].len);
                assert_memory_equal(bytes, expected[count].bytes, len);
                count++;
            }
        }
        assert_int_equal(count, sizeof expected / sizeof expected[0]);
        websocket_reader_free(&reader);
    }
}

static void what_violates_the_protocol_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"\xc2\x01"
         "a",
         3},                      // a reserved bit
        {"\x82\x81\0\0\0\0a", 7}, // a server's frame with a mask
        {"\x80\x01"
         "a",
         3}, // a continuation of nothing
        {"\x02\x01"
         "a"
         "\x82\x01"
         "b",
         6},             // a message within another
        {"\x83\x00", 2}, // unknown opcodes
        {"\x8b\x00", 2},
        {"\x09\x00", 2},                    // a ping of several frames
        {"\x89\x7e\x00\x80", 4},            // a ping that is too long
        {"\x82\x7f\x80\0\0\0\0\0\0\0", 10}, // a length beyond all memory
        {"\x82\x7f\x00\0\0\0\x7f\xff\xff\xff", 10},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct websocket_reader reader;
        enum websocket_opcode opcode;
        const char *bytes;
        size_t len;
        websocket_reader_init(&reader);
        assert_true(websocket_feed(&reader, bad[i].bytes, bad[i].len));
        if (websocket_next(&reader, &opcode, &bytes, &len) != WEBSOCKET_BAD)
            fail_msg("accepted: %zu", i);
        websocket_reader_free(&reader);
    }
}

static void a_message_of_too_many_frames_is_refused(void **state) {
    (void)state;
    struct websocket_reader reader;
    enum websocket_opcode opcode;
    const char *bytes;
    size_t len, fed = 0;
    char frame[4 + 60000] = "\x02\x7e\xea\x60";
    enum websocket_result result = WEBSOCKET_MORE;
    websocket_reader_init(&reader);
    for (; result == WEBSOCKET_MORE && fed < 4 * WEBSOCKET_MESSAGE_MAX; fed += 60000) {
        assert_true(websocket_feed(&reader, frame, sizeof frame));
        result = websocket_next(&reader, &opcode, &bytes, &len);
        frame[0] = 0;
    }
    assert_int_equal(result, WEBSOCKET_BAD);
    assert_true(fed < WEBSOCKET_MESSAGE_MAX + 120000);
    websocket_reader_free(&reader);
}

// However the bytes are cut, the ends of frames are found, and only those.
static void the_ends_of_frames_are_found_in_a_stream(void **state) {
    (void)state;
    static const size_t lens[] = {0, 1, 125, 126, 65535, 65536};
    static const size_t cuts[] = {1, 2, 3, 7, 1000, 100000};
    AUTO_BUFFER(stream, (size_t)1 << 20);
    size_t ends[6];
    for (size_t i = 0; i < 6; i++) {
        unsigned char head[10] = {0x82, (unsigned char)lens[i]};
        size_t width = lens[i] < 126 ? 0 : lens[i] < 65536 ? 2 : 8;
        if (width > 0)
            head[1] = width == 2 ? 126 : 127;
        for (size_t b = 0; b < width; b++)
            head[2 + b] = (unsigned char)(lens[i] >> (8 * (width - 1 - b)));
        assert_true(buffer_append(&stream, head, 2 + width));
        for (size_t b = 0; b < lens[i]; b++)
            assert_true(buffer_char(&stream, '\x82'));
        ends[i] = stream.len;
    }
    for (size_t c = 0; c < 6; c++) {
        struct websocket_frames frames = {.head_len = 0};
        size_t at = 0, frame = 0, found = 0;
        while (at < stream.len) {
            uint64_t rest = websocket_frames_rest(&frames);
            size_t step = rest > 0 && rest < cuts[c] ? (size_t)rest : rest == 0 ? 1 : cuts[c];
            websocket_frames_pass(&frames, stream.data + at, step);
            at += step;
            if (websocket_frames_rest(&frames) == 0) {
                assert_int_equal(at, ends[frame++]);
                found++;
            }
        }
        assert_int_equal(found, 6);
    }
}

static void a_close_frame_has_a_code_and_as_much_of_the_reason_as_fits(void **state) {
    (void)state;
    char reason[200];
    memset(reason, 'x', sizeof reason);
    memcpy(reason + 122, "\xc3\xa4", 3); // a character that does not fit whole
    struct websocket_reader reader;
    enum websocket_opcode opcode;
    const char *bytes;
    size_t len;
    AUTO_BUFFER(out, 256);
    websocket_put_close(&out, 1008, reason);
    websocket_reader_init(&reader);
    assert_true(websocket_feed(&reader, out.data, out.len));
    assert_int_equal(websocket_next(&reader, &opcode, &bytes, &len), WEBSOCKET_MESSAGE);
    assert_int_equal(opcode, WEBSOCKET_CLOSE);
    assert_int_equal(len, 2 + 122);
    assert_memory_equal(bytes, "\x03\xf0xx", 4);
    websocket_reader_free(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handshake_is_that_of_the_rfc),
        cmocka_unit_test(a_clients_frames_are_masked_and_have_the_shortest_length),
        cmocka_unit_test(messages_are_read_whatever_the_chunks),
        cmocka_unit_test(what_violates_the_protocol_is_refused),
        cmocka_unit_test(a_message_of_too_many_frames_is_refused),
        cmocka_unit_test(the_ends_of_frames_are_found_in_a_stream),
        cmocka_unit_test(a_close_frame_has_a_code_and_as_much_of_the_reason_as_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
