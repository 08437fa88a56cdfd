// SPDX-License-Identifier: Apache-2.0
// The checks of wharf_kind.children.
#include "tests/unit/adapter/kind_cases.h"

#define JOBS .group = "batch", .version = "v1", .plural = "jobs"
#define LABEL .label = "example.com/thing-name"
#define ROWS(...) ((const wharf_child[]){__VA_ARGS__, {.plural = NULL}})

static wharf_result child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                   wharf_value *object) {
    (void)call;
    (void)former;
    (void)child;
    (void)object;
    return WHARF_OK;
}

static wharf_kind with(const wharf_child *children) {
    wharf_kind kind = good();
    kind.child_size = sizeof(wharf_child);
    kind.children = children;
    kind.child_progress = child_progress;
    return kind;
}

static void children_that_are_wrong_are_named(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        wharf_child row;
    } cases[] = {
        {"children.group", "required", {.version = "v1", .plural = "jobs", LABEL}},
        {"children.group", "Bad_Group", {.group = "Bad_Group", .version = "v1", .plural = "jobs", LABEL}},
        {"children.version", "required", {.group = "", .plural = "pods", LABEL}},
        {"children.version", "V1", {.group = "", .version = "V1", .plural = "pods", LABEL}},
        {"children.plural", "Jobs", {.group = "batch", .version = "v1", .plural = "Jobs", LABEL}},
        {"children.label", "required", {JOBS}},
        {"children.label", "found \"\", expected the key of a label", {JOBS, .label = ""}},
        {"children.label", "the key of a label", {JOBS, .label = "example.com/thing name"}},
        {"children.label", "the key of a label", {JOBS, .label = "Example.com/name"}},
        {"children.label", "the key of a label", {JOBS, .label = "a/b/c"}},
    };
    wharf_child rows[COUNT(cases)][2] = {{{.plural = NULL}}};
    struct wrong all[COUNT(cases)];
    for (size_t i = 0; i < COUNT(cases); i++) {
        rows[i][0] = cases[i].row;
        all[i] = (struct wrong){cases[i].first, cases[i].second, with(rows[i])};
    }
    assert_all_refused(all, COUNT(all));
}

static void a_resource_has_one_row(void **state) {
    (void)state;
    wharf_kind kind = with(ROWS({JOBS, LABEL}, {JOBS, .label = "example.com/other"}));
    assert_refused(&kind, NULL, "children.plural", "each resource once");
    kind.children = ROWS({JOBS, LABEL}, {.group = "", .version = "v1", .plural = "pods", .label = "app"});
    assert_accepted(&kind, NULL, "wharf.dev/host");
}

static void children_need_a_function_and_a_mirror_that_waits(void **state) {
    (void)state;
    wharf_kind kind = with(ROWS({JOBS, LABEL}));
    kind.child_progress = NULL;
    assert_refused(&kind, NULL, "children: found \"jobs\"", "no child_progress");
    kind.child_progress = child_progress;
    kind.children = NULL;
    assert_refused(&kind, NULL, "children: found nothing", "child_progress");
    kind = with(ROWS({JOBS, LABEL}));
    kind.suspend = NULL;
    kind.carried = NULL;
    assert_refused(&kind, NULL, "children: found \"jobs\"", "no suspend");
}

static void a_list_needs_its_size(void **state) {
    (void)state;
    wharf_kind kind = with(ROWS({JOBS, LABEL}));
    kind.child_size = 0;
    assert_refused(&kind, NULL, "children: found elements of 0 bytes", "(ABI 1.2): WHARF_CHILDREN sets the list");
}

// A wharf_kind of 1.0 or 1.1 ends earlier: what follows in memory does not count.
static void an_older_kind_has_no_children(void **state) {
    (void)state;
    wharf_kind given = with((const wharf_child *)(uintptr_t)1);
    given.size = offsetof(wharf_kind, child_size);
    struct kind *kind = NULL;
    assert_null(kind_check(&given, NULL, "wharf.dev/host", &kind));
    assert_null(kind->abi.children);
    assert_null(kind->abi.child_progress);
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_that_are_wrong_are_named),
        cmocka_unit_test(a_resource_has_one_row),
        cmocka_unit_test(children_need_a_function_and_a_mirror_that_waits),
        cmocka_unit_test(a_list_needs_its_size),
        cmocka_unit_test(an_older_kind_has_no_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
