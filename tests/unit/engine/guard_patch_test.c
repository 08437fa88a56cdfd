// SPDX-License-Identifier: Apache-2.0
// The patch by which the guard suspends a mirror.
#include "core/adapter/phase.h"
#include "core/engine/fence/guard.h"
#include "core/json/pointer.h"
#include "tests/unit/plugins/job_harness.h"

static void the_patch_says_when_and_whose_object_it_is(void **state) {
    (void)state;
    struct kind *kind = NULL;
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &kind));
    AUTO_JSON object = harness_json("{'metadata':{'name':'a','uid':'u'}}");
    struct moment now = {0};
    assert_true(clock_parse_rfc3339(HARNESS_NOW, &now.wall_ns));
    AUTO_JSON patch = guard_patch(kind, object, now);
    AUTO_JSON expected = harness_json("{'metadata':{'uid':'u','annotations':{'wharf.dev/fenced':'" HARNESS_NOW "'}},"
                                      "'spec':{'suspend':true}}");
    assert_true(json_equal(patch, expected));
    kind_free(kind);
}

// Numbers and booleans as the kind says, or as the object has them.
static void the_patch_suspends_in_the_type_of_the_field(void **state) {
    (void)state;
    static const struct {
        const char *suspend, *value, *object, *expected;
        wharf_type type;
    } rows[] = {
        {"/spec/replicas", "0", "{'spec':{'replicas':3}}", "0", WHARF_NUMBER},
        {"/spec/replicas", "0", "{'spec':{}}", "0", WHARF_ABSENT},
        {"/spec/replicas", "0", "{'spec':{'replicas':'3'}}", "'0'", WHARF_ABSENT},
        {"/spec/replicas", "0", "{'spec':{'replicas':3}}", "'0'", WHARF_STRING},
        {"/spec/run", "false", "{'spec':{'run':true}}", "false", WHARF_BOOL},
        {"/spec/run", "false", "{}", "false", WHARF_ABSENT},
        {"/spec/run", "false", "{'spec':{'run':'true'}}", "'false'", WHARF_ABSENT},
        {"/spec/state", "Halted", "{'spec':{'state':'Run'}}", "'Halted'", WHARF_ABSENT},
        {"/spec/state", "Halted", "{'spec':{'state':7}}", "'Halted'", WHARF_ABSENT},
        {"/spec/state", NULL, "{}", "true", WHARF_ABSENT},
        {"/metadata/annotations/example.com~1stop", NULL, "{'metadata':{'annotations':{}}}", "'true'", WHARF_ABSENT},
        {"/metadata/annotations/example.com~1stop", "1", "{'metadata':{'annotations':{}}}", "'1'", WHARF_STRING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wharf_kind given = *job_kind;
        given.suspend = rows[i].suspend;
        given.suspend_value = rows[i].value;
        given.suspend_type = rows[i].type;
        given.carried = (const wharf_carried[]){{.pointer = "/spec"}, {.pointer = NULL}};
        given.managed_by = "/metadata/annotations/example.com~1manager";
        given.managed_by_builtin = NULL;
        given.removed = NULL;
        struct kind *kind = NULL;
        AUTO_ERROR error = kind_check(&given, NULL, "wharf.dev/host", &kind);
        if (error)
            fail_msg("%s", error_text(error));
        AUTO_JSON object = harness_json(rows[i].object);
        AUTO_JSON patch = guard_patch(kind, object, (struct moment){0});
        AUTO_JSON expected = harness_json(rows[i].expected);
        if (!json_equal(pointer_find(patch, rows[i].suspend), expected))
            fail_msg("row %zu: %s", i, rows[i].expected);
        assert_true(patch_apply(&object, patch) && phase_suspend_asked(&kind->abi, object));
        kind_free(kind);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_patch_says_when_and_whose_object_it_is),
        cmocka_unit_test(the_patch_suspends_in_the_type_of_the_field),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
