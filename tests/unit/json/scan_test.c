// SPDX-License-Identifier: Apache-2.0
#include "core/json/writer.h"

#include "core/base/text.h"
#include "core/json/json.h"
#include "tests/unit/json/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NONE ((size_t)-1)

static const struct {
    const char *text;
    size_t end; // NONE: it goes on
} cases[] = {
    {"{}", 2},
    {"{} ", 2},
    {"[[],{\"a\":[]}],", 13},
    {"\"\"x", 2},
    {"\"a\\\"b\"c", 6},
    {"\"a\\\\\"c\"", 5},
    {"\"\\\\\\\"\\\\\"]", 8},
    {"{\"}]\":\"]}\"}]", 11},
    {"{\"a\\\\\":\"\\\\\\\\\"}", 14},
    {"12,3", 2},
    {"true}", 4},
    {"null]", 4},
    {"-1.5e3 ", 6},
    {"1\n", 1},
    {"", NONE},
    {"12", NONE}, // more digits may come
    {"{", NONE},
    {"\"a", NONE},
    {"\"a\\", NONE},
    {"\"a\\\"", NONE},
    {"[\"]\\\\\\\"", NONE},
    {"{\"a\":[1,2}", NONE},
};

static size_t end_of(const char *text, size_t len) {
    struct scan scan = {0};
    size_t at = 0;
    bool ended = scan_value(&scan, text, &at, len);
    assert_true(ended || at == len);
    return ended ? at : NONE;
}

static void a_value_ends_where_its_nesting_says(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (end_of(cases[i].text, strlen(cases[i].text)) != cases[i].end)
            fail_msg("%s: %zu", cases[i].text, end_of(cases[i].text, strlen(cases[i].text)));
}

// In two pieces and byte by byte, each in memory of its own, so that nothing behind or before it is read.
static size_t end_in_pieces(const char *text, size_t len, size_t first, size_t step) {
    struct scan scan = {0};
    size_t from = 0;
    while (from < len) {
        size_t size = from == 0 && first > 0 ? first : step, at = 0;
        size = size < len - from ? size : len - from;
        char *piece = test_malloc(size);
        memcpy(piece, text + from, size);
        bool ended = scan_value(&scan, piece, &at, size);
        test_free(piece);
        if (ended)
            return from + at;
        assert_int_equal(at, size);
        from += size;
    }
    return NONE;
}

static void assert_same_in_pieces(const char *text, size_t len) {
    size_t whole = end_of(text, len);
    for (size_t first = 0; first <= len; first++) {
        assert_int_equal(end_in_pieces(text, len, first, len), whole);
        assert_int_equal(end_in_pieces(text, len, first, 1), whole);
    }
}

static void pieces_of_a_text_are_read_as_the_whole_is(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_same_in_pieces(cases[i].text, strlen(cases[i].text));
}

static void what_the_parser_takes_ends_at_its_end(void **state) {
    (void)state;
    struct random random = {7};
    for (size_t i = 0; i < 200; i++) {
        AUTO_JSON made = generate_value(&random, 3);
        AUTO_TEXT text = json_text(made, NULL);
        AUTO_TEXT followed = text_format("%s,", text);
        assert_int_equal(end_of(followed, strlen(followed)), strlen(text));
        if (strlen(followed) < 200)
            assert_same_in_pieces(followed, strlen(followed));
    }
}

static void white_space_is_that_of_json(void **state) {
    (void)state;
    assert_int_equal(scan_space(" \t\r\n{", 0, 5), 4);
    assert_int_equal(scan_space("  ", 0, 2), 2);
    assert_int_equal(scan_space("\v", 0, 1), 0);
    assert_int_equal(scan_space("a b", 1, 3), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_ends_where_its_nesting_says),
        cmocka_unit_test(pieces_of_a_text_are_read_as_the_whole_is),
        cmocka_unit_test(what_the_parser_takes_ends_at_its_end),
        cmocka_unit_test(white_space_is_that_of_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
