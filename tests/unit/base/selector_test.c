// SPDX-License-Identifier: Apache-2.0
#include "core/base/selector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void a_selector_matches_as_kubernetes_does(void **state) {
    (void)state;
    static const struct {
        const char *selector, *labels;
        bool matches;
    } cases[] = {
        {"", NULL, true},
        {" ", "a=b", true},
        {"a=b", "a=b", true},
        {"a=b", "x=y,a=b", true},
        {"a=b", "aa=b,xa=b", false},
        {"a=b", "a=bb", false},
        {"a==b", "a=b", true},
        {"a=b", NULL, false},
        {"a=", "a=", true},
        {"a=", "x=y", false},
        {"a!=b", "a=c", true},
        {"a!=b", "x=y", true},
        {"a != b", "a=b", false},
        {"a in (b, c)", "a=c", true},
        {"a in (b,c)", "a=d", false},
        {"a in (b,)", "a=", true},
        {"a notin (b,c)", "a=c", false},
        {"a notin (b,c)", "x=c", true},
        {"a", "a=", true},
        {"a", "b=a", false},
        {"!a", "b=a", true},
        {"! a", "a=1", false},
        {"gpus>3", "gpus=4", true},
        {"gpus>3", "gpus=3", false},
        {"gpus<3", "gpus=2", true},
        {"gpus<3", "gpus=many", false},
        {"gpus<3", NULL, false},
        {"zone=a,!spot,tier in (x,y)", "tier=y,zone=a", true},
        {"zone=a,!spot,tier in (x,y)", "tier=y,zone=a,spot=true", false},
        {"in=a,notin=b", "in=a,notin=b", true},
        {"in in (in)", "in=in", true},
        {"example.com/gpu=h100", "example.com/gpu=h100", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct selector selector;
        struct error *error = selector_parse(cases[i].selector, &selector);
        if (error)
            fail_msg("%s: %s", cases[i].selector, error_text(error));
        if (selector_is_met(&selector, cases[i].labels) != cases[i].matches)
            fail_msg("%s on %s", cases[i].selector, cases[i].labels ? cases[i].labels : "no labels");
        selector_clear(&selector);
    }
}

static void a_wrong_selector_is_told_with_where(void **state) {
    (void)state;
    static const struct {
        const char *selector, *problem;
    } cases[] = {
        {"a=b,", "found \"the end of the selector\", expected a label key"},
        {"=b", "found \"=b\", expected a label key"},
        {"a in b", "found \"b\", expected values in parentheses"},
        {"a in (b", "found \"the end of the selector\", expected \",\" or \")\""},
        {"a in (b) c", "found \"c\", expected \",\" or the end"},
        {"a b", "found \"b\", expected \",\" or the end"},
        {"a=-b", "found \"-b\", expected a label value"},
        {"a>b", "found \"b\", expected a whole number"},
        {"a=b=c", "found \"=c\", expected \",\" or the end"},
        {"x/y/z", "found \"x/y/z\", expected a label key"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct selector selector;
        struct error *error = selector_parse(cases[i].selector, &selector);
        if (!error)
            fail_msg("%s", cases[i].selector);
        assert_string_equal(error_text(error), cases[i].problem);
        assert_null(selector.terms);
        error_free(error);
    }
}

static void a_pattern_matches_a_whole_name(void **state) {
    (void)state;
    static const struct {
        const char *list, *name;
        bool matches;
    } cases[] = {
        {"team-*", "team-a", true},
        {"team-*", "team-", true},
        {"team-*", "my-team-a", false},
        {"*", "", true},
        {"a*c*e", "abcde", true},
        {"a*c*e", "abcdef", false},
        {"*-prod,default", "x-prod", true},
        {"*-prod,default", "default", true},
        {"*-prod,default", "defaults", false},
        {"", "a", false},
        {"a**b", "axxb", true},
        {"*ab", "aab", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (pattern_list_matches(cases[i].list, cases[i].name) != cases[i].matches)
            fail_msg("%s on %s", cases[i].list, cases[i].name);
}

static void labels_are_put_one_after_another(void **state) {
    (void)state;
    AUTO_BUFFER(labels, 64);
    assert_true(labels_add(&labels, "a", "b"));
    assert_true(labels_add(&labels, "c", ""));
    assert_string_equal(labels.data, "a=b,c=");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_selector_matches_as_kubernetes_does),
        cmocka_unit_test(a_wrong_selector_is_told_with_where),
        cmocka_unit_test(a_pattern_matches_a_whole_name),
        cmocka_unit_test(labels_are_put_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
