// SPDX-License-Identifier: Apache-2.0
// Reading, building and comparing values.
#include "core/json/json.h"

#include "tests/unit/json/values.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static void types_are_told_apart(void **state) {
    (void)state;
    AUTO_JSON value = parsed("[null,true,1,\"a\",[],{},\"\\u0000\"]");
    static const enum json_type types[] = {JSON_NULL,  JSON_BOOL,   JSON_NUMBER, JSON_STRING,
                                           JSON_ARRAY, JSON_OBJECT, JSON_STRING};
    for (size_t i = 0; i < COUNT(types); i++) {
        assert_int_equal(json_type(json_at(value, i)), types[i]);
        assert_true(json_is(json_at(value, i), types[i]));
    }
    assert_false(json_is(NULL, JSON_NULL));
    assert_null(json_at(value, 7));
}

static void readers_fall_back_on_other_types_and_nothing(void **state) {
    (void)state;
    AUTO_JSON value = parsed("{\"b\":true,\"n\":5,\"s\":\"x\",\"a\":[7],\"z\":\"\\u0000\"}");
    assert_true(json_bool(json_get(value, "b"), false));
    assert_true(json_bool(json_get(value, "n"), true));
    assert_true(json_bool(NULL, true));
    assert_int_equal(json_int64(json_get(value, "n"), 9), 5);
    assert_int_equal(json_int64(json_get(value, "s"), 9), 9);
    assert_int_equal(json_int64(json_get(value, "z"), 9), 9);
    assert_int_equal(json_int64(NULL, 9), 9);
    assert_true(json_double(json_get(value, "n"), 0) > 4.9);
    assert_true(json_double(NULL, 2.5) > 2.4);
    assert_string_equal(json_string(json_get(value, "s")), "x");
    assert_null(json_string(json_get(value, "n")));
    assert_null(json_string(NULL));
    assert_string_equal(json_string_or(json_get(value, "n"), "none"), "none");
    assert_string_equal(json_number_text(json_get(value, "n")), "5");
    assert_null(json_number_text(json_get(value, "z")));
    assert_null(json_string_copy(json_get(value, "n"), NULL));
    assert_null(json_get(json_get(value, "n"), "x"));
    assert_null(json_get(NULL, "x"));
    assert_null(json_get(value, "B"));
    assert_null(json_get(json_get(value, "a"), "0"));
    assert_null(json_at(value, 0));
    assert_int_equal(json_size(NULL), 0);
    assert_null(json_first(NULL));
    assert_null(json_next(NULL));
    assert_null(json_key(NULL));
    assert_null(json_key(json_at(json_get(value, "a"), 0)));
}

static void paths_lead_through_objects(void **state) {
    (void)state;
    AUTO_JSON value = parsed("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    assert_string_equal(json_string(json_path(value, "metadata", "labels", "a", NULL)), "b");
    assert_null(json_path(value, "metadata", "nothing", "a", NULL));
    assert_null(json_path(NULL, "a", NULL));
    assert_ptr_equal(json_path(value, NULL), value);
}

static void integers_are_read_from_any_notation_if_they_are_whole_and_fit(void **state) {
    (void)state;
    static const struct {
        const char *token;
        int64_t expected; // 77: refused
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"0.000", 0},
        {"0e99999999999999999999", 0},
        {"1.0", 1},
        {"1e3", 1000},
        {"1.50e1", 15},
        {"1200e-2", 12},
        {"0.00012e5", 12},
        {"-25E+0", -25},
        {"9007199254740993", INT64_C(9007199254740993)},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"922337203685477580.7e1", INT64_MAX},
        {"9223372036854775808", 77},
        {"-9223372036854775809", 77},
        {"1e19", 77},
        {"1e400", 77},
        {"1e99999999999999999999", 77},
        {"0.5", 77},
        {"1e-1", 77},
        {"1.25e1", 77},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON value = parsed(cases[i].token);
        if (json_int64(value, 77) != cases[i].expected)
            fail_msg("%s was read as %lld", cases[i].token, (long long)json_int64(value, 77));
    }
}

