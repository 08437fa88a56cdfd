// SPDX-License-Identifier: Apache-2.0
// The data that came with ABI 1.2.
#include "tests/unit/adapter/kind_cases.h"

static void words_of_1_2_that_are_wrong_are_named(void **state) {
    (void)state;
    static const wharf_phase_rule also = {"/status/retries", "0", .flags = WHARF_RULE_AND},
                                  exists = {"/status/end", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS};
    struct wrong cases[64];
    size_t i = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        cases[c] = (struct wrong){NULL, "", good()};
    cases[i].kind.phases = RULES(exists, also);
    WRONG("phases", "WHARF_RULE_AND in the last rule");
    cases[i].kind.phases = RULES({"/status/a", "b", .phase = WHARF_FAILED, .flags = WHARF_RULE_AND}, exists);
    WRONG("phases", "expected the phase in the last");
    cases[i].kind.phases = RULES(also, exists), cases[i].kind.flags = WHARF_KIND_NEVER_FINISHES;
    WRONG("phases", "found a final phase");
    cases[i].kind.phases = RULES({"/status/a", "b", .flags = WHARF_RULE_AND | WHARF_RULE_WHILE_SUSPENDED}, exists);
    WRONG("phases", "not final");
    cases[i].kind.phase = NULL, cases[i].kind.phases = RULES(also, {"/status/a", "b", .phase = WHARF_PENDING});
    WRONG("phases", "no rule for WHARF_SUCCEEDED");
    cases[i].kind.phases = RULES(exists, also, exists);
    WRONG("phases", "(2), expected one: the earlier one (1)");
    cases[i].kind.phases = RULES(exists, {"/status/end", "soon", .phase = WHARF_FAILED});
    WRONG("phases", "always matches first");
    cases[i].kind.phases = RULES({"/status/a", .values = LIST("x", "y")}, {"/status/a", "y", .phase = WHARF_FAILED});
    WRONG("phases", "always matches first");
    cases[i].kind.phases =
        RULES({"/status/c", "x", .flags = WHARF_RULE_EXISTS}, {.pointer = "/status/c", "x", "False"});
    WRONG("phases", "always matches first");
    cases[i].kind.phases = RULES({"/status/a", "x", .values = LIST("y", "x"), .phase = WHARF_FAILED});
    WRONG("phases", "among more values");
    cases[i].kind.phases = RULES({"/status/a", "x", .values = LIST("y", ""), .phase = WHARF_FAILED});
    WRONG("phases", "an empty value");
    cases[i].kind.phases = RULES({"/status/a", .values = LIST("y", "y"), .phase = WHARF_FAILED});
    WRONG("phases.values", "a second time");
    cases[i].kind.phases = RULES({"/status/a", .values = (const char *const[]){NULL}, .phase = WHARF_FAILED});
    WRONG("phases", "a value with it");
    cases[i].kind.phases = RULES({"/status/c", "x", "True", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS});
    WRONG("phases", "status with WHARF_RULE_EXISTS");
    cases[i].kind.phases = RULES({"/status/c", "x", .key = "status", .phase = WHARF_FAILED});
    WRONG("phases", "expected WHARF_RULE_EXISTS with it");
    cases[i].kind.phases = RULES({"/status/c", "x", .key = "a/b", .phase = WHARF_FAILED});
    WRONG("phases", "found no name in key");
    cases[i].kind.phases = RULES({"/status/c", .key = "a", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS});
    WRONG("phases", "key or reason");
    cases[i].kind.phases = RULES({"/status/c", "x", .key = "a", .phase = WHARF_FAILED}),
    cases[i].kind.status_removed = LIST("/status/c/*/a");
    WRONG("phases", "not to be in status_removed");
    cases[i].kind.pods = PODS(.templates = "/spec/a", .offset = 1);
    WRONG("pods", "found offset 1 without counts");
    cases[i].kind.pods = PODS(.templates = "/spec/a", .flags = 2);
    WRONG("pods", "unknown flags 0x2");
    cases[i].kind.pods = PODS(.templates = "/spec/a", .fallback = "/spec/a");
    WRONG("pods.fallback", "another place");
    cases[i].kind.pods = PODS(.templates = "/spec/*/a", .fallback = "/spec/b");
    WRONG("pods.fallback", "the same path up to the last");
    cases[i].kind.pods = PODS(.templates = "/spec/a", .fallback = "/spec/*/b");
    WRONG("pods.fallback", "the same path up to the last");
    cases[i].kind.suspend_values = LIST("a", "true");
    WRONG("suspend_values", "other than suspend_value");
    cases[i].kind.suspend_values = LIST("a", "a");
    WRONG("suspend_values", "a second time");
    cases[i].kind.suspend = NULL, cases[i].kind.suspend_values = LIST("a");
    WRONG("suspend_values", "no suspend");
    cases[i].kind.suspend_type = WHARF_ARRAY;
    WRONG("suspend_type", "found 5, expected 2 to 4");
    cases[i].kind.suspend_type = WHARF_NUMBER;
    WRONG("suspend_value", "found \"true\", expected a number");
    cases[i].kind.suspend_type = WHARF_BOOL, cases[i].kind.suspend_value = "0";
    WRONG("suspend_value", "found \"0\", expected true or false");
    cases[i].kind.suspend = "/metadata/annotations/example.com~1stop", cases[i].kind.suspend_type = WHARF_BOOL;
    WRONG("suspend", "WHARF_STRING as the suspend_type");
    cases[i].kind.suspend = "/metadata/annotations/my.wharf.dev~1stop";
    WRONG("suspend", "not the host's own");
    cases[i].kind.suspend = "/metadata/annotations/wharf.dev~1stop";
    WRONG("suspend", "not the host's own");
    cases[i].kind.suspend = "/metadata/labels/stop", cases[i].kind.removed = LIST("/metadata/labels/*");
    WRONG("suspend", "not to be in removed");
    cases[i].kind.suspend = "/metadata/name";
    WRONG("suspend", "one label or annotation");
    assert_all_refused(cases, i);
}

