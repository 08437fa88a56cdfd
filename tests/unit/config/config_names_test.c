// SPDX-License-Identifier: Apache-2.0
// namespaces.map of workers, and the management cluster as a worker.
#include "tests/unit/config/config_load.h"

#define WORKER(rest) "workers:\n- {name: w1, " rest "}\n"
#define MAP(rules) WORKER("kubeconfig: k, namespaces: {map: {" rules "}}")
#define SELF(rules) WORKER("self: true, namespaces: {map: {" rules "}}")

static void a_map_is_read_in_its_order(void **state) {
    (void)state;
    static const struct {
        const char *text, *map;
        bool self;
    } cases[] = {
        {MAP("team-*: \"{origin}-{namespace}\", a: b"), "team-*={origin}-{namespace}\na=b\n", false},
        {MAP("\"*\": \"{namespace}\""), "*={namespace}\n", false},
        {WORKER("kubeconfig: k, namespaces: {map: {}}"), "", false},
        {WORKER("kubeconfig: k, self: false"), "", false},
        {SELF("\"*\": \"x-{namespace}\""), "*=x-{namespace}\n*=\n", true},
        {SELF("a: b"), "a=b\n*=\n", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%smanagement: {kubeconfig: /m, context: c}\n%s%s", HEAD, cases[i].text, ADAPTERS);
        struct config *config = load_good(text);
        const struct worker_spec *worker = &config->workers[0];
        assert_string_equal(worker->settings.namespace_map ? worker->settings.namespace_map : "", cases[i].map);
        assert_int_equal(worker->settings.is_self, cases[i].self);
        if (cases[i].self) {
            assert_string_equal(worker->kubeconfig_path, "/m");
            assert_string_equal(worker->context, "c");
        }
        config_free(config);
    }
}

// A host in the management cluster, without a kubeconfig.
static void a_worker_that_is_the_hosts_own_cluster_has_no_kubeconfig_either(void **state) {
    (void)state;
    struct config *config = load_good(HEAD SELF("\"*\": \"x-{namespace}\"") ADAPTERS);
    assert_null(config->workers[0].kubeconfig_path);
    assert_string_equal(config->workers[0].context, "");
    config_free(config);
}

static void what_cannot_be_is_told_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[4];
    } cases[] = {
        {WORKER("kubeconfig: k, namespaces: {map: [a]}"),
         {"workers[0].namespaces.map: found a list", "a mapping of namespaces"}},
        {MAP("a: 5"), {"workers[0].namespaces.map.a: found 5, expected a name"}},
        {MAP("Team: b"), {"found \"Team\", expected a namespace, or a pattern such as team-*"}},
        {MAP("a: B"), {"map.a: found \"B\", expected a name of lower-case letters"}},
        {MAP("\"*\": \"{origin}\""), {"without {namespace}"}},
        {MAP("\"*\": \"{origin}{origin}-{namespace}\""),
         {"worker w1: namespaces.map: found \"{origin}{origin}-{namespace}\", which is no RFC 1123 label"}},
        {MAP("a: x, b: x"), {":4: worker w1: namespaces.map: namespaces a and b would both be namespace x there"}},
        {WORKER("self: true"), {"worker w1: namespaces.map: found nothing, expected other names for the namespaces"}},
        {SELF("\"*\": \"{namespace}\""), {"found \"{namespace}\" for \"*\", expected another name"}},
        {SELF("a: x, b: b"), {"found \"b\" for \"b\", expected another name"}},
        {WORKER("self: true, kubeconfig: k, namespaces: {map: {a: b}}"), {"found self with a kubeconfig or context"}},
        {WORKER("self: true, context: c, namespaces: {map: {a: b}}"), {"found self with a kubeconfig or context"}},
        {WORKER("self: yes please"), {"workers[0].self"}},
        {SELF("a: b") "- {name: w2, self: true, namespaces: {map: {a: c}}}\n",
         {":5: worker w2: found the self of worker w1 (line 4)"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s%s", HEAD, cases[i].text, ADAPTERS);
        expect_problem(text, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_read_in_its_order),
        cmocka_unit_test(a_worker_that_is_the_hosts_own_cluster_has_no_kubeconfig_either),
        cmocka_unit_test(what_cannot_be_is_told_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