static void numbers_are_equal_by_value(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"1", "1e0", true},
        {"1000", "1e3", true},
        {"1000", "0.1E4", true},
        {"-0", "0", true},
        {"0e5", "0.000", true},
        {"1.50", "1.5", true},
        {"150e-2", "1.5", true},
        {"9007199254740993", "9007199254740992", false},
        {"9007199254740993", "9007199254740993.0", true},
        {"123456789012345678901234567890", "123456789012345678901234567891", false},
        {"123456789012345678901234567890", "12345678901234567890123456789e1", true},
        {"1e400", "10e399", true},
        {"1e400", "1e401", false},
        {"1", "-1", false},
        {"1", "2", false},
        {"10", "1", false},
        {"0.1", "0.10000000000000000000001", true}, // one float64
        {"0.1", "0.2", false},
        {"0.5", "-0.5", false},
        {"1", "1.0000000001", false},
        {"12", "1.2", false},
        {"1e99999999999999999999", "1e99999999999999999998", false},
        {"1e99999999999999999999", "1e99999999999999999999", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON a = parsed(cases[i].a);
        AUTO_JSON b = parsed(cases[i].b);
        if (json_equal(a, b) != cases[i].equal || json_equal(b, a) != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
}

static void documents_are_equal_whatever_the_order_of_members(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"a\":1,\"b\":[1,{\"c\":null}]}", "{\"b\":[1.0,{\"c\":null}],\"a\":1e0}", true},
        {"{\"a\":1}", "{\"A\":1}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1,\"b\":1}", "{\"a\":1,\"c\":1}", false},
        {"{\"a\":null}", "{}", false},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"[]", "{}", false},
        {"null", "false", false},
        {"true", "false", false},
        {"\"1\"", "1", false},
        {"\"a\\u0000b\"", "\"a\\u0000b\"", true},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"\"a\\u0000\"", "\"a\"", false},
        {"\"\\u00e4\"", "\"\xC3\xA4\"", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON a = parsed(cases[i].a);
        AUTO_JSON b = parsed(cases[i].b);
        assert_int_equal(json_equal(a, b), cases[i].equal);
        assert_int_equal(json_equal(b, a), cases[i].equal);
        assert_true(json_equal(a, a));
    }
    assert_true(json_equal(NULL, NULL));
    AUTO_JSON null = parsed("null");
    assert_false(json_equal(null, NULL));
    assert_false(json_equal(NULL, null));
}

static void large_objects_in_another_order_are_equal(void **state) {
    (void)state;
    AUTO_JSON a = json_new_object();
    AUTO_JSON b = json_new_object();
    for (int i = 0; i < 3000; i++) {
        AUTO_TEXT key = text_format("key-%d", i);
        AUTO_TEXT back = text_format("key-%d", 2999 - i);
        assert_true(json_set(a, key, json_new_int64(i)));
        assert_true(json_set(b, back, json_new_int64(2999 - i)));
    }
    assert_true(json_equal(a, b));
    assert_true(json_set(b, "key-1500", json_new_int64(0)));
    assert_false(json_equal(a, b));
}

static void values_are_built_and_replaced(void **state) {
    (void)state;
    AUTO_JSON root = json_new_object();
    assert_true(json_set(root, "a", json_new_int64(INT64_MIN)));
    assert_true(json_set(root, "b", json_new_array()));
    assert_true(json_set(root, "c", json_new_string("x\"y")));
    assert_true(json_set(root, "d", json_new_bool(true)));
    assert_true(json_set(root, "e", json_new_null()));
    assert_true(json_set(root, "f", json_new_string_len("p\0q", 3)));
    assert_true(json_append(json_get(root, "b"), json_new_int64(1)));
    assert_true(json_append(json_get(root, "b"), json_new_object()));
    assert_text(root,
                "{\"a\":-9223372036854775808,\"b\":[1,{}],\"c\":\"x\\\"y\",\"d\":true,\"e\":null,\"f\":\"p\\u0000q\"}");
    assert_true(json_set(root, "a", json_new_int64(2)));    // first
    assert_true(json_set(root, "c", json_new_array()));     // in the middle
    assert_true(json_set(root, "f", json_new_bool(false))); // last
    assert_true(json_set(root, "g", json_new_null()));
    assert_text(root, "{\"a\":2,\"b\":[1,{}],\"c\":[],\"d\":true,\"e\":null,\"f\":false,\"g\":null}");
}

