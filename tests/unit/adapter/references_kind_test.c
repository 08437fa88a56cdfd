// SPDX-License-Identifier: Apache-2.0
// The checks of wharf_kind.references.
#include "tests/unit/adapter/kind_cases.h"

#define TASK .group = "tekton.dev", .version = "v1", .resource = "tasks", .kind = "Task"
#define ROWS(...) ((const wharf_reference[]){__VA_ARGS__, {.name = NULL}})

static void references_that_are_wrong_are_named(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        wharf_reference row;
    } cases[] = {
        {"references.name", "spec/a", {.name = "spec/a", TASK}},
        {"references.name", "whole object", {.name = "", TASK}},
        {"references.name", "did you mean \"/spec/a\"", {.name = "/sepc/a", TASK}},
        {"references.name", "field of the spec", {.name = "/status/a", TASK}},
        {"references.name", "field of the spec", {.name = "/metadata/name", TASK}},
        {"references.group", "required", {.name = "/spec/a", .version = "v1", .resource = "tasks", .kind = "Task"}},
        {"references.group",
         "Bad_Group",
         {.name = "/spec/a", .group = "Bad_Group", .version = "v1", .resource = "tasks", .kind = "Task"}},
        {"references.version", "required", {.name = "/spec/a", .group = "", .resource = "tasks", .kind = "Task"}},
        {"references.version",
         "V1",
         {.name = "/spec/a", .group = "", .version = "V1", .resource = "tasks", .kind = "Task"}},
        {"references.resource", "required", {.name = "/spec/a", .group = "", .version = "v1", .kind = "Task"}},
        {"references.resource",
         "Tasks",
         {.name = "/spec/a", .group = "", .version = "v1", .resource = "Tasks", .kind = "Task"}},
        {"references.kind", "required", {.name = "/spec/a", .group = "", .version = "v1", .resource = "tasks"}},
        {"references.kind",
         "task",
         {.name = "/spec/a", .group = "", .version = "v1", .resource = "tasks", .kind = "task"}},
        {"references.kind_at", "spec/kind", {.name = "/spec/a", .kind_at = "spec/kind", TASK}},
        {"references.kind_at", "up to the last", {.name = "/spec/a/*/name", .kind_at = "/spec/b/*/kind", TASK}},
        {"references.namespace_", "up to the last", {.name = "/spec/a/*/name", .namespace_ = "/spec/a/*/b/*/c", TASK}},
        {"references.optional", "whole object", {.name = "/spec/a/*/name", .optional = "", TASK}},
        {"references: /spec/a", "without kind_at", {.name = "/spec/a", TASK, .flags = WHARF_REFERENCE_KIND_DEFAULT}},
        {"references: /spec/a",
         "one of them",
         {.name = "/spec/a", .namespace_ = "/spec/b", TASK, .flags = WHARF_REFERENCE_CLUSTER_SCOPED}},
        {"references: /spec/a",
         "one of them",
         {.name = "/spec/a", .optional = "/spec/b", TASK, .flags = WHARF_REFERENCE_OPTIONAL}},
        {"references: /spec/a", "0x100, expected only 0xff", {.name = "/spec/a", TASK, .flags = 0x100}},
        {"references: /spec/a", "only `name` and `of`", {.name = "/spec/a", TASK, .flags = WHARF_REFERENCE_PODS}},
        {"references: /spec/a",
         "several flags",
         {.name = "/spec/a", .flags = WHARF_REFERENCE_POD_SPECS | WHARF_REFERENCE_OPTIONAL}},
        {"references: /spec/a", "only `name` and `of`", {.name = "/spec/a", .flags = WHARF_REFERENCE_VOLUMES, TASK}},
        {"references: /spec/a",
         "several flags",
         {.name = "/spec/a", .flags = WHARF_REFERENCE_CONTAINERS | WHARF_REFERENCE_VOLUMES}},
        {"references.of", "things.example.com", {.name = "/spec/a", .of = "things.example.com", TASK}},
        {"references.of", "secrets", {.name = "/data/a", .of = "secrets", TASK}},
        {"references: /spec/a",
         "found v2 Secret for secrets, expected v1 Secret",
         {.name = "/spec/a", .group = "", .version = "v2", .resource = "secrets", .kind = "Secret"}},
        {"references: /spec/a",
         "expected v1 RuntimeClass of the cluster",
         {.name = "/spec/a",
          .group = "node.k8s.io",
          .version = "v1",
          .resource = "runtimeclasses",
          .kind = "RuntimeClass"}},
    };
    wharf_reference rows[COUNT(cases)][2] = {{{.name = NULL}}};
    struct wrong all[COUNT(cases)];
    for (size_t i = 0; i < COUNT(cases); i++) {
        rows[i][0] = cases[i].row;
        all[i] = (struct wrong){cases[i].first, cases[i].second, good()};
        all[i].kind.reference_size = sizeof(wharf_reference);
        all[i].kind.references = rows[i];
    }
    assert_all_refused(all, COUNT(all));
}

static void rows_must_agree(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.reference_size = sizeof(wharf_reference);
    kind.references =
        ROWS({.name = "/spec/a", TASK},
             {.name = "/spec/b", .group = "tekton.dev", .version = "v1beta1", .resource = "tasks", .kind = "Task"});
    assert_refused(&kind, NULL, "references: /spec/b", "found v1beta1 Task for tasks.tekton.dev, expected v1 Task");
    // A later row may name the resource of an earlier `of`.
    kind.references = ROWS({.name = "/spec/a", .of = "tasks.tekton.dev", .flags = WHARF_REFERENCE_POD_SPECS},
                           {.name = "/spec/b", TASK}, {.name = "/task", .of = "serviceaccounts", TASK});
    assert_accepted(&kind, NULL, "wharf.dev/host");
}

static void a_list_needs_its_size_and_its_end(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.references = ROWS({.name = "/spec/a", TASK});
    assert_refused(&kind, NULL, "references: found elements of 0 bytes", "(ABI 1.2): WHARF_REFERENCES sets the list");
    static wharf_reference endless[1100];
    for (size_t i = 0; i < COUNT(endless); i++)
        endless[i] = (wharf_reference){.name = "/spec/a", TASK};
    kind.reference_size = sizeof(wharf_reference);
    kind.references = endless;
    assert_refused(&kind, NULL, "references", "1024 entries");
}

// A wharf_kind of 1.0 or 1.1 ends earlier: what follows in memory does not count.
static void an_older_kind_has_no_references(void **state) {
    (void)state;
    wharf_kind given = good();
    given.reference_size = sizeof(wharf_reference);
    given.references = (const wharf_reference *)(uintptr_t)1;
    given.size = offsetof(wharf_kind, reference_size);
    struct kind *kind = NULL;
    assert_null(kind_check(&given, NULL, "wharf.dev/host", &kind));
    assert_null(kind->abi.references);
    assert_null(kind->abi.dependencies);
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_that_are_wrong_are_named),
        cmocka_unit_test(rows_must_agree),
        cmocka_unit_test(a_list_needs_its_size_and_its_end),
        cmocka_unit_test(an_older_kind_has_no_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
