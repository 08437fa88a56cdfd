// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/adapter/kind_cases.h"

#include <sys/mman.h>
#include <unistd.h>

static void names_that_are_wrong_are_named(void **state) {
    (void)state;
    struct wrong cases[] = {
        {"struct wharf_kind", "found size 8", good()},
        {"group", "required", good()},
        {"group", "Bad_Group", good()},
        {"kind", "required", good()},
        {"kind", "thing", good()},
        {"kind", "Thing-Two", good()},
        {"plural", "required", good()},
        {"plural", "Things", good()},
        {"versions", "required", good()},
        {"versions", "required", good()},
        {"versions", "V1", good()},
        {"flags", "0x80", good()},
        {"plural and group", "63", good()},
    };
    size_t i = 0;
    cases[i++].kind.size = 8;
    cases[i++].kind.group = NULL;
    cases[i++].kind.group = "Bad_Group";
    cases[i++].kind.kind = NULL;
    cases[i++].kind.kind = "thing";
    cases[i++].kind.kind = "Thing-Two";
    cases[i++].kind.plural = NULL;
    cases[i++].kind.plural = "Things";
    cases[i++].kind.versions = NULL;
    cases[i++].kind.versions = (const char *const[]){NULL};
    cases[i++].kind.versions = LIST("v1", "V1");
    cases[i++].kind.flags = WHARF_KIND_NEVER_FINISHES | 0x80;
    cases[i++].kind.group = "a-very-long-name-of-an-api-group-that-somebody-thought-of.example.com";
    assert_int_equal(i, COUNT(cases));
    assert_all_refused(cases, COUNT(cases));
}

static void pointers_that_are_wrong_are_named(void **state) {
    (void)state;
    struct wrong cases[] = {
        {"managed_by", "required", good()},
        {"managed_by", "spec", good()},
        {"managed_by", "whole object", good()},
        {"managed_by", "/spec/~x", good()},
        {"suspend", "spec/suspend", good()},
        {"suspend_value", "no suspend", good()},
        {"removed", "spec/ttl", good()},
        {"removed", "whole object", good()},
        {"pods.templates", "spec/template", good()},
        {"pods.counts", "up to the last", good()},
        {"pods.counts", "up to the last", good()},
        {"status_removed", "begins with \"/status/\"", good()},
        {"observed_generation", "begins with \"/status/\"", good()},
        {"phase", "neither the function nor rules", good()},
    };
    size_t i = 0;
    cases[i++].kind.managed_by = NULL;
    cases[i++].kind.managed_by = "spec";
    cases[i++].kind.managed_by = "";
    cases[i++].kind.managed_by = "/spec/~x";
    cases[i++].kind.suspend = "spec/suspend";
    cases[i].kind.suspend = NULL;
    cases[i++].kind.suspend_value = "Paused";
    cases[i++].kind.removed = LIST("/spec/*/a", "spec/ttl");
    cases[i++].kind.removed = LIST("");
    cases[i++].kind.pods = PODS(.templates = "spec/template");
    cases[i++].kind.pods = PODS(.templates = "/spec/jobs/*/template", .counts = LIST("/spec/tasks/*/replicas"));
    cases[i++].kind.pods = PODS(.templates = "/spec/*", .counts = LIST("/spec/*/a/*"));
    cases[i++].kind.status_removed = LIST("/spec/a");
    cases[i++].kind.observed_generation = "/spec/generation";
    cases[i++].kind.phase = NULL;
    assert_int_equal(i, COUNT(cases));
    assert_all_refused(cases, COUNT(cases));
}