static void words_of_1_2_that_are_meant_are_accepted(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.suspend = "/metadata/annotations/example.com~1stop";
    kind.suspend_values = LIST("yes", "1");
    kind.suspend_type = WHARF_STRING;
    kind.carried = NULL;
    kind.phase = NULL;
    kind.phases = RULES({"/status/c", "a", .flags = WHARF_RULE_AND}, {"/status/c", "b", .phase = WHARF_FAILED},
                        {"/status/c", "a", .flags = WHARF_RULE_AND}, {"/status/c", "c", .phase = WHARF_FAILED},
                        {"/status/c", "a", .flags = WHARF_RULE_AND}, {"/status/c", "d", .flags = WHARF_RULE_AND},
                        {"/status/c", "e", .phase = WHARF_SUCCEEDED}, {"/status/c", "a", .phase = WHARF_PENDING},
                        {"/status/c", "a", "False", .key = "kind", .phase = WHARF_PENDING},
                        {"/status/c", .values = LIST("a", "f"), .phase = WHARF_PENDING},
                        {"/status/c", "a", .phase = WHARF_PENDING, .flags = WHARF_RULE_EXISTS});
    kind.pods = PODS(.templates = "/spec/*/a", .counts = LIST("/spec/*/n", "/spec/m"), .offset = -1,
                     .fallback = "/spec/*/b/c", .flags = WHARF_PODS_ARE_SPECS);
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind.suspend = "/metadata/labels/stop";
    assert_accepted(&kind, NULL, "wharf.dev/host");
}

// The structs of 1.1 end before the new fields, whose memory is something else.
static void a_kind_of_1_1_has_none_of_the_new_words(void **state) {
    (void)state;
    struct rule_1_1 {
        const char *pointer, *value, *status, *reason;
        uint32_t phase, flags;
    };
    static const struct rule_1_1 rules[] = {{"/status/state", "a", NULL, NULL, WHARF_FAILED, 0}, {.pointer = NULL}};
    static const char *const pods[] = {"/spec/template", NULL, NULL, NULL};
    static const char junk[] = "junk";
    wharf_kind given = good();
    given.size = offsetof(wharf_kind, suspend_values);
    given.phase_rule_size = sizeof(struct rule_1_1);
    given.pods_size = 2 * sizeof(char *);
    given.phases = (const void *)rules;
    given.pods = (const void *)pods;
    given.suspend_values = (const void *)junk;
    given.refused = junk;
    given.suspend_type = 99;
    struct kind *kind = NULL;
    assert_null(kind_check(&given, NULL, "wharf.dev/host", &kind));
    assert_true(!kind->abi.suspend_values && !kind->abi.refused && kind->abi.suspend_type == WHARF_ABSENT);
    assert_true(!kind->abi.phases[0].values && !kind->abi.phases[0].key && !kind->abi.phases[1].pointer);
    assert_true(!kind->abi.pods[0].fallback && !kind->abi.pods[0].offset && !kind->abi.pods[0].flags);
    assert_string_equal(kind->abi.pods[0].templates, "/spec/template");
    assert_null(kind->abi.pods[1].templates);
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_1_2_that_are_wrong_are_named),
        cmocka_unit_test(words_of_1_2_that_are_meant_are_accepted),
        cmocka_unit_test(a_kind_of_1_1_has_none_of_the_new_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
