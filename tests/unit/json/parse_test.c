// SPDX-License-Identifier: Apache-2.0
#include "core/json/json.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// A copy without a NUL and of exactly the size, so that a sanitizer sees a byte read behind the end.
static struct error *parse_exact(const char *text, size_t len, struct json **out) {
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    struct error *error = json_parse(copy, len, out);
    free(copy);
    return error;
}

static void assert_prints(const char *text, size_t len, const char *expected) {
    AUTO_JSON value = NULL;
    struct error *error = parse_exact(text, len, &value);
    if (error)
        fail_msg("%s: %s", text, error->message);
    AUTO_TEXT printed = json_text(value, NULL);
    assert_string_equal(printed, expected);
}

static void assert_refused(const char *text, size_t len, enum error_code code, const char *part) {
    struct json *value = (struct json *)1;
    struct error *error = parse_exact(text, len, &value);
    if (!error) {
        fail_msg("%.*s was taken", (int)len, text);
        return;
    }
    assert_null(value);
    assert_int_equal(error->code, code);
    if (!strstr(error->message, part))
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
    error_free(error);
}

static void what_is_read_is_printed_unchanged_but_for_space(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"null", "null"},
        {" true ", "true"},
        {"\t\r\nfalse\n", "false"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[ [ ] , { } ]", "[[],{}]"},
        {"{ \"b\" : 1 , \"a\" : [ 1 , 2 ] }", "{\"b\":1,\"a\":[1,2]}"},
        {"\"\"", "\"\""},
        {"{\"\":\"\"}", "{\"\":\"\"}"},
        {"9007199254740993", "9007199254740993"},
        {"1000000000000000", "1000000000000000"},
        {"1e400", "1e400"},
        {"1.0", "1.0"},
        {"-0", "-0"},
        {"-0.0E+00", "-0.0E+00"},
        {"123456789012345678901234567890.5e-7", "123456789012345678901234567890.5e-7"},
        {"[0,0.5,10,1E5]", "[0,0.5,10,1E5]"},
        {"\"a\\/b\"", "\"a/b\""},
        {"\"\\\"\\\\\\b\\f\\n\\r\\t\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e4\\u20AC\"", "\"A\xC3\xA4\xE2\x82\xAC\""},
        {"\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\""},
        {"\"\\u001f\\u007f\"", "\"\\u001f\x7f\""},
        {"{\"k\\u0065y\":1}", "{\"key\":1}"},
        {"{\"Name\":1,\"name\":2,\"NAME\":3}", "{\"Name\":1,\"name\":2,\"NAME\":3}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_prints(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

static void lone_surrogates_become_the_replacement_character(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"\"\\ud800\"", "\"\xEF\xBF\xBD\""},
        {"\"\\udc00\"", "\"\xEF\xBF\xBD\""},
        {"\"\\ud800x\"", "\"\xEF\xBF\xBDx\""},
        {"\"\\ud800\\u0041\"", "\"\xEF\xBF\xBD"
                               "A\""},
        {"\"\\ud800\\ud83d\\ude00\"", "\"\xEF\xBF\xBD\xF0\x9F\x98\x80\""},
        {"\"\\udc00\\ud800\"", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\"\\ud800\\n\"", "\"\xEF\xBF\xBD\\n\""},
        {"\"\\u0000\\ud800\"", "\"\\u0000\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_prints(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

static void text_with_nul_keeps_all_of_it(void **state) {
    (void)state;
    assert_prints("\"a\\u0000b\"", 10, "\"a\\u0000b\"");
    assert_prints("{\"k\":\"\\u0000\\\"\\u00e4\"}", 22, "{\"k\":\"\\u0000\\\"\xC3\xA4\"}");
    AUTO_JSON value = NULL;
    assert_null(json_parse("\"a\\u0000b\\n\"", 12, &value));
    assert_true(json_is(value, JSON_STRING));
    assert_null(json_string(value));
    size_t len;
    AUTO_TEXT copy = json_string_copy(value, &len);
    assert_int_equal(len, 4);
    assert_memory_equal(copy, "a\0b\n", 5);
}

static void a_key_with_nul_is_refused(void **state) {
    (void)state;
    const char *text = "{\"a\":1,\n \"b\\u0000\":2}";
    assert_refused(text, strlen(text), ERROR_INVALID, "line 2, column 2: a key with U+0000");
}

static void the_last_of_duplicate_keys_wins(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
        {"{\"a\":1,\"b\":2,\"b\":3}", "{\"a\":1,\"b\":3}"},
        {"{\"a\":{\"x\":1},\"a\":{\"y\":2},\"a\":{}}", "{\"a\":{}}"},
        {"{\"a\":[1,2],\"a\":{\"y\":[2]},\"z\":0}", "{\"a\":{\"y\":[2]},\"z\":0}"},
        {"{\"a\":1,\"\\u0061\":2}", "{\"a\":2}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_prints(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

static void duplicates_are_found_in_large_objects_too(void **state) {
    (void)state;
    for (size_t members = 1; members < 200; members += 7) {
        struct buffer text;
        buffer_init(&text, 1 << 20);
        buffer_char(&text, '{');
        for (size_t round = 0; round < 3; round++)
            for (size_t i = 0; i < members; i++)
                buffer_printf(&text, "%s\"key%zu\":[%zu]", text.len > 1 ? "," : "", i, round * 1000 + i);
        buffer_char(&text, '}');
        AUTO_JSON value = NULL;
        assert_null(json_parse(text.data, text.len, &value));
        assert_int_equal(json_size(value), members);
        size_t i = 0;
        for (struct json *member = json_first(value); member; member = json_next(member))
            assert_int_equal(json_int64(json_at(member, 0), 0), 2000 + i++);
        buffer_free(&text);
    }
}

static void what_is_not_json_is_refused_with_its_place(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "line 1, column 1: found the end of the text, expected a value"},
        {"  \n ", "line 2, column 2: found the end"},
        {"x", "line 1, column 1: found 'x', expected a value"},
        {"nul", "column 1: found 'n', expected a value"},
        {"truE", "expected a value"},
        {"True", "expected a value"},
        {"NaN", "expected a value"},
        {"Infinity", "expected a value"},
        {"'a'", "found '''"},
        {"1 2", "column 3: found '2', expected nothing more"},
        {"{} x", "column 4: found 'x', expected nothing more"},
        {"nullx", "found 'x', expected nothing more"},
        {"[1,]", "column 4: found ']', expected a value"},
        {"[,1]", "found ',', expected a value"},
        {"[1 2]", "found '2', expected ',' or ']'"},
        {"[1}", "found '}', expected ',' or ']'"},
        {"[,]", "expected a value"},
        {"{\"a\":1]", "found ']', expected ',' or '}'"},
        {"{\"a\":1,}", "found '}', expected a key in quotes"},
        {"{,}", "expected a key in quotes"},
        {"{\"a\"}", "found '}', expected ':'"},
        {"{\"a\" 1}", "found '1', expected ':'"},
        {"{a:1}", "found 'a', expected a key in quotes"},
        {"{1:1}", "expected a key in quotes"},
        {"{\"a\":}", "expected a value"},
        {"[", "end of the text, expected a value"},
        {"[1", "end of the text, expected ',' or ']'"},
        {"{", "end of the text, expected a key"},
        {"]", "found ']', expected a value"},
        {"// x\n1", "found '/'"},
        {"[1/**/]", "found '/'"},
        {"\xEF\xBB\xBF{}", "found byte 0xef"},
        {"01", "found '1', expected nothing more"},
        {"-", "expected a digit"},
        {"-x", "found 'x', expected a digit"},
        {"+1", "found '+'"},
        {".5", "found '.'"},
        {"5.", "expected a digit"},
        {"5.e1", "found 'e', expected a digit"},
        {"1e", "expected a digit"},
        {"1e+", "expected a digit"},
        {"[-]", "line 1, column 3: found ']', expected a digit"},
        {"0x10", "found 'x'"},
        {"1_000", "found '_'"},
        {"\"abc", "column 5: the text ends inside a string"},
        {"\"abc\\", "the text ends inside a string"},
        {"\"abc\\u12", "the text ends inside a string"},
        {"\"\\x41\"", "unknown escape"},
        {"\"\\'\"", "unknown escape"},
        {"\"\\u12g4\"", "four hexadecimal digits"},
        {"\"a\nb\"", "column 3: control character"},
        {"\"a\tb\"", "control character"},
        {"{\"a\nb\":1}", "control character"},
        {"{\n  \"\xC3\xA4\xE2\x82\xAC\": x\n}", "line 2, column 9: found 'x'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(cases[i][0], strlen(cases[i][0]), ERROR_INVALID, cases[i][1]);
    assert_refused("1\0", 2, ERROR_INVALID, "found byte 0x00");
    assert_refused("\0", 1, ERROR_INVALID, "found byte 0x00");
    assert_refused("\"a\0b\"", 5, ERROR_INVALID, "control character");
    assert_refused("\"a\\\0b\"", 6, ERROR_INVALID, "unknown escape");
}

static void invalid_utf8_of_every_class_is_refused_in_values_and_keys(void **state) {
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xC3",
        "\xE2\x82",
        "\xF0\x9F\x98",
        "\xE2\x28\xA1",
        "\xF0\x28\x8C\xBC",
        "\xC3\x28",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        for (size_t padding = 0; padding < 12; padding++) {
            AUTO_TEXT value = text_format("[\"%.*s%s\"]", (int)padding, "xxxxxxxxxxxx", bad[i]);
            assert_refused(value, strlen(value), ERROR_INVALID, "invalid UTF-8");
            AUTO_TEXT key = text_format("{\"%.*s%s\":1}", (int)padding, "xxxxxxxxxxxx", bad[i]);
            assert_refused(key, strlen(key), ERROR_INVALID, "invalid UTF-8");
        }
    }
}

static void nesting_is_bounded(void **state) {
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t depth = JSON_MAX_DEPTH - 1; depth <= JSON_MAX_DEPTH + 1; depth++) {
            struct buffer text;
            buffer_init(&text, 1 << 20);
            for (size_t i = 0; i < depth; i++)
                buffer_text(&text, kind ? "{\"a\":" : "[");
            buffer_text(&text, "1");
            for (size_t i = 0; i < depth; i++)
                buffer_text(&text, kind ? "}" : "]");
            if (depth <= JSON_MAX_DEPTH)
                assert_prints(text.data, text.len, text.data);
            else
                assert_refused(text.data, text.len, ERROR_LIMIT, "nested too deeply");
            buffer_free(&text);
        }
    }
    static char deep[1000000];
    memset(deep, '[', sizeof deep);
    assert_refused(deep, sizeof deep, ERROR_LIMIT, "column 513: nested too deeply");
}

static void a_document_cut_off_anywhere_is_refused(void **state) {
    (void)state;
    const char *text =
        "{\"metadata\":{\"name\":\"j\\u00e4\\ud83d\\ude00\xC3\xA4\",\"n\\u0020\\n\":[-1.5e+3,true,false,null,"
        "{}]},\"e\":\"\\u0000\"}";
    size_t len = strlen(text);
    AUTO_JSON whole = NULL;
    assert_null(parse_exact(text, len, &whole));
    for (size_t cut = 0; cut < len; cut++)
        assert_refused(text, cut, ERROR_INVALID, "line 1");
}

static void a_byte_changed_anywhere_never_breaks_the_parser(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,2.5e3,\"x\\u00e4\\n\xC3\xA4\",{\"b\":null}],\"c\":true,\"d\":\"\\u0000\"}";
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char copy[128];
            snprintf(copy, sizeof copy, "%s", text);
            copy[at] = (char)byte;
            AUTO_JSON value = NULL;
            struct error *error = parse_exact(copy, len, &value);
            assert_true(!error == !!value);
            error_free(error);
        }
    }
}

static void large_objects_take_linear_time(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, 1 << 24);
    buffer_char(&text, '{');
    for (int i = 0; i < 100000; i++)
        buffer_printf(&text, "%s\"key-%d\":%d", i ? "," : "", i, i);
    buffer_char(&text, '}');
    AUTO_JSON value = NULL;
    clock_t before = clock(); // processor time: other processes do not count
    assert_null(json_parse(text.data, text.len, &value));
    clock_t took = clock() - before;
    assert_int_equal(json_size(value), 100000);
    // Quadratic is ten seconds and more; linear is a few hundredths of one.
    assert_true(took < 3 * CLOCKS_PER_SEC);
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_printed_unchanged_but_for_space),
        cmocka_unit_test(lone_surrogates_become_the_replacement_character),
        cmocka_unit_test(text_with_nul_keeps_all_of_it),
        cmocka_unit_test(a_key_with_nul_is_refused),
        cmocka_unit_test(the_last_of_duplicate_keys_wins),
        cmocka_unit_test(duplicates_are_found_in_large_objects_too),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(invalid_utf8_of_every_class_is_refused_in_values_and_keys),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_document_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_byte_changed_anywhere_never_breaks_the_parser),
        cmocka_unit_test(large_objects_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
