// SPDX-License-Identifier: Apache-2.0
// Packed values come through as they were; and the serial of a document changes with its content.
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct json *parsed(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static const char *const documents[] = {
    "null",
    "true",
    "-0.0",
    "9007199254740993",
    "\"a\\u0000b\"",
    "\"\"",
    "[]",
    "{}",
    "{\"\":{\"a\":[1,2.50,\"x\",[],{}]},\"b\":\"\\u20ac\\n\"}",
};

static void packed_values_come_through(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(documents); i++) {
        AUTO_JSON value = parsed(documents[i]);
        AUTO_BUFFER(bytes, 1 << 16);
        assert_true(json_pack(value, &bytes));
        AUTO_JSON again = json_unpack(bytes.data, bytes.len);
        assert_non_null(again);
        AUTO_TEXT text = json_text(again, NULL);
        AUTO_TEXT expected = json_text(value, NULL);
        assert_string_equal(text, expected);
        for (size_t len = 0; len < bytes.len; len++)
            assert_null(json_unpack(bytes.data, len));
    }
}

static void other_bytes_are_refused(void **state) {
    (void)state;
    AUTO_JSON value = parsed(documents[COUNT(documents) - 1]);
    AUTO_BUFFER(bytes, 1 << 16);
    assert_true(json_pack(value, &bytes));
    struct random random = {3};
    for (int i = 0; i < 50000; i++) {
        char *place = bytes.data + random_below(&random, bytes.len), kept = *place;
        *place = (char)random_below(&random, 256);
        AUTO_JSON again = json_unpack(bytes.data, bytes.len); // a value or none, but nothing beyond the bytes
        *place = kept;
    }
}

static void the_deepest_value_comes_through(void **state) {
    (void)state;
    AUTO_BUFFER(text, 1 << 16);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buffer_char(&text, '[');
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buffer_char(&text, ']');
    AUTO_JSON value = parsed(text.data);
    AUTO_BUFFER(bytes, 1 << 20);
    assert_true(json_pack(value, &bytes));
    AUTO_JSON again = json_unpack(bytes.data, bytes.len);
    assert_true(json_equal(again, value));
}

static void a_serial_lasts_until_the_next_change(void **state) {
    (void)state;
    AUTO_JSON value = parsed("{\"a\":{\"b\":[1,2]},\"c\":\"d\"}");
    AUTO_JSON copy = json_copy(value);
    uint64_t serial = json_serial(value);
    assert_true(serial != 0 && json_serial(copy) != 0 && json_serial(copy) != serial);
    assert_true(json_serial(value) == serial);
    (void)pointer_find(value, "/a/b/1");
    assert_true(json_serial(value) == serial);
    struct json *list = pointer_find(value, "/a/b");
    assert_true(json_append(list, json_new_int64(3)));
    uint64_t next = json_serial(value);
    assert_true(next != 0 && next != serial);
    json_remove_child(list, json_first(list));
    assert_true(json_serial(value) != next);
    next = json_serial(value);
    assert_true(json_replace(json_get(value, "a"), list, json_new_null()));
    assert_true(json_serial(value) != next);
}

// Changes inside a container that came from elsewhere are not seen.
static void a_document_with_a_foreign_container_has_no_serial(void **state) {
    (void)state;
    AUTO_JSON value = parsed("{\"a\":1}");
    assert_true(json_set(value, "b", json_new_object()));
    assert_int_equal(json_serial(value), 0);
    AUTO_JSON made = json_new_object();
    assert_int_equal(json_serial(made), 0);
    assert_int_equal(json_serial(NULL), 0);
}

static void a_part_that_left_its_document_has_another_serial(void **state) {
    (void)state;
    AUTO_JSON value = parsed("{\"a\":{\"b\":1}}");
    uint64_t serial = json_serial(value);
    AUTO_JSON part = json_detach(value, "a");
    uint64_t of_part = json_serial(part);
    assert_true(of_part != 0 && of_part != serial && json_serial(value) != serial && json_serial(value) != of_part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_values_come_through),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(the_deepest_value_comes_through),
        cmocka_unit_test(a_serial_lasts_until_the_next_change),
        cmocka_unit_test(a_document_with_a_foreign_container_has_no_serial),
        cmocka_unit_test(a_part_that_left_its_document_has_another_serial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
