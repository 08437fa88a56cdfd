// SPDX-License-Identifier: Apache-2.0
// Differences of two documents, field by field.
#include "core/cmd/plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// JSON with ' for ".
static struct json *read_json(const char *text) {
    AUTO_TEXT copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    struct json *value = NULL;
    struct error *error = json_parse(copy, strlen(copy), &value);
    assert_null(error);
    return value;
}

static bool note(void *ctx, const struct plan_change *change) {
    AUTO_TEXT from = !change->from ? strdup("") : json_text(change->from, NULL);
    AUTO_TEXT to = !change->to ? strdup("") : json_text(change->to, NULL);
    return buffer_printf(ctx, "%s:%s>%s ", change->pointer, from, to);
}

static void assert_diff(const char *from, const char *to, const char *wanted) {
    AUTO_JSON a = read_json(from);
    AUTO_JSON b = read_json(to);
    AUTO_BUFFER(text, 65536);
    buffer_text(&text, "");
    assert_true(plan_diff(a, b, "", note, &text));
    for (char *c = text.data; c && *c != '\0'; c++)
        if (*c == '"')
            *c = '\'';
    assert_string_equal(!text.data ? "" : text.data, wanted);
}

static void members_are_compared_one_by_one(void **state) {
    (void)state;
    assert_diff("{'a':1,'b':2}", "{'b':2.0,'a':1}", "");
    assert_diff("{'a':1,'b':{'c':1,'d':2}}", "{'a':2,'b':{'c':1,'e':3}}", "/a:1>2 /b/d:2> /b/e:>3 ");
    assert_diff("{'a/b':{'~':1}}", "{}", "/a~1b:{'~':1}> ");
    assert_diff("{'a/b':{'~':1}}", "{'a/b':{'~':2}}", "/a~1b/~0:1>2 ");
    assert_diff("{'a':{'b':1}}", "{'a':[1]}", "/a:{'b':1}>[1] ");
}

static void null_counts_as_absent(void **state) {
    (void)state;
    assert_diff("{'a':null,'b':1}", "{'b':1,'c':null}", "");
    assert_diff("{'a':null}", "{'a':1}", "/a:>1 ");
    assert_diff("{'a':1}", "{'a':null}", "/a:1> ");
    assert_diff("null", "{'a':1}", ":>{'a':1} ");
}

static void lists_of_plain_values_are_compared_whole(void **state) {
    (void)state;
    assert_diff("{'a':['x','y']}", "{'a':['x','y']}", "");
    assert_diff("{'a':['x']}", "{'a':['x','y']}", "/a:['x']>['x','y'] ");
    assert_diff("{'a':[]}", "{'a':['y']}", "/a:[]>['y'] ");
}

static void items_with_names_are_matched_by_them(void **state) {
    (void)state;
    assert_diff("[{'name':'a','v':1},{'name':'b','v':1}]", "[{'name':'s'},{'name':'a','v':1},{'name':'b','v':2}]",
                "/0:>{'name':'s'} /1/v:1>2 ");
    assert_diff("[{'name':'a'},{'name':'b','v':1}]", "[{'name':'b','v':2}]", "/0:{'name':'a'}> /1/v:1>2 ");
    assert_diff("[{'name':'a'}]", "[{'name':'b'}]", "/0:{'name':'a'}> /0:>{'name':'b'} ");
    assert_diff("[{'type':'A','s':'1'},{'type':'B','s':'1'}]", "[{'type':'A','s':'1'},{'type':'B','s':'2'}]",
                "/1/s:'1'>'2' ");
}

static void items_without_names_are_matched_by_what_they_are(void **state) {
    (void)state;
    assert_diff("[{'a':1},{'b':1},{'c':1}]", "[{'a':1},{'c':1}]", "/1:{'b':1}> ");
    assert_diff("[{'a':1},{'c':1}]", "[{'a':1},{'b':1},{'c':1}]", "/1:>{'b':1} ");
    assert_diff("[{'a':1,'x':1}]", "[{'a':2,'x':1}]", "/0/a:1>2 ");
    assert_diff("[[1],[2]]", "[[1],[3]]", "/1:[2]>[3] ");
}

static bool stop(void *ctx, const struct plan_change *change) {
    (void)change;
    ++*(int *)ctx;
    return false;
}

static void it_stops_when_told_to(void **state) {
    (void)state;
    AUTO_JSON a = read_json("{'a':1,'b':2}");
    int calls = 0;
    assert_false(plan_diff(a, NULL, "", stop, &calls));
    AUTO_JSON b = read_json("{}");
    assert_false(plan_diff(a, b, "", stop, &calls));
    assert_int_equal(calls, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_compared_one_by_one),
        cmocka_unit_test(null_counts_as_absent),
        cmocka_unit_test(lists_of_plain_values_are_compared_whole),
        cmocka_unit_test(items_with_names_are_matched_by_them),
        cmocka_unit_test(items_without_names_are_matched_by_what_they_are),
        cmocka_unit_test(it_stops_when_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