static void setting_what_cannot_be_set_frees_the_value(void **state) {
    (void)state;
    AUTO_JSON object = json_new_object();
    AUTO_JSON array = json_new_array();
    AUTO_JSON number = json_new_int64(1);
    assert_false(json_set(object, "a", NULL));
    assert_false(json_set(object, NULL, json_new_int64(1)));
    assert_false(json_set(object, "\xff", json_new_int64(1)));
    assert_false(json_set(array, "a", json_new_int64(1)));
    assert_false(json_set(number, "a", json_new_int64(1)));
    assert_false(json_set(NULL, "a", json_new_int64(1)));
    assert_false(json_append(object, json_new_int64(1)));
    assert_false(json_append(NULL, json_new_int64(1)));
    assert_false(json_append(array, NULL));
    assert_false(json_replace(NULL, number, json_new_int64(1)));
    assert_false(json_replace(object, NULL, json_new_int64(1)));
    assert_null(json_new_string(NULL));
    assert_null(json_new_string("\xC3"));
    assert_null(json_new_string_len("a\xED\xA0\x80", 4));
    assert_text(object, "{}");
    assert_text(array, "[]");
}

static void a_key_may_come_from_the_value_that_goes_away(void **state) {
    (void)state;
    AUTO_JSON root = parsed("{\"a\":1,\"b\":2}");
    struct json *member = json_get(root, "a");
    assert_true(json_set(root, json_key(member), json_new_int64(5)));
    member = json_get(root, "a");
    assert_true(json_set(root, json_key(member), json_new_int64(6)));
    struct json *loose = json_detach(root, "b");
    assert_null(json_key(loose));
    assert_true(json_set(root, "c", loose));
    assert_true(json_remove(root, json_key(json_get(root, "a"))));
    assert_text(root, "{\"c\":2}");
}

static void children_are_replaced_in_place(void **state) {
    (void)state;
    AUTO_JSON root = parsed("{\"a\":[1,2,3],\"b\":1}");
    struct json *array = json_get(root, "a");
    for (size_t i = 0; i < 3; i++)
        assert_true(json_replace(array, json_at(array, i), json_new_int64((int64_t)(10 + i))));
    assert_text(root, "{\"a\":[10,11,12],\"b\":1}");
    assert_true(json_append(array, json_new_null()));
    assert_true(json_replace(root, json_get(root, "a"), json_new_string("x")));
    assert_true(json_replace(root, json_get(root, "b"), json_new_object()));
    assert_true(json_set(root, "c", json_new_int64(3)));
    assert_text(root, "{\"a\":\"x\",\"b\":{},\"c\":3}");
}

static void children_are_removed_from_any_place(void **state) {
    (void)state;
    static const char *const after[] = {"[1,2,3,9]", "[0,2,3,9]", "[0,1,3,9]", "[0,1,2,9]"};
    for (size_t i = 0; i < 4; i++) {
        AUTO_JSON array = parsed("[0,1,2,3]");
        json_remove_child(array, json_at(array, i));
        assert_true(json_append(array, json_new_int64(9)));
        assert_text(array, after[i]);
    }
    AUTO_JSON object = parsed("{\"a\":{\"x\":[1]},\"b\":2}");
    assert_true(json_remove(object, "a"));
    assert_false(json_remove(object, "a"));
    assert_true(json_remove(object, "b"));
    assert_null(json_detach(object, "b"));
    assert_text(object, "{}");
    assert_true(json_set(object, "c", json_new_int64(1)));
    assert_text(object, "{\"c\":1}");
    struct json *child = json_get(object, "c");
    json_detach_child(object, child);
    assert_null(json_key(child));
    json_free(child);
    json_remove_child(object, NULL);
    json_remove_child(NULL, NULL);
}

