// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void the_nearest_word_is_found_if_it_is_near(void **state) {
    (void)state;
    static const char *const known[] = {"kubeconfig", "context", "name", "labels", "qps"};
    static const struct {
        const char *word, *meant;
    } cases[] = {
        {"kubconfig", "kubeconfig"},
        {"kubeConfig", "kubeconfig"},
        {"kubeconfigs", "kubeconfig"},
        {"kbueconfig", "kubeconfig"},
        {"contxt", "context"},
        {"nmae", "name"},
        {"NAME", "name"},
        {"label", "labels"},
        {"qsp", "qps"},
        {"address", NULL},
        {"x", NULL},
        {"", NULL},
        {"n", NULL},
        {"config", NULL},
        {"a-word-that-is-much-longer-than-any-key-could-ever-be", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *meant = suggest(cases[i].word, known, COUNT(known));
        if (!cases[i].meant)
            assert_null(meant);
        else
            assert_string_equal(meant, cases[i].meant);
    }
}

static void without_known_words_there_is_none(void **state) {
    (void)state;
    assert_null(suggest("name", NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_word_is_found_if_it_is_near),
        cmocka_unit_test(without_known_words_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