static void carried_fields_that_are_wrong_are_named(void **state) {
    (void)state;
    struct wrong cases[] = {
        {"carried", "/metadata/labels", good()},    {"carried", "/status", good()},
        {"carried", "managed_by is never", good()}, {"carried", "found 7 for when", good()},
        {"carried", "without suspend", good()},
    };
    size_t i = 0;
    cases[i++].kind.carried = CARRIED({"/metadata/labels", NULL, WHARF_CARRY_ALWAYS});
    cases[i++].kind.carried = CARRIED({"/spec/a", NULL, WHARF_CARRY_ALWAYS}, {"/status", NULL, WHARF_CARRY_ALWAYS});
    cases[i++].kind.carried = CARRIED({"/spec/managedBy", NULL, WHARF_CARRY_ALWAYS});
    cases[i++].kind.carried = CARRIED({"/spec/a", NULL, 7});
    cases[i].kind.suspend = NULL;
    cases[i++].kind.carried = CARRIED({"/spec/a", NULL, WHARF_CARRY_WHILE_SUSPENDED});
    assert_int_equal(i, COUNT(cases));
    assert_all_refused(cases, COUNT(cases));
}

static void values_of_managed_by_that_are_wrong_are_named(void **state) {
    (void)state;
    struct wrong cases[] = {
        {"managed_by_builtin", "NULL if", good()},
        {"managed_by_allowed", "at least one", good()},
        {"managed_by_allowed", "other than the built-in", good()},
        {"managed_by_default", "own controller", good()},
        {"managed_by_default", "\"a.example/b\", \"c.example/d\"", good()},
        {"managed_by_default", "domain-prefixed", good()},
    };
    size_t i = 0;
    cases[i++].kind.managed_by_builtin = "";
    cases[i++].kind.managed_by_allowed = (const char *const[]){NULL};
    cases[i++].kind.managed_by_allowed = LIST("a.example/b", "example.com/builtin");
    cases[i++].kind.managed_by_default = "example.com/builtin";
    cases[i].kind.managed_by_allowed = LIST("a.example/b", "c.example/d");
    cases[i++].kind.managed_by_default = "e.example/f";
    cases[i++].kind.managed_by_default = "no-path";
    assert_int_equal(i, COUNT(cases));
    assert_all_refused(cases, COUNT(cases));
}

static void what_real_kinds_need_is_accepted(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.carried =
        CARRIED({"/spec/jobs/*/replicas", "title", WHARF_CARRY_ALWAYS}, {"/spec/a", NULL, WHARF_CARRY_WHILE_SUSPENDED});
    kind.removed = LIST("/spec/ttlSecondsAfterFinished", "/spec/inner/managedBy", "/spec/jobs/*/id");
    kind.pods =
        PODS(.templates = "/spec/jobs/*/template",
             .counts = LIST("/spec/jobs/*/replicas", "/spec/jobs/*/numOfHosts", "/spec/parallelism", "/spec/a"));
    kind.status_removed = LIST("/status/uids", "/status/jobs/*/ip");
    kind.observed_generation = "/status/observedGeneration";
    kind.flags = WHARF_KIND_NEVER_FINISHES;
    kind.suspend_value = "PipelineRunPending";
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind.group = "";
    assert_accepted(&kind, NULL, "wharf.dev/host");
}

static void the_value_to_answer_to_is_chosen_in_order(void **state) {
    (void)state;
    static const char *const closed[] = {"a.example/b", "c.example/d", NULL};
    static const struct {
        const char *const *allowed;
        const char *preset, *configured, *expected; // expected NULL: rejected
    } cases[] = {
        {NULL, NULL, NULL, "wharf.dev/host"},
        {NULL, "x.example/y", NULL, "x.example/y"},
        {NULL, "x.example/y", "z.example/z", "z.example/z"},
        {closed, NULL, NULL, "a.example/b"},
        {closed, "c.example/d", NULL, "c.example/d"},
        {closed, NULL, "c.example/d", "c.example/d"},
        {closed, NULL, "wharf.dev/host", NULL},
        {closed, NULL, "example.com/builtin", NULL},
        {NULL, NULL, "example.com/builtin", NULL},
        {NULL, NULL, "not-a-path", NULL},
        {NULL, NULL, "", NULL},
        {NULL, NULL, LONG_63, LONG_63},
        {NULL, NULL, LONG_63 "a", NULL},
    };
    assert_int_equal(strlen(LONG_63), 63);
    for (size_t i = 0; i < COUNT(cases); i++) {
        wharf_kind kind = good();
        kind.managed_by_allowed = cases[i].allowed;
        kind.managed_by_default = cases[i].preset;
        if (cases[i].expected)
            assert_accepted(&kind, cases[i].configured, cases[i].expected);
        else
            assert_refused(&kind, cases[i].configured, "managedBy", cases[i].configured);
    }
}