static void a_copy_is_equal_and_independent(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,{\"b\":\"x\\u0000\",\"c\":[[],{}]},null],\"d\":1.0}";
    AUTO_JSON value = parsed(text);
    AUTO_JSON copy = json_copy(value);
    assert_true(json_set(value, "a", json_new_null()));
    assert_text(copy, text);
    AUTO_JSON part = json_copy(json_get(copy, "a"));
    assert_null(json_key(part));
    assert_null(json_next(part));
    assert_text(part, "[1,{\"b\":\"x\\u0000\",\"c\":[[],{}]},null]");
    assert_null(json_copy(NULL));
}

static void what_is_built_too_deep_is_not_printed_and_still_freed(void **state) {
    (void)state;
    for (size_t depth = JSON_MAX_DEPTH; depth <= 200000; depth = depth == JSON_MAX_DEPTH ? depth + 1 : depth * 400) {
        AUTO_JSON value = json_new_array();
        for (size_t i = 1; i < depth; i++) {
            struct json *outer = json_new_array();
            assert_true(json_append(outer, value));
            value = outer;
        }
        bool fits = depth <= JSON_MAX_DEPTH;
        AUTO_TEXT text = json_text(value, NULL);
        assert_int_equal(!!text, fits);
        AUTO_JSON copy = json_copy(value);
        assert_int_equal(!!copy, fits);
        assert_int_equal(json_equal(value, value), fits);
    }
}

static void printing_stays_within_the_maximum_of_the_buffer(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,\"x\",{}],\"b\":true}";
    AUTO_JSON value = parsed(text);
    for (size_t max = 0; max < strlen(text) + 2; max++) {
        struct buffer out;
        buffer_init(&out, max);
        assert_int_equal(json_print(value, &out), max >= strlen(text));
        assert_true(out.len <= max);
        buffer_free(&out);
    }
    struct buffer out;
    buffer_init(&out, 100);
    assert_false(json_print(NULL, &out));
    buffer_free(&out);
}

static void lines_are_indented_as_kubectls(void **state) {
    (void)state;
    static const char expected[] = "{\n    \"a\": [\n        1,\n        \"x\",\n        {},\n        []\n    ],\n"
                                   "    \"b\": {\n        \"c\": true\n    }\n}";
    AUTO_JSON value = parsed("{\"a\":[1,\"x\",{},[]],\"b\":{\"c\":true}}");
    for (size_t max = 0; max < sizeof expected; max++) {
        AUTO_BUFFER(out, max);
        assert_int_equal(json_print_lines(value, &out), max >= strlen(expected));
        if (max >= strlen(expected))
            assert_string_equal(out.data, expected);
    }
}

static int allocations_left;

static void *scarce_malloc(size_t size) {
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static bool build_everything(void) {
    const char *text = "{\"a\":[1,\"x\",{\"b\":null}],\"c\":\"\\u0000\",\"a\":2}";
    AUTO_JSON value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (error) {
        assert_int_equal(error->code, ERROR_NO_MEMORY);
        error_free(error);
        return false;
    }
    AUTO_JSON copy = json_copy(value);
    return copy && json_set(copy, "d", json_new_string("e")) && json_set(copy, "d", json_new_string_len("\0", 1)) &&
           json_set(copy, "f", json_new_array()) && json_append(json_get(copy, "f"), json_new_bool(true)) &&
           json_replace(copy, json_get(copy, "a"), json_new_object());
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
    bool done = false;
    int limit = 0;
    for (; !done && limit < 1000; limit++) {
        allocations_left = limit;
        done = build_everything();
    }
    cJSON_InitHooks(NULL);
    assert_true(done && limit > 5);
}

static uint64_t hash_of(const char *text) {
    AUTO_JSON value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return json_hash(value);
}

static void the_hash_notices_every_change_but_the_order_of_members(void **state) {
    (void)state;
    assert_int_equal(json_hash(NULL), 0);
    assert_int_equal(hash_of("{\"a\":1,\"b\":{\"c\":[1,2],\"d\":null}}"),
                     hash_of("{\"b\":{\"d\":null,\"c\":[1,2]},\"a\":1}"));
    static const char *const different[] = {
        "{}",
        "[]",
        "null",
        "\"\"",
        "0",
        "\"0\"",
        "true",
        "false",
        "[[]]",
        "[1,2]",
        "[2,1]",
        "[12]",
        "{\"a\":1}",
        "{\"a\":2}",
        "{\"b\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":{\"b\":1}}",
        "{\"a\":1,\"b\":2}",
        "{\"a\":2,\"b\":1}",
        "{\"a\":[],\"b\":[]}",
    };
    size_t count = sizeof different / sizeof different[0];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (hash_of(different[i]) == hash_of(different[j]))
                fail_msg("%s and %s have the same hash", different[i], different[j]);
}

// What was parsed together lies in one piece of memory; parts of it may outlive the rest, and be put anywhere.
static void parts_of_a_document_may_be_taken_out_and_put_elsewhere(void **state) {
    (void)state;
    static const char text[] = "{\"a\":{\"b\":[1,{\"c\":\"x\"}]},\"d\":{\"e\":2},\"f\":3}";
    AUTO_JSON first = NULL;
    AUTO_JSON second = NULL;
    assert_null(json_parse(text, sizeof text - 1, &first));
    assert_null(json_parse(text, sizeof text - 1, &second));
    struct json *part = json_detach(first, "a");
    assert_true(json_set(second, "g", part));
    assert_true(json_set(json_get(second, "d"), "h", json_detach(first, "d")));
    struct json *own = json_detach(second, "a"); // back into its own document
    assert_true(json_set(second, "i", own));
    json_free(first);
    first = NULL;
    AUTO_TEXT printed = json_text(second, NULL);
    assert_string_equal(printed, "{\"d\":{\"e\":2,\"h\":{\"e\":2}},\"f\":3,\"g\":{\"b\":[1,{\"c\":\"x\"}]},"
                                 "\"i\":{\"b\":[1,{\"c\":\"x\"}]}}");
    assert_true(json_remove(second, "g"));
    assert_true(json_replace(second, json_get(second, "f"), json_detach(json_get(second, "d"), "h")));
    assert_true(json_remove(second, "d"));
    AUTO_TEXT left = json_text(second, NULL);
    assert_string_equal(left, "{\"f\":{\"e\":2},\"i\":{\"b\":[1,{\"c\":\"x\"}]}}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_notices_every_change_but_the_order_of_members),
        cmocka_unit_test(parts_of_a_document_may_be_taken_out_and_put_elsewhere),
        cmocka_unit_test(types_are_told_apart),
        cmocka_unit_test(readers_fall_back_on_other_types_and_nothing),
        cmocka_unit_test(paths_lead_through_objects),
        cmocka_unit_test(integers_are_read_from_any_notation_if_they_are_whole_and_fit),
        cmocka_unit_test(numbers_are_equal_by_value),
        cmocka_unit_test(documents_are_equal_whatever_the_order_of_members),
        cmocka_unit_test(large_objects_in_another_order_are_equal),
        cmocka_unit_test(values_are_built_and_replaced),
        cmocka_unit_test(setting_what_cannot_be_set_frees_the_value),
        cmocka_unit_test(a_key_may_come_from_the_value_that_goes_away),
        cmocka_unit_test(children_are_replaced_in_place),
        cmocka_unit_test(children_are_removed_from_any_place),
        cmocka_unit_test(a_copy_is_equal_and_independent),
        cmocka_unit_test(what_is_built_too_deep_is_not_printed_and_still_freed),
        cmocka_unit_test(printing_stays_within_the_maximum_of_the_buffer),
        cmocka_unit_test(lines_are_indented_as_kubectls),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
