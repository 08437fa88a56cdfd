// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/watch/reflector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char stream[] = "{\"a\":\"}{\\\"\\\\\"}\n  {\"b\":[{\"c\":\"]\"}]}{}\r\n\t[1,[2]]{\"\\u007b\":\"{\"}\n";
static const char *const documents[] = {"{\"a\":\"}{\\\"\\\\\"}", "\n  {\"b\":[{\"c\":\"]\"}]}", "{}", "\r\n\t[1,[2]]",
                                        "{\"\\u007b\":\"{\"}"};
#define DOCUMENTS (sizeof(documents) / sizeof(documents[0]))

// Feeds what has come so far, `step` bytes more at a time, as a buffer that grows.
static void check_steps(size_t first, size_t step) {
    struct frame_scanner scanner = {0};
    size_t begin = 0, found = 0, len = sizeof(stream) - 1;
    for (size_t have = first; begin < len; have = have + step < len ? have + step : len) {
        bool bad = true;
        size_t end;
        while ((end = frame_next(&scanner, stream + begin, have - begin, &bad)) > 0) {
            assert_true(found < DOCUMENTS);
            assert_int_equal(end, strlen(documents[found]));
            assert_memory_equal(stream + begin, documents[found], end);
            begin += end;
            found++;
        }
        assert_false(bad);
        if (have == len)
            break;
    }
    assert_int_equal(found, DOCUMENTS);
}

static void documents_are_found_however_the_stream_is_split(void **state) {
    (void)state;
    for (size_t first = 0; first < sizeof(stream); first++) {
        check_steps(first, 1);
        check_steps(first, 7);
        check_steps(first, sizeof(stream));
    }
}

static void only_an_object_or_array_can_begin_a_document(void **state) {
    (void)state;
    static const char *const cases[] = {"x", " \n<html>", "1{}", "\"a\"", "}", "null", "\xef\xbb\xbf{}", ",{}"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct frame_scanner scanner = {0};
        bool bad = false;
        assert_int_equal(frame_next(&scanner, cases[i], strlen(cases[i]), &bad), 0);
        assert_true(bad);
    }
}

static void white_space_alone_is_no_document_and_not_bad(void **state) {
    (void)state;
    struct frame_scanner scanner = {0};
    bool bad = true;
    assert_int_equal(frame_next(&scanner, " \r\n\t", 4, &bad), 0);
    assert_false(bad);
    assert_int_equal(scanner.value.depth, 0);
    assert_int_equal(frame_next(&scanner, "", 0, &bad), 0);
}

static void bytes_looked_at_before_are_not_looked_at_again(void **state) {
    (void)state;
    struct frame_scanner scanner = {0};
    bool bad = false;
    char bytes[] = "{\"a\":1";
    assert_int_equal(frame_next(&scanner, bytes, 6, &bad), 0);
    memset(bytes, '}', 6); // would end the document if it were read
    char all[] = "}}}}}}}";
    assert_int_equal(frame_next(&scanner, all, 7, &bad), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_found_however_the_stream_is_split),
        cmocka_unit_test(only_an_object_or_array_can_begin_a_document),
        cmocka_unit_test(white_space_alone_is_no_document_and_not_bad),
        cmocka_unit_test(bytes_looked_at_before_are_not_looked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