// A page that ends with `size` bytes of `content`; the memory after it cannot be read.
static void *at_the_edge(const void *content, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    return memcpy(memory + page - size, content, size);
}

static void a_list_without_an_end_is_refused_before_it_is_followed(void **state) {
    (void)state;
    const wharf_phase_rule rules[] = {{"/status/state", "done", .phase = WHARF_SUCCEEDED}};
    const char *const texts[] = {"/spec/ttl"};
    wharf_phase_rule into_other_memory[] = {rules[0], {.pointer = NULL}, {.pointer = NULL}};
    memset(&into_other_memory[1], 0x41, sizeof(into_other_memory[1]));
    wharf_kind kind = good();
    kind.phases = at_the_edge(rules, sizeof(rules));
    assert_refused(&kind, NULL, "phases: entry 2", "expected a list that ends with NULL");
    kind.phases = into_other_memory;
    assert_refused(&kind, NULL, "phases: entry 2", "expected a list that ends with NULL");
    kind = good();
    kind.removed = at_the_edge(texts, sizeof(texts));
    assert_refused(&kind, NULL, "removed: entry 2", "expected a list that ends with NULL");
    kind = good();
    kind.suspend_value = at_the_edge("abc", 3);
    assert_refused(&kind, NULL, "suspend_value", "no readable text");
    kind = good();
    assert_refused(at_the_edge(&kind, sizeof(kind) - sizeof(void *)), NULL, "struct wharf_kind", "no readable memory");
}

static void a_controller_name_that_is_the_builtin_value_is_refused(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.managed_by_builtin = "wharf.dev/host";
    assert_refused(&kind, NULL, "controllerName", "own controller");
}

static void lists_that_never_end_are_refused(void **state) {
    (void)state;
    static const char *endless[1200];
    static wharf_carried carried[1200];
    static wharf_pods pods[1200];
    for (size_t i = 0; i < COUNT(endless); i++) {
        endless[i] = "v1";
        carried[i] = (wharf_carried){.pointer = "/spec/a"};
        pods[i] = (wharf_pods){.templates = "/spec/a"};
    }
    wharf_kind kind = good();
    kind.versions = endless;
    assert_refused(&kind, NULL, "versions", "ends with NULL");
    kind = good();
    kind.carried = carried;
    assert_refused(&kind, NULL, "carried", "pointer is NULL");
    kind = good();
    kind.pods = pods;
    assert_refused(&kind, NULL, "pods", "templates is NULL");
}

