// SPDX-License-Identifier: Apache-2.0
// The annotation wharf.dev/progress of a workload with children.
#include "core/engine/continuity/children_kept.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "tests/unit/quoted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json *read_quoted(const char *quoted, const char *uid) {
    AUTO_JSON value = parsed(quoted);
    AUTO_TEXT text = json_text(value, NULL);
    return kept_read(text, uid);
}

static void children_are_read_as_they_were_printed(void **state) {
    (void)state;
    AUTO_JSON kept = json_new_object();
    assert_true(kept_add(kept, "jobs", "a-w-0", parsed("{'status':{'completedIndexes':'0-2','succeeded':3}}")));
    assert_true(kept_add(kept, "jobs", "a-w-1", parsed("{'status':{'succeeded':1}}")));
    assert_true(kept_add(kept, "pods", "a", parsed("{}")));
    size_t dropped = 7;
    AUTO_TEXT text = kept_print(kept, "u-1", KEPT_MAX, &dropped);
    assert_int_equal(dropped, 0);
    assert_string_equal(text,
                        "{\"uid\":\"u-1\",\"children\":{\"jobs\":{\"a-w-0\":{\"status\":{\"completedIndexes\":\"0-2\","
                        "\"succeeded\":3}},\"a-w-1\":{\"status\":{\"succeeded\":1}}},\"pods\":{\"a\":{}}}}");
    AUTO_JSON again = kept_read(text, "u-1");
    assert_true(json_equal(again, kept));
    assert_non_null(kept_of(again, "jobs", "a-w-1"));
    assert_non_null(kept_of(again, "pods", "a"));
    assert_null(kept_of(again, "jobs", "a"));
    assert_null(kept_of(again, "things", "a"));
    assert_null(kept_of(NULL, "jobs", "a"));
}

static void other_texts_keep_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{}",
        "[]",
        "7",
        "{'uid':'u-2','children':{'jobs':{'a':{}}}}", // of another workload
        "{'children':{'jobs':{'a':{}}}}",
        "{'uid':7,'children':{'jobs':{'a':{}}}}",
        "{'uid':'u-1'}",
        "{'uid':'u-1','children':[]}",
        "{'uid':'u-1','children':{'jobs':[]}}",
        "{'uid':'u-1','children':{'jobs':{'a':7}}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(read_quoted(texts[i], "u-1"));
    assert_null(kept_read(NULL, "u-1"));
    assert_null(kept_read("", "u-1"));
    assert_null(kept_read("{\"uid\":", "u-1"));
    AUTO_TEXT long_name = malloc(KEPT_MAX); // the host writes no such annotation
    memset(long_name, 'a', KEPT_MAX);
    long_name[KEPT_MAX - 1] = '\0';
    AUTO_TEXT too_long = text_format("{\"uid\":\"u-1\",\"children\":{\"jobs\":{\"%s\":{}}}}", long_name);
    assert_null(kept_read(too_long, "u-1"));
    AUTO_JSON good = read_quoted("{'uid':'u-1','children':{'jobs':{'a':{}}}}", "u-1");
    assert_non_null(good);
}

static void the_largest_children_are_left_out(void **state) {
    (void)state;
    AUTO_JSON kept = json_new_object();
    enum { CHILDREN = 3000 };
    char name[32], indexes[256];
    for (unsigned i = 0; i < CHILDREN; i++) {
        snprintf(name, sizeof name, "a-%u", i);
        memset(indexes, '1', sizeof indexes);
        indexes[i % 7 == 0 ? 200 : 10] = '\0';
        AUTO_JSON what = json_new_object();
        assert_true(json_set(what, "done", json_new_string(indexes)));
        assert_true(kept_add(kept, "jobs", name, TAKE(what)));
    }
    size_t dropped = 0;
    AUTO_TEXT text = kept_print(kept, "u-1", KEPT_MAX, &dropped);
    assert_true(strlen(text) <= KEPT_MAX);
    assert_true(strlen(text) > KEPT_MAX - 300); // no more than needed
    assert_int_equal(json_size(json_get(kept, "jobs")) + dropped, CHILDREN);
    assert_null(kept_of(kept, "jobs", "a-0"));
    assert_null(kept_of(kept, "jobs", "a-2996")); // 7 * 428
    AUTO_JSON again = kept_read(text, "u-1");
    assert_true(json_equal(again, kept));
}

static void one_child_may_be_too_large(void **state) {
    (void)state;
    AUTO_JSON kept = json_new_object();
    char *long_text = malloc(KEPT_MAX + 1);
    memset(long_text, '1', KEPT_MAX);
    long_text[KEPT_MAX] = '\0';
    AUTO_JSON what = json_new_object();
    assert_true(json_set(what, "done", json_new_string(long_text)));
    free(long_text);
    assert_true(kept_add(kept, "jobs", "large", TAKE(what)));
    assert_true(kept_add(kept, "jobs", "small", parsed("{'done':'1'}")));
    size_t dropped = 0;
    AUTO_TEXT text = kept_print(kept, "u-1", KEPT_MAX, &dropped);
    assert_int_equal(dropped, 1);
    assert_string_equal(text, "{\"uid\":\"u-1\",\"children\":{\"jobs\":{\"small\":{\"done\":\"1\"}}}}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_read_as_they_were_printed),
        cmocka_unit_test(other_texts_keep_nothing),
        cmocka_unit_test(the_largest_children_are_left_out),
        cmocka_unit_test(one_child_may_be_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
