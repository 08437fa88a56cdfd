// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config/config_load.h"

static void tenancy_is_a_word_or_a_mapping(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool impersonate, remove;
    } cases[] = {
        {"", false, false},
        {"tenancy: none\n", false, false},
        {"tenancy: impersonate\n", true, false},
        {"tenancy: {mode: impersonate}\n", true, false},
        {"tenancy: {mode: impersonate, withdrawn: keep}\ncreateNamespaces: false\n", true, false},
        {"tenancy: {mode: impersonate, withdrawn: remove}\n", true, true},
        {"tenancy: {mode: none}\ncreateNamespaces: true\n", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format(GOOD "%s", cases[i].text);
        struct config *config = load_good(text);
        assert_int_equal(config->engine.tenancy.impersonate, cases[i].impersonate);
        assert_int_equal(config->engine.tenancy.remove_withdrawn, cases[i].remove);
        config_free(config);
    }
}

static void what_is_wrong_with_it_is_told(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[4];
    } cases[] = {
        {"tenancy: impersonat\n", {"tenancy: ", "none or impersonate", "did you mean \"impersonate\"?"}},
        {"tenancy: true\n", {"tenancy: ", "none or impersonate"}},
        {"tenancy: {withdrawn: keep}\n", {"tenancy: mode: ", "required"}},
        {"tenancy: {mode: impersonate, withdrawn: move}\n", {"tenancy.withdrawn: ", "keep or remove"}},
        {"tenancy: impersonate\ncreateNamespaces: true\n", {":7: ", "createNamespaces: ", "expected false"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format(GOOD "%s", cases[i].text);
        expect_problem(text, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tenancy_is_a_word_or_a_mapping),
        cmocka_unit_test(what_is_wrong_with_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