// Each part is well-formed; together they are contradictory.
static void what_is_read_must_not_be_removed(void **state) {
    (void)state;
    static const wharf_phase_rule done = {"/status/conditions", "Done", .phase = WHARF_SUCCEEDED};
    struct wrong cases[64];
    size_t i = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        cases[c] = (struct wrong){NULL, "", good()};
    cases[i].kind.phases = RULES(done), cases[i].kind.status_removed = LIST("/status/conditions");
    WRONG("phases", "not to be in status_removed, which has \"/status/conditions\"");
    cases[i].kind.phases = RULES(done), cases[i].kind.status_removed = LIST("/status/conditions/*/type");
    WRONG("phases", "/status/conditions/*/type");
    cases[i].kind.finished_at = "/status/endedAt", cases[i].kind.status_removed = LIST("/status/*");
    WRONG("finished_at", "/status/*");
    cases[i].kind.observed_generation = "/status/a/b", cases[i].kind.status_removed = LIST("/status/a");
    WRONG("observed_generation", "status_removed");
    cases[i].kind.suspended_status = CHANGES({WHARF_SET_TEXT, .name = "/status/state", .value = "Held"});
    cases[i].kind.status_removed = LIST("/status/state");
    WRONG("suspended_status", "status_removed");
    cases[i].kind.managed_by = "/metadata/labels/example.com~1queue", cases[i].kind.managed_by_builtin = NULL;
    WRONG("managed_by_allowed", "found nothing");
    cases[i].kind.managed_by = "/metadata/labels/queue", cases[i].kind.managed_by_builtin = NULL;
    cases[i].kind.managed_by_allowed = LIST("example.com/queue");
    WRONG("managed_by_allowed", "value of a label");
    cases[i].kind.managed_by_allowed = LIST("a.example/b", "a.example/b");
    WRONG("managed_by_allowed", "once");
    cases[i].kind.managed_by = "/metadata/namespace";
    WRONG("managed_by", "one label or annotation");
    cases[i].kind.managed_by = "/metadata/labels/example.com/queue";
    WRONG("managed_by", "written \"~1\"");
    cases[i].kind.managed_by = "/spec/*/managedBy";
    WRONG("managed_by", "no pattern");
    assert_all_refused(cases, i);
}

static void what_is_carried_must_fit_the_rest(void **state) {
    (void)state;
    struct wrong cases[64];
    size_t i = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        cases[c] = (struct wrong){NULL, "", good()};
    cases[i].kind.carried = CARRIED({.pointer = "/spec/a/b"}), cases[i].kind.removed = LIST("/spec/a");
    WRONG("carried", "not to be in removed too, which has \"/spec/a\"");
    cases[i].kind.carried = CARRIED({.pointer = "/spec/a/*/b"}), cases[i].kind.removed = LIST("/spec/a/*/b");
    WRONG("carried", "not to be in removed");
    cases[i].kind.removed = LIST("/spec/*");
    WRONG("carried", "not to be in removed");
    cases[i].kind.carried = NULL;
    WRONG("carried", "found no \"/spec/suspend\"");
    cases[i].kind.carried =
        (const wharf_carried[]){{"/spec/suspend", NULL, WHARF_CARRY_WHILE_SUSPENDED}, {.pointer = NULL}};
    WRONG("carried", "WHARF_CARRY_ALWAYS for the field of suspend");
    cases[i].kind.carried = CARRIED({.pointer = "/spec/a"}, {.pointer = "/spec/a"});
    WRONG("carried", "once");
    cases[i].kind.carried = CARRIED({.pointer = "/spec/a", .key = "name"});
    WRONG("carried", "no \"*\"");
    cases[i].kind.suspend = "/spec/*/suspend";
    WRONG("suspend", "no pattern");
    cases[i].kind.suspend = "/spec/managedBy", cases[i].kind.carried = CARRIED({.pointer = "/spec/a"});
    WRONG("suspend", "apart from managed_by");
    cases[i].kind.suspend_value = "";
    WRONG("suspend_value", "NULL for true");
    cases[i].kind.removed = LIST("/spec/a", "/spec/a");
    WRONG("removed", "once");
    cases[i].kind.removed = LIST("/metadata/name");
    WRONG("removed", "a field of the spec, or one label");
    assert_all_refused(cases, i);
}

