// SPDX-License-Identifier: Apache-2.0
// The settings of guards.
#include "tests/unit/config/config_load.h"

static void namespaces_are_read_as_a_rule(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule, *of_worker;
    } cases[] = {
        {WORKERS, "-kube-*\n", ""},
        {WORKERS "namespaces: {allow: [team-*, lab]}\n", "-kube-*\n+team-*\n+lab\n", ""},
        {WORKERS "namespaces: {deny: []}\n", "", ""},
        {WORKERS "namespaces: {deny: [kube-*, prod], allow: [\"*\"]}\n", "-kube-*\n-prod\n+*\n", ""},
        {WORKERS "namespaces: {selector: {matchLabels: {env: prod}, matchExpressions: [{key: x, operator: Exists}]}}\n",
         "-kube-*\n=env=prod,x\n", ""},
        {WORKERS "namespaces: {deny: [a], selector: {}}\n", "-a\n", ""},
        {"workers:\n- {name: w1, kubeconfig: k, namespaces: {allow: [a], deny: [b]}}\n", "-kube-*\n", "+a\n-b\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s%s", HEAD, cases[i].text, ADAPTERS);
        struct config *config = load_good(text);
        assert_string_equal(config->engine.namespaces, cases[i].rule);
        assert_string_equal(config->workers[0].settings.namespaces ? config->workers[0].settings.namespaces : "",
                            cases[i].of_worker);
        config_free(config);
    }
}

static void a_namespace_pattern_has_only_what_names_have(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[3];
    } cases[] = {
        {"namespaces: {allow: [Team]}\n", {"namespaces.allow[0]", "a namespace, or a pattern"}},
        {"namespaces: {deny: [kube-*, 3]}\n", {"namespaces.deny[1]"}},
        {"namespaces: {deny: kube-*}\n", {"namespaces.deny", "a list of namespaces"}},
        {"namespaces: {denied: []}\n", {"namespaces.denied"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct problems problems;
        AUTO_TEXT text = text_format("%s%s", GOOD, cases[i].text);
        struct config *config = load(text, &problems);
        assert_int_equal(problems.count, 1);
        for (const char *const *says = cases[i].says; *says; says++)
            if (!strstr(problems.list[0], *says))
                fail_msg("\"%s\" does not say \"%s\"", problems.list[0], *says);
        problems_free(&problems);
        config_free(config);
    }
}

static void how_many_workloads_are_taken_in_is_a_number(void **state) {
    (void)state;
    struct problems problems;
    struct config *config = load(GOOD, &problems);
    assert_int_equal(config->engine.max_workloads, 0);
    config_free(config);
    config = load(GOOD "memory: {maxWorkloads: 5000}\n", &problems);
    assert_int_equal(config->engine.max_workloads, 5000);
    config_free(config);
    config = load(GOOD "memory: {maxWorkloads: -1}\n", &problems);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.list[0], "memory.maxWorkloads: found -1, expected a whole number"));
    problems_free(&problems);
    config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_many_workloads_are_taken_in_is_a_number),
        cmocka_unit_test(namespaces_are_read_as_a_rule),
        cmocka_unit_test(a_namespace_pattern_has_only_what_names_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
