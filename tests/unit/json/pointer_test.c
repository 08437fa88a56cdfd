// SPDX-License-Identifier: Apache-2.0
#include "core/json/pointer.h"

#include "tests/unit/json/values.h"

#include <stdlib.h>
#include <string.h>

static void pointers_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *pointer;
        bool plain, pattern;
    } cases[] = {
        {"", true, true},      {"/", true, true},         {"/a/b", true, true},    {"/~0~1", true, true},
        {"/*/a", true, true},  {"/~2", false, true},      {"a", false, false},     {"/a~", false, false},
        {"/~3", false, false}, {"/a/~x/b", false, false}, {"/\xff", false, false}, {"#/a", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error *plain = pointer_check(cases[i].pointer, false);
        struct error *pattern = pointer_check(cases[i].pointer, true);
        assert_int_equal(!plain, cases[i].plain);
        assert_int_equal(!pattern, cases[i].pattern);
        if (plain)
            assert_int_equal(plain->code, ERROR_INVALID);
        error_free(plain);
        error_free(pattern);
    }
}

// The document and the pointers of RFC 6901 section 5.
static void the_examples_of_the_rfc_are_found(void **state) {
    (void)state;
    AUTO_JSON root = parsed("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
                            "\"k\\\"l\":6,\" \":7,\"m~n\":8}");
    static const char *const cases[][2] = {
        {"/foo", "[\"bar\",\"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
    };
    assert_ptr_equal(pointer_find(root, ""), root);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_text(pointer_find(root, cases[i][0]), cases[i][1]);
}

static void what_is_not_there_is_not_found(void **state) {
    (void)state;
    AUTO_JSON root = parsed("{\"a\":[1,2],\"b\":{\"c\":1},\"d\":\"x\",\"~1\":1}");
    static const char *const cases[] = {"/x",    "/a/2", "/a/-", "/a/00",         "/a/01", "/a/+1",
                                        "/a/-1", "/a/",  "/a/x", "/a/0/",         "/b/",   "/b/c/d",
                                        "/d/0",  "/A",   "a",    "/a/9999999999", "/~1"};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_null(pointer_find(root, cases[i]));
    assert_non_null(pointer_find(root, "/~01"));
    assert_null(pointer_find(NULL, "/a"));
}

static void setting_makes_the_objects_on_the_way(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"{}", "/a", "{\"a\":9}"},
        {"{}", "/a/b/c", "{\"a\":{\"b\":{\"c\":9}}}"},
        {"{}", "/a~1b/~0", "{\"a/b\":{\"~\":9}}"},
        {"{\"a\":{\"x\":1}}", "/a/b", "{\"a\":{\"x\":1,\"b\":9}}"},
        {"{\"a\":1}", "/a", "{\"a\":9}"},
        {"{\"a\":[1,2]}", "/a/0", "{\"a\":[9,2]}"},
        {"{\"a\":[1,2]}", "/a/1", "{\"a\":[1,9]}"},
        {"{\"a\":[1,2]}", "/a/-", "{\"a\":[1,2,9]}"},
        {"{\"a\":[{}]}", "/a/0/b/c", "{\"a\":[{\"b\":{\"c\":9}}]}"},
        {"[]", "/-", "[9]"},
        {"{}", "/", "{\"\":9}"},
        {"{}", "/*", "{\"*\":9}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON root = parsed(cases[i][0]);
        assert_true(pointer_set(root, cases[i][1], json_new_int64(9)));
        assert_text(root, cases[i][2]);
    }
}

static void setting_where_nothing_can_be_changes_nothing(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,2],\"s\":\"x\",\"n\":null}";
    static const char *const cases[] = {"", "a", "/a/2", "/a/x", "/a/-/b", "/a/5/b", "/s/b", "/n/b", "/a/01", "/\xff"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON root = parsed(text);
        assert_false(pointer_set(root, cases[i], json_new_int64(9)));
        assert_text(root, text);
    }
    AUTO_JSON root = parsed("{}");
    assert_false(pointer_set(root, "/a", NULL));
    assert_text(root, "{}");
}

static void removing_takes_one_value_out(void **state) {
    (void)state;
    AUTO_JSON root = parsed("{\"a\":[1,2,3],\"b\":{\"c\":1,\"d\":2}}");
    assert_true(pointer_remove(root, "/a/1"));
    assert_true(pointer_remove(root, "/a/1"));
    assert_false(pointer_remove(root, "/a/1"));
    assert_true(pointer_remove(root, "/b/c"));
    assert_false(pointer_remove(root, "/b/c"));
    assert_false(pointer_remove(root, "/x/y"));
    assert_false(pointer_remove(root, ""));
    assert_false(pointer_remove(root, "/a/-"));
    assert_text(root, "{\"a\":[1],\"b\":{\"d\":2}}");
}

struct collected {
    struct buffer text;
    size_t left; // visits until it stops
};

static bool collect(void *ctx, const char *pointer, struct json *value) {
    struct collected *collected = ctx;
    buffer_printf(&collected->text, "%s=", pointer);
    json_print(value, &collected->text);
    buffer_char(&collected->text, ';');
    return --collected->left > 0;
}

