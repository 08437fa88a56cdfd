// SPDX-License-Identifier: Apache-2.0
#include "core/serve/ui/ui.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *find(const struct ui *ui, const char *text) {
    return memmem(ui->html, ui->len, text, strlen(text));
}

static void the_policy_allows_only_the_pages_own_script_and_style(void **state) {
    (void)state;
    struct ui ui;
    assert_null(ui_open(&ui));
    assert_non_null(strstr(ui.policy, "default-src 'none'; script-src 'sha256-"));
    assert_non_null(strstr(ui.policy, "style-src 'sha256-"));
    assert_null(strstr(ui.policy, "unsafe"));
    assert_null(strstr(ui.policy, "http"));
}

static void the_page_is_one_document_without_references_to_others(void **state) {
    (void)state;
    struct ui ui;
    static const char *const references[] = {
        " src=",    "<link rel=\"stylesheet\"", "@import", "url(", "onclick=", "style=\"", "https://", "eval(",
        "innerHTML"};
    assert_null(ui_open(&ui));
    assert_memory_equal(ui.html, "<!doctype html>", 15);
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
        if (find(&ui, references[i]))
            fail_msg("the page has %s", references[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_allows_only_the_pages_own_script_and_style),
        cmocka_unit_test(the_page_is_one_document_without_references_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