static void changes_of_a_status_must_be_whole(void **state) {
    (void)state;
    struct wrong cases[64];
    size_t i = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        cases[c] = (struct wrong){NULL, "", good()};
    cases[i].kind.suspended_status = CHANGES({.name = "Held", .value = "True"});
    cases[i].kind.suspend = NULL;
    WRONG("suspended_status", "without suspend");
    cases[i].kind.suspended_status = CHANGES({WHARF_SET_TEXT, .name = "/spec/state", .value = "Held"});
    WRONG("suspended_status", "begins with \"/status/\"");
    cases[i].kind.suspended_status = CHANGES({.name = "/status/conditions", .value = "True"});
    WRONG("suspended_status", "type of a condition");
    cases[i].kind.suspended_status = CHANGES({.name = "Held", .value = "true"});
    WRONG("suspended_status", "found value \"true\", expected True, False or Unknown");
    cases[i].kind.suspended_status = CHANGES({.name = "Held", .value = "True", .reason = "{Kind}{uid}"});
    WRONG("suspended_status", "{namespace}");
    cases[i].kind.suspended_status = CHANGES({WHARF_SET_ZERO, WHARF_IF_TRUE, .name = "/status/active"});
    WRONG("suspended_status", "WHARF_IF_TRUE");
    cases[i].kind.suspended_status = CHANGES({WHARF_REMOVE, .name = "/status/a", .value = "b"});
    WRONG("suspended_status", "found a value");
    cases[i].kind.suspended_status =
        CHANGES({WHARF_REMOVE, .name = "/status/a"}, {WHARF_SET_ZERO, .name = "/status/a"});
    WRONG("suspended_status", "once");
    cases[i].kind.suspended_status = CHANGES({9, .name = "/status/a"});
    WRONG("suspended_status", "found change 9");
    cases[i].kind.resumed_status = CHANGES({.name = "Held", .value = "False"});
    WRONG("resumed_status", "a rule for WHARF_SUSPENDED");
    assert_all_refused(cases, i);
}

static void rules_must_be_able_to_match(void **state) {
    (void)state;
    static const wharf_phase_rule done = {"/status/conditions", "Done", .phase = WHARF_SUCCEEDED},
                                  held = {"/status/conditions", "Held", .phase = WHARF_SUSPENDED};
    struct wrong cases[64];
    size_t i = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        cases[c] = (struct wrong){NULL, "", good()};
    cases[i].kind.phases = RULES(done, held, done);
    WRONG("phases", "(3), expected one: the earlier one (1)");
    cases[i].kind.phases = RULES(held, {"/status/conditions", "Held", "True", "Why", .phase = WHARF_PENDING});
    WRONG("phases", "always matches first");
    cases[i].kind.phases = RULES(done), cases[i].kind.flags = WHARF_KIND_NEVER_FINISHES;
    WRONG("phases", "WHARF_KIND_NEVER_FINISHES");
    cases[i].kind.phases = RULES(held), cases[i].kind.phase = NULL;
    WRONG("phases", "no rule for WHARF_SUCCEEDED");
    cases[i].kind.phases = RULES({"/status/conditions", "Done", "true", .phase = WHARF_FAILED});
    WRONG("phases", "found status \"true\", expected True, False or Unknown");
    cases[i].kind.phases = RULES({"/status/*/state", "Done", .phase = WHARF_FAILED});
    WRONG("phases", "no pattern");
    cases[i].kind.phases = RULES({"/status/state", "Done", .phase = WHARF_FAILED, .flags = WHARF_RULE_WHILE_SUSPENDED});
    WRONG("phases", "not final");
    cases[i].kind.phases = RULES({"/status/state", "Held", .phase = WHARF_SUSPENDED, .flags = 8});
    WRONG("phases", "unknown flags 0x8");
    cases[i].kind.phases = RULES({"/status/state", "Held", .phase = 9});
    WRONG("phases", "found phase 9");
    cases[i].kind.observed_generation = "/status/observedGeneration";
    cases[i].kind.flags = WHARF_KIND_NO_STATUS_SUBRESOURCE;
    WRONG("observed_generation", "WHARF_KIND_NO_STATUS_SUBRESOURCE");
    cases[i].kind.finished_at = "/status/endedAt", cases[i].kind.flags = WHARF_KIND_NEVER_FINISHES;
    WRONG("finished_at", "WHARF_KIND_NEVER_FINISHES");
    cases[i].kind.condition_time = "lastTransitionTime";
    WRONG("condition_time", "lastUpdateTime");
    cases[i].kind.versions = LIST("v1", "v1");
    WRONG("versions", "once");
    cases[i].kind.pods =
        ((const wharf_pods[]){{.templates = "/spec/a"}, {.templates = "/spec/a"}, {.templates = NULL}});
    WRONG("pods.templates", "once");
    cases[i].kind.pods = PODS(.templates = "/status/a");
    WRONG("pods.templates", "field of the spec");
    cases[i].kind.finished_at = "/stauts/endedAt";
    WRONG("finished_at", "did you mean \"/status/endedAt\"");
    cases[i].kind.removed = LIST("/sepc/ttl");
    WRONG("removed", "did you mean \"/spec/ttl\"");
    cases[i].kind.removed = LIST("/spec//ttl");
    WRONG("removed", "empty names");
    assert_all_refused(cases, i);
}

