// SPDX-License-Identifier: Apache-2.0
// dependencies: the resources that are copied or checked.
#include "core/config/dependencies.h"
#include "tests/unit/config/config_load.h"

static void by_default_nothing_is_copied_or_checked(void **state) {
    (void)state;
    static const char *const cases[] = {"", "dependencies: {}\n", "dependencies: {copy: [], check: []}\n",
                                        "dependencies:\n"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s", GOOD, cases[i]);
        struct config *config = load_good(text);
        const struct dependency_options *options = &config->engine.dependencies;
        assert_false(dependency_options_any(options));
        assert_null(options->copy);
        assert_null(options->check);
        assert_int_equal(options->secrets, SECRETS_LABELLED);
        assert_false(options->by_name);
        assert_int_equal(dependency_use_of(options, "configmaps"), DEPENDENCY_IGNORED);
        config_free(config);
    }
}

static void a_resource_is_copied_checked_or_ignored(void **state) {
    (void)state;
    struct config *config = load_good(GOOD "dependencies:\n"
                                           "  copy: [configmaps, secrets, tasks.tekton.dev]\n"
                                           "  check: [priorityclasses.scheduling.k8s.io]\n"
                                           "  secrets: all\n"
                                           "  watch: names\n");
    const struct dependency_options *options = &config->engine.dependencies;
    static const struct {
        const char *resource;
        enum dependency_use use;
    } cases[] = {{"configmaps", DEPENDENCY_COPIED},       {"tasks.tekton.dev", DEPENDENCY_COPIED},
                 {"tasks", DEPENDENCY_IGNORED},           {"priorityclasses.scheduling.k8s.io", DEPENDENCY_CHECKED},
                 {"priorityclasses", DEPENDENCY_IGNORED}, {"config", DEPENDENCY_IGNORED}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(dependency_use_of(options, cases[i].resource), cases[i].use);
    assert_true(dependency_options_any(options));
    assert_int_equal(options->secrets, SECRETS_ALL);
    assert_true(options->by_name);
    const char *rest = options->copy, *resource;
    size_t len = 0, count = 0;
    while (text_next_word(&rest, ',', &resource, &len))
        count++;
    assert_int_equal(count, 3);
    config_free(config);
}

static void what_does_not_fit_is_a_problem_with_its_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[4];
    } cases[] = {
        {"dependencies: {copy: configmaps}\n", {"dependencies.copy", "found \"configmaps\"", "a list of resources"}},
        {"dependencies: {copy: [v1/configmaps]}\n",
         {"dependencies.copy[0]", "\"v1/configmaps\"", "such as configmaps"}},
        {"dependencies: {copy: [a, b, a]}\n", {"dependencies.copy[2]", "found a twice"}},
        {"dependencies: {check: [a, a]}\n", {"dependencies.check[1]", "found a twice"}},
        {"dependencies: {check: [a, b], copy: [b]}\n", {"dependencies.check[1]", "found b in copy and in check"}},
        {"dependencies: {copy: [a], secrets: all}\n", {"dependencies: secrets", "copy has no secrets"}},
        {"dependencies: {copy: [secrets], secrets: labeled}\n", {"secrets", "did you mean \"labelled\""}},
        {"dependencies: {watch: some}\n", {"dependencies.watch", "all or names"}},
        {"dependencies: {copies: [a]}\n", {"unknown key", "\"copy\""}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s", GOOD, cases[i].text);
        expect_problem(text, cases[i].says);
    }
}

static void cluster_scoped_objects_of_kubernetes_are_not_copied(void **state) {
    (void)state;
    assert_true(dependency_may_copy("configmaps", false));
    assert_true(dependency_may_copy("resourceclaims.resource.k8s.io", false));
    assert_true(dependency_may_copy("clustertrainingruntimes.trainer.kubeflow.org", true));
    assert_false(dependency_may_copy("priorityclasses.scheduling.k8s.io", true));
    assert_false(dependency_may_copy("persistentvolumes", true));
}

static void options_are_copied_with_their_texts(void **state) {
    (void)state;
    char copy[] = "configmaps";
    struct dependency_options from = {.copy = copy, .secrets = SECRETS_ALL, .by_name = true}, to = {.check = NULL};
    assert_true(dependency_options_set(&to, &from));
    copy[0] = 'x';
    assert_string_equal(to.copy, "configmaps");
    assert_null(to.check);
    assert_int_equal(to.secrets, SECRETS_ALL);
    assert_true(to.by_name);
    assert_true(dependency_options_set(&to, &(struct dependency_options){.check = "pods"}));
    assert_null(to.copy);
    assert_string_equal(to.check, "pods");
    dependency_options_clear(&to);
    assert_false(dependency_options_any(&to));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default_nothing_is_copied_or_checked),
        cmocka_unit_test(a_resource_is_copied_checked_or_ignored),
        cmocka_unit_test(what_does_not_fit_is_a_problem_with_its_place),
        cmocka_unit_test(cluster_scoped_objects_of_kubernetes_are_not_copied),
        cmocka_unit_test(options_are_copied_with_their_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
