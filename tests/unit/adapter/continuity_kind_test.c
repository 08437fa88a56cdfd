// SPDX-License-Identifier: Apache-2.0
// The checks of progress and continuity of a wharf_kind.
#include "tests/unit/adapter/kind_cases.h"

#define VALUES(...) ((const wharf_continuity[]){__VA_ARGS__, {.pointer = NULL}})
#define LONG_NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ABCD" // 41

static wharf_result give(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                         wharf_value *object) {
    (void)call;
    (void)workload;
    (void)mirror;
    (void)object;
    return WHARF_OK;
}

static wharf_kind with_values(const wharf_continuity *values) {
    wharf_kind kind = good();
    kind.continuity_size = sizeof(wharf_continuity);
    kind.continuity = values;
    static const char *const removed[] = {"/status/private", "/status/items/*", NULL};
    kind.status_removed = removed;
    return kind;
}

static void values_that_are_wrong_are_named(void **state) {
    (void)state;
    const struct wrong cases[] = {
        {"continuity.pointer", "a pointer that begins with \"/status/\"",
         with_values(VALUES({"/spec/checkpoint", "CHECKPOINT"}))},
        {"continuity.pointer", "did you mean \"/status/checkpoint\"",
         with_values(VALUES({"/statsu/checkpoint", "CHECKPOINT"}))},
        {"continuity.pointer", "whole object", with_values(VALUES({"", "ALL"}))},
        {"continuity.pointer", "no pattern", with_values(VALUES({"/status/steps/*/name", "STEP"}))},
        {"continuity.pointer", "not to be in status_removed, which has \"/status/private\"",
         with_values(VALUES({"/status/private/path", "PATH"}))},
        {"continuity.pointer", "which has \"/status/items/*\"", with_values(VALUES({"/status/items/0/path", "PATH"}))},
        {"continuity.name", "required", with_values(VALUES({"/status/checkpoint", NULL}))},
        {"continuity.name", "at most 40 upper-case letters", with_values(VALUES({"/status/checkpoint", ""}))},
        {"continuity.name", "found \"checkpoint\"", with_values(VALUES({"/status/checkpoint", "checkpoint"}))},
        {"continuity.name", "found \"A-B\"", with_values(VALUES({"/status/checkpoint", "A-B"}))},
        {"continuity.name", LONG_NAME, with_values(VALUES({"/status/checkpoint", LONG_NAME}))},
        {"continuity.name", "it once in the list", with_values(VALUES({"/status/a", "A"}, {"/status/b", "A"}))},
    };
    assert_all_refused(cases, COUNT(cases));
    wharf_kind fine = with_values(VALUES({"/status/checkpoint", LONG_NAME + 1}, {"/status/steps/0/name", "STEP_1"}));
    assert_accepted(&fine, NULL, "wharf.dev/host");
}

static void sixteen_values_are_the_most(void **state) {
    (void)state;
    wharf_continuity values[18] = {{.pointer = NULL}};
    char names[17][8];
    for (size_t i = 0; i < 17; i++) {
        snprintf(names[i], sizeof names[i], "V%zu", i);
        values[i] = (wharf_continuity){"/status/v", names[i]};
    }
    wharf_kind kind = with_values(values);
    assert_refused(&kind, NULL, "continuity: found 17 values", "at most 16");
    values[16].pointer = NULL;
    assert_accepted(&kind, NULL, "wharf.dev/host");
}

static wharf_kind with_progress(uint32_t flags) {
    wharf_kind kind = good();
    kind.progress = give;
    kind.flags = flags;
    return kind;
}

static void progress_needs_suspend_and_a_status_subresource(void **state) {
    (void)state;
    wharf_kind kind = with_progress(0);
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind.suspend = NULL;
    kind.carried = NULL;
    assert_refused(&kind, NULL, "progress", "expected suspend");
    kind = with_progress(WHARF_KIND_NO_STATUS_SUBRESOURCE);
    assert_refused(&kind, NULL, "progress", "expected a status subresource");
}

static void the_list_needs_its_size(void **state) {
    (void)state;
    wharf_kind kind = with_values(VALUES({"/status/checkpoint", "CHECKPOINT"}));
    kind.continuity_size = 0;
    assert_refused(&kind, NULL, "continuity: found elements of 0 bytes", "WHARF_CONTINUITY sets the list");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_wrong_are_named),
        cmocka_unit_test(sixteen_values_are_the_most),
        cmocka_unit_test(progress_needs_suspend_and_a_status_subresource),
        cmocka_unit_test(the_list_needs_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