// Data that is similar to a contradiction, and valid.
static void what_is_meant_is_accepted(void **state) {
    (void)state;
    wharf_kind kind = good();
    kind.carried = CARRIED({.pointer = "/spec/template"}, {"/spec/tasks/*/size", "name", WHARF_CARRY_WHILE_SUSPENDED});
    kind.removed = LIST("/spec/template/spec/ttl", "/metadata/labels/example.com~1ttl");
    kind.status_removed = LIST("/status/conditions/*/lastProbeTime", "/status/uids");
    kind.phases = RULES({"/status/conditions", "Held", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
                        {"/status/conditions", "Held", .phase = WHARF_PENDING},
                        {"/status/conditions", "Done", "False", "Preempted", .phase = WHARF_PENDING},
                        {"/status/conditions", "Done", "False", .phase = WHARF_FAILED});
    kind.suspended_status =
        CHANGES({.name = "Held", .value = "True", .reason = "{kind}Held", .message = "{name}: {}"},
                {.name = "Running", .when = WHARF_IF_TRUE, .value = "False"},
                {WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/state", "Held", NULL, NULL},
                {WHARF_SET_ZERO, .name = "/status/*/active"}, {WHARF_REMOVE, .name = "/status/startTime"});
    kind.resumed_status = CHANGES({.name = "Held", .value = "False"});
    kind.condition_time = "lastUpdateTime";
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind.phase = NULL;
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind = good();
    kind.phase = NULL;
    kind.flags = WHARF_KIND_NEVER_FINISHES;
    assert_accepted(&kind, NULL, "wharf.dev/host");
    kind.managed_by = "/metadata/labels/example.com~1queue";
    kind.managed_by_builtin = NULL;
    kind.managed_by_allowed = LIST("wharf-queue");
    assert_accepted(&kind, NULL, "wharf-queue");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_wrong_are_named),
        cmocka_unit_test(pointers_that_are_wrong_are_named),
        cmocka_unit_test(carried_fields_that_are_wrong_are_named),
        cmocka_unit_test(values_of_managed_by_that_are_wrong_are_named),
        cmocka_unit_test(what_is_read_must_not_be_removed),
        cmocka_unit_test(what_is_carried_must_fit_the_rest),
        cmocka_unit_test(changes_of_a_status_must_be_whole),
        cmocka_unit_test(rules_must_be_able_to_match),
        cmocka_unit_test(what_is_meant_is_accepted),
        cmocka_unit_test(what_real_kinds_need_is_accepted),
        cmocka_unit_test(the_value_to_answer_to_is_chosen_in_order),
        cmocka_unit_test(a_list_without_an_end_is_refused_before_it_is_followed),
        cmocka_unit_test(a_controller_name_that_is_the_builtin_value_is_refused),
        cmocka_unit_test(lists_that_never_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
