// SPDX-License-Identifier: Apache-2.0
#include "core/json/writer.h"

#include "core/json/json.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#define WALL_NS (INT64_C(1767323045) * 1000000000)

static void a_document_is_written_with_its_commas_and_read_again(void **state) {
    (void)state;
    AUTO_BUFFER(text, 4096);
    struct writer out = {.out = &text};
    writer_object(&out, NULL);
    writer_string(&out, "a\"b", "line\nnext");
    writer_string(&out, "none", NULL);
    writer_array(&out, "list");
    writer_int(&out, NULL, INT64_MIN);
    writer_uint(&out, NULL, UINT64_MAX);
    writer_array(&out, NULL);
    writer_end(&out, ']');
    writer_object(&out, NULL);
    writer_bool(&out, "yes", true);
    writer_bool(&out, "no", false);
    writer_end(&out, '}');
    writer_end(&out, ']');
    writer_time(&out, "at", WALL_NS);
    writer_time(&out, "never", 0);
    writer_null(&out, "null");
    writer_end(&out, '}');
    assert_string_equal(text.data, "{\"a\\\"b\":\"line\\nnext\",\"none\":null,\"list\":[-9223372036854775808,"
                                   "18446744073709551615,[],{\"yes\":true,\"no\":false}],"
                                   "\"at\":\"2026-01-02T03:04:05Z\",\"never\":null,\"null\":null}");
    struct json *value = NULL;
    assert_null(json_parse(text.data, text.len, &value));
    json_free(value);
}

static void seconds_have_the_digits_that_they_need(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "0"},
        {1000, "0.000001"},
        {INT64_C(1500000000), "1.5"},
        {INT64_C(10000000000), "10"},
        {INT64_C(100000000000), "100"},
        {INT64_C(1000010000), "1.00001"},
        {-INT64_C(1500000000), "-1.5"},
        {-INT64_C(20000000000), "-20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_BUFFER(text, 64);
        struct writer out = {.out = &text};
        writer_seconds(&out, NULL, cases[i].ns);
        assert_string_equal(text.data, cases[i].text);
    }
}

static void a_full_buffer_is_seen_at_the_end(void **state) {
    (void)state;
    AUTO_BUFFER(text, 8);
    struct writer out = {.out = &text};
    writer_array(&out, NULL);
    writer_string(&out, NULL, "too long for that");
    writer_end(&out, ']');
    assert_true(text.failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_written_with_its_commas_and_read_again),
        cmocka_unit_test(seconds_have_the_digits_that_they_need),
        cmocka_unit_test(a_full_buffer_is_seen_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