static void patterns_visit_what_they_match_in_order(void **state) {
    (void)state;
    AUTO_JSON root =
        parsed("{\"a\":[{\"n\":1,\"*\":5},{\"n\":2},{}],\"b\":{\"x/y\":{\"n\":3},\"~\":{\"n\":4}},\"*\":0}");
    static const char *const cases[][2] = {
        {"/a/*/n", "/a/0/n=1;/a/1/n=2;"},
        {"/b/*/n", "/b/x~1y/n=3;/b/~0/n=4;"},
        {"/*/*/n", "/a/0/n=1;/a/1/n=2;/b/x~1y/n=3;/b/~0/n=4;"},
        {"/a/1/n", "/a/1/n=2;"},
        {"/a/01/n", ""},
        {"/a/*/~2", "/a/0/*=5;"},
        {"/~2", "/*=0;"},
        {"/~2/*", ""},
        {"/a/*/n/*", ""},
        {"/x/*", ""},
        {"a", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct collected collected = {.left = 100};
        buffer_init(&collected.text, 10000);
        buffer_append(&collected.text, "", 0);
        assert_true(pointer_each(root, cases[i][0], collect, &collected));
        assert_string_equal(collected.text.data, cases[i][1]);
        buffer_free(&collected.text);
    }
    AUTO_JSON number = parsed("5");
    struct collected collected = {.left = 100};
    buffer_init(&collected.text, 10000);
    assert_true(pointer_each(number, "", collect, &collected));
    assert_string_equal(collected.text.data, "=5;");
    buffer_free(&collected.text);
}

static void a_visitor_can_stop(void **state) {
    (void)state;
    AUTO_JSON root = parsed("[[1,2],[3,4]]");
    struct collected collected = {.left = 3};
    buffer_init(&collected.text, 10000);
    assert_false(pointer_each(root, "/*/*", collect, &collected));
    assert_string_equal(collected.text.data, "/0/0=1;/0/1=2;/1/0=3;");
    buffer_free(&collected.text);
}

static void patterns_remove_all_that_they_match(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *after;
        size_t count;
    } cases[] = {
        {"/a/*/n", "{\"a\":[{\"m\":1},{}],\"b\":{}}", 2},
        {"/a/*", "{\"a\":[],\"b\":{}}", 2},
        {"/*", "{}", 2},
        {"/*/*/*", "{\"a\":[{},{}],\"b\":{}}", 3},
        {"/a/0", "{\"a\":[{\"n\":2}],\"b\":{}}", 1},
        {"/a/x", "{\"a\":[{\"n\":1,\"m\":1},{\"n\":2}],\"b\":{}}", 0},
        {"", "{\"a\":[{\"n\":1,\"m\":1},{\"n\":2}],\"b\":{}}", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON root = parsed("{\"a\":[{\"n\":1,\"m\":1},{\"n\":2}],\"b\":{}}");
        assert_int_equal(pointer_remove_all(root, cases[i].pattern), cases[i].count);
        assert_text(root, cases[i].after);
    }
    assert_int_equal(pointer_remove_all(NULL, "/a"), 0);
}

static void keys_are_escaped_when_appended(void **state) {
    (void)state;
    struct buffer out;
    buffer_init(&out, 100);
    assert_true(pointer_append(&out, "metadata"));
    assert_true(pointer_append(&out, "a/b~c"));
    assert_true(pointer_append(&out, ""));
    assert_string_equal(out.data, "/metadata/a~1b~0c/");
    buffer_free(&out);
}

static void a_pattern_matches_the_pointers_that_it_stands_for(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *pointer;
        bool matches;
    } cases[] = {
        {"/a", "/a", true},     {"/a", "/ab", false},       {"/a", "/a/b", false},       {"/a/*", "/a", false},
        {"/a/*", "/a/7", true}, {"/a/*/b", "/a/x/b", true}, {"/a/*/b", "/a/x/c", false}, {"/a~1b", "/a~1b", true},
        {"/*/*", "/a/b", true}, {"/a*", "/ab", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (pointer_matches(cases[i].pattern, cases[i].pointer) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].pointer);
    assert_string_equal(pointer_step("/a~1b/*/c", "a/b"), "/*/c");
    assert_string_equal(pointer_step("/*/c", "anything"), "/c");
    assert_string_equal(pointer_step("/~2", "*"), "");
    assert_null(pointer_step("/ab/c", "a"));
    assert_null(pointer_step("/a", "ab"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_matches_the_pointers_that_it_stands_for),
        cmocka_unit_test(pointers_are_checked),
        cmocka_unit_test(the_examples_of_the_rfc_are_found),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(setting_makes_the_objects_on_the_way),
        cmocka_unit_test(setting_where_nothing_can_be_changes_nothing),
        cmocka_unit_test(removing_takes_one_value_out),
        cmocka_unit_test(patterns_visit_what_they_match_in_order),
        cmocka_unit_test(a_visitor_can_stop),
        cmocka_unit_test(patterns_remove_all_that_they_match),
        cmocka_unit_test(keys_are_escaped_when_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
