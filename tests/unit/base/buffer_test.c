// SPDX-License-Identifier: Apache-2.0
#include "core/base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void content_is_terminated_after_every_append(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 1 << 20);
    assert_null(buffer.data);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(buffer_char(&buffer, (char)('a' + i % 26)));
        assert_int_equal(strlen(buffer.data), i + 1);
        assert_int_equal(buffer.len, i + 1);
    }
    buffer_free(&buffer);
    assert_null(buffer.data);
    assert_true(buffer_text(&buffer, "again"));
    assert_string_equal(buffer.data, "again");
    buffer_free(&buffer);
}

static void appending_nothing_gives_an_empty_text(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 0);
    assert_true(buffer_append(&buffer, NULL, 0));
    assert_string_equal(buffer.data, "");
    assert_false(buffer_char(&buffer, 'x'));
    buffer_free(&buffer);
}

static void the_maximum_is_reached_and_never_passed(void **state) {
    (void)state;
    for (size_t max = 1; max < 300; max++) {
        struct buffer buffer;
        buffer_init(&buffer, max);
        for (size_t i = 0; i < max; i++)
            assert_true(buffer_char(&buffer, 'x'));
        assert_false(buffer_char(&buffer, 'y'));
        assert_true(buffer.failed);
        assert_int_equal(buffer.len, max);
        assert_true(buffer.cap <= max + 1);
        buffer_free(&buffer);
    }
}

static void a_refused_append_keeps_the_content_and_refuses_what_follows(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 10);
    assert_true(buffer_text(&buffer, "12345"));
    assert_false(buffer_printf(&buffer, "%s", "678901"));
    assert_string_equal(buffer.data, "12345");
    assert_false(buffer_text(&buffer, "6"));
    assert_false(buffer_append(&buffer, "", 0));
    assert_null(buffer_take(&buffer, NULL));
    buffer_reset(&buffer);
    assert_true(buffer_text(&buffer, "6"));
    assert_string_equal(buffer.data, "6");
    buffer_free(&buffer);
}

static void a_size_that_would_wrap_around_is_refused(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, SIZE_MAX);
    assert_true(buffer_text(&buffer, "abc"));
    assert_false(buffer_append(&buffer, "x", SIZE_MAX - 1));
    assert_string_equal(buffer.data, "abc");
    buffer_free(&buffer);
}

static void formatting_grows_the_buffer(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 100000);
    for (int i = 0; i < 1000; i++)
        assert_true(buffer_printf(&buffer, "%d,", i));
    assert_int_equal(buffer.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_string_equal(buffer.data + buffer.len - 8, "998,999,");
    buffer_free(&buffer);
}

static void json_strings_are_escaped_as_they_must(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        const char *expected;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\""},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"a\xff\xC3", 3, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"12345678\n12345678\"", 18, "\"12345678\\n12345678\\\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer buffer;
        buffer_init(&buffer, 1000);
        assert_true(buffer_json_string(&buffer, cases[i].text, cases[i].len));
        assert_string_equal(buffer.data, cases[i].expected);
        buffer_free(&buffer);
    }
}

static void consuming_drops_from_the_front(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 100);
    buffer_consume(&buffer, 5);
    buffer_text(&buffer, "hello world");
    buffer_consume(&buffer, 6);
    assert_string_equal(buffer.data, "world");
    buffer_consume(&buffer, 0);
    assert_int_equal(buffer.len, 5);
    buffer_consume(&buffer, 100);
    assert_int_equal(buffer.len, 0);
    assert_string_equal(buffer.data, "");
    buffer_free(&buffer);
}

static void taking_hands_over_the_content(void **state) {
    (void)state;
    struct buffer buffer;
    size_t len = 99;
    buffer_init(&buffer, 100);
    char *nothing = buffer_take(&buffer, &len);
    assert_string_equal(nothing, "");
    assert_int_equal(len, 0);
    free(nothing);
    buffer_text(&buffer, "abc");
    char *text = buffer_take(&buffer, &len);
    assert_string_equal(text, "abc");
    assert_int_equal(len, 3);
    assert_null(buffer.data);
    assert_int_equal(buffer.max, 100);
    free(text);
}

static void a_buffer_of_a_block_has_its_maximum(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) { // empty again with each turn
        AUTO_BUFFER(text, 4);
        assert_int_equal(text.len, 0);
        assert_true(buffer_text(&text, "four"));
        assert_false(buffer_char(&text, '5'));
        assert_string_equal(text.data, "four");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_of_a_block_has_its_maximum),
        cmocka_unit_test(content_is_terminated_after_every_append),
        cmocka_unit_test(appending_nothing_gives_an_empty_text),
        cmocka_unit_test(the_maximum_is_reached_and_never_passed),
        cmocka_unit_test(a_refused_append_keeps_the_content_and_refuses_what_follows),
        cmocka_unit_test(a_size_that_would_wrap_around_is_refused),
        cmocka_unit_test(formatting_grows_the_buffer),
        cmocka_unit_test(json_strings_are_escaped_as_they_must),
        cmocka_unit_test(consuming_drops_from_the_front),
        cmocka_unit_test(taking_hands_over_the_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
