// SPDX-License-Identifier: Apache-2.0
// placement, its rules, and what workers may have.
#include "core/base/clock.h"
#include "tests/unit/config/config_load.h"

static void by_default_any_worker_may_get_anything(void **state) {
    (void)state;
    struct config *config = load_good(GOOD);
    assert_int_equal(config->engine.placement.n_rules, 0);
    assert_int_equal(config->engine.placement.otherwise.policy, PLACEMENT_LEAST_ACTIVE);
    assert_int_equal(config->engine.placement.otherwise.require_fields, REQUIRE_SCHEDULING);
    assert_null(config->engine.placement.otherwise.worker_selector);
    assert_int_equal(config->engine.placement.otherwise.pending_timeout_ns, 0);
    assert_false(config->engine.placement.capacity);
    assert_int_equal(config->workers[0].settings.weight, 1);
    assert_false(config_wants_any_capacity(config));
    assert_int_equal(config->workers[0].settings.order, 1);
    assert_int_equal(config->workers[0].settings.max_active, 0);
    assert_null(config->workers[0].settings.max_kinds);
    config_free(config);
}

static void rules_have_what_they_do_not_say_from_above(void **state) {
    (void)state;
    struct config *config = load_good(
        GOOD "onWorkerLost: wait\ndrainTimeout: 5m\nplacement:\n"
             "  rules:\n"
             "  - {kinds: [jobs.batch, Job], namespaces: [team-*, lab], policy: binPack, pendingTimeout: 0s}\n"
             "  - namespaceSelector: {matchLabels: {tier: gold}, matchExpressions: [{key: a, operator: Exists}]}\n"
             "    workerSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [x, z]}, {key: spot, "
             "operator: DoesNotExist}]}\n"
             "    onWorkerLost: redispatch\n"
             "    requireFields: false\n"
             "  - requireFields: scheduling\n"
             "  policy: weighted\n"
             "  workerSelector: {matchExpressions: [{key: gpu, operator: In, values: [h100, h200]}]}\n"
             "  requireFields: true\n"
             "  pendingTimeout: 10m\n"
             "  giveUpAfter: 2h\n"
             "  capacity: true\n");
    const struct placement_options *placement = &config->engine.placement;
    assert_int_equal(placement->n_rules, 3);
    assert_true(placement->capacity);
    assert_int_equal(placement->drain_timeout_ns, 5 * CLOCK_MINUTE);
    assert_int_equal(placement->otherwise.policy, PLACEMENT_WEIGHTED);
    assert_true(placement->otherwise.wait_when_lost);
    assert_string_equal(placement->otherwise.worker_selector, "gpu in (h100,h200)");
    const struct placement_rule *first = &placement->rules[0], *second = &placement->rules[1];
    assert_string_equal(first->kinds, "jobs.batch,Job");
    assert_string_equal(first->namespaces, "team-*,lab");
    assert_int_equal(first->policy, PLACEMENT_BIN_PACK);
    assert_int_equal(first->pending_timeout_ns, 0);
    assert_int_equal(first->give_up_after_ns, 120 * CLOCK_MINUTE);
    assert_int_equal(first->require_fields, REQUIRE_ALL);
    assert_true(first->wait_when_lost);
    assert_string_equal(first->worker_selector, "gpu in (h100,h200)");
    assert_string_equal(second->namespace_selector, "tier=gold,a");
    assert_string_equal(second->worker_selector, "zone notin (x,z),!spot");
    assert_int_equal(second->policy, PLACEMENT_WEIGHTED);
    assert_int_equal(second->pending_timeout_ns, 10 * CLOCK_MINUTE);
    assert_false(second->wait_when_lost);
    assert_int_equal(second->require_fields, REQUIRE_NONE);
    assert_int_equal(placement->rules[2].require_fields, REQUIRE_SCHEDULING);
    config_free(config);
}

static void workers_have_an_order_a_weight_and_limits(void **state) {
    (void)state;
    struct config *config =
        load_good(HEAD ADAPTERS "workers:\n"
                                "- {name: a, kubeconfig: k1, maxActive: 7}\n"
                                "- {name: b, kubeconfig: k2, weight: 5, maxActive: {total: 9, kinds: {jobs.batch: "
                                "3, JobSet: 1}}}\n");
    assert_int_equal(config->workers[0].settings.max_active, 7);
    assert_null(config->workers[0].settings.max_kinds);
    assert_int_equal(config->workers[1].settings.max_active, 9);
    assert_string_equal(config->workers[1].settings.max_kinds, "jobs.batch=3,JobSet=1");
    assert_int_equal(config->workers[1].settings.weight, 5);
    assert_int_equal(config->workers[1].settings.order, 2);
    config_free(config);
}

static void a_worker_may_have_another_choice_of_capacity_than_the_rest(void **state) {
    (void)state;
    static const struct {
        const char *overall;
        bool wanted[3], any;
    } cases[] = {{"", {false, true, false}, true}, {"placement: {capacity: true}\n", {true, true, false}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT text = text_format(
            HEAD ADAPTERS "workers:\n- {name: a, kubeconfig: k1}\n- {name: b, kubeconfig: k2, capacity: true}\n"
                          "- {name: c, kubeconfig: k3, capacity: false}\n%s",
            cases[i].overall);
        struct config *config = load_good(text);
        for (size_t w = 0; w < 3; w++)
            assert_int_equal(config_wants_capacity(config, config->workers[w].capacity), cases[i].wanted[w]);
        assert_int_equal(config_wants_any_capacity(config), cases[i].any);
        config_free(config);
    }
}

static void reasons_that_nothing_has_are_warned_of(void **state) {
    (void)state;
    static const struct {
        const char *retry, *warning; // NULL: none
    } cases[] = {
        {"{}", NULL},
        {"{reasons: [Evicted, OutOf*, OutOfmemory, OOMKilled, FailedMount], exitCodes: [137]}", NULL},
        {"{reasons: [Evicted, ImagePullBackof]}", "placement.retryElsewhere.reasons: found \"ImagePullBackof\", which "
                                                  "is not among the reasons that wharf knows; did "
                                                  "you mean \"ImagePullBackOff\"?"},
        {"{reasons: [Xyz*]}",
         "placement.retryElsewhere.reasons: found \"Xyz*\", which is not among the reasons that wharf knows"},
        {"{reasons: []}",
         "placement.retryElsewhere: reasons is empty and there are no exitCodes, so no failure matches "
         "and no workload is retried"},
        {"{reasons: [], exitCodes: []}", "placement.retryElsewhere: reasons is empty and there are no exitCodes, so no "
                                         "failure matches and no workload is retried"},
        {"{reasons: [], exitCodes: [137]}", NULL},
        {"{max: 0, reasons: []}", NULL},
        {"{max: 0}, rules: [{kinds: [Job]}, {retryElsewhere: {reasons: [Evictd]}}]",
         "placement.rules[1].retryElsewhere.reasons: found \"Evictd\", which is not among the reasons that wharf "
         "knows; "
         "did you mean \"Evicted\"?"},
        {"{reasons: [Evictd]}, rules: [{kinds: [Job]}]",
         "placement.retryElsewhere.reasons: found \"Evictd\", which is not among the reasons that wharf knows; did you "
         "mean \"Evicted\"?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT text = text_format("%splacement: {retryElsewhere: %s}\n", GOOD, cases[i].retry);
        struct config *config = load_good(text);
        struct problems warnings = {.count = 0};
        config_warn(config, &warnings);
        assert_int_equal(warnings.count, cases[i].warning ? 1 : 0);
        if (cases[i].warning)
            assert_string_equal(warnings.list[0], cases[i].warning);
        problems_free(&warnings);
        config_free(config);
    }
}

static void a_rule_has_its_own_retries_elsewhere_or_those_from_above(void **state) {
    (void)state;
    struct config *config = load_good(GOOD);
    assert_int_equal(config->engine.placement.otherwise.retry.max, 0);
    assert_false(config_retries_elsewhere(config));
    config_free(config);
    config =
        load_good(GOOD "placement:\n"
                       "  rules:\n"
                       "  - {kinds: [Job], retryElsewhere: {max: 0}}\n"
                       "  - {kinds: [JobSet], retryElsewhere: {exitCodes: [], stuckFor: 0}}\n"
                       "  - {kinds: [RayJob]}\n"
                       "  retryElsewhere: {max: 3, reasons: [Evicted, OutOf*], exitCodes: [137, 9], stuckFor: 30s}\n");
    const struct placement_rule *rules = config->engine.placement.rules;
    assert_true(config_retries_elsewhere(config));
    assert_int_equal(rules[0].retry.max, 0);
    assert_int_equal(rules[1].retry.max, 1);
    assert_int_equal(rules[1].retry.stuck_for_ns, 0);
    assert_null(rules[1].retry.reasons);
    assert_null(rules[1].retry.exit_codes);
    assert_int_equal(rules[2].retry.max, 3);
    assert_int_equal(rules[2].retry.stuck_for_ns, 30 * CLOCK_SECOND);
    assert_string_equal(rules[2].retry.reasons, "Evicted,OutOf*");
    assert_string_equal(rules[2].retry.exit_codes, "137,9");
    config_free(config);
    config = load_good(GOOD "placement: {retryElsewhere: {reasons: []}}\n");
    assert_string_equal(config->engine.placement.otherwise.retry.reasons, "");
    assert_int_equal(config->engine.placement.otherwise.retry.stuck_for_ns, 5 * CLOCK_MINUTE);
    config_free(config);
    config = load_good(GOOD "placement: {rules: [{retryElsewhere: {}}]}\n");
    assert_true(config_retries_elsewhere(config));
    config_free(config);
}

static void what_is_wrong_is_told_with_its_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says[3];
    } cases[] = {
        {WORKERS "placement: {retryElsewhere: true}\n", {"placement.retryElsewhere", "a mapping"}},
        {WORKERS "placement: {retryElsewhere: {max: 11}}\n", {"placement.retryElsewhere.max", "from 0 to 10"}},
        {WORKERS "placement: {retryElsewhere: {maximum: 1}}\n", {"placement.retryElsewhere.maximum", "max"}},
        {WORKERS "placement: {retryElsewhere: {reasons: Evicted}}\n",
         {"placement.retryElsewhere.reasons", "a list of reasons"}},
        {WORKERS "placement: {retryElsewhere: {reasons: [\"a b\"]}}\n",
         {"placement.retryElsewhere.reasons[0]", "a reason such as"}},
        {WORKERS "placement: {retryElsewhere: {exitCodes: [1, 256]}}\n",
         {"exitCodes[1]: found 256", "an exit code from 1 to 255"}},
        {WORKERS "placement: {retryElsewhere: {exitCodes: [\"1\"]}}\n",
         {"placement.retryElsewhere.exitCodes[0]", "an exit code from 1 to 255"}},
        {WORKERS "placement: {rules: [{retryElsewhere: {stuckFor: soon}}]}\n",
         {"placement.rules[0].retryElsewhere.stuckFor", "a duration"}},
        {WORKERS "placement: {requireFields: some}\n", {"placement.requireFields", "scheduling, true or false"}},
        {WORKERS "placement: {requireFields: 1}\n", {"placement.requireFields", "scheduling, true or false"}},
        {WORKERS "placement: {policy: true}\n", {"placement.policy", "leastActive, ordered, weighted or binPack"}},
        {WORKERS "placement: {policy: random}\n", {"placement.policy", "leastActive, ordered, weighted or binPack"}},
        {WORKERS "placement: {workerSelector: gpu=h100}\n", {"placement.workerSelector", "matchLabels"}},
        {WORKERS "placement: {workerSelector: {labels: {a: b}}}\n", {"placement.workerSelector.labels"}},
        {WORKERS "placement: {workerSelector: {matchLabels: {a: 3}}}\n", {"placement.workerSelector.matchLabels.a"}},
        {WORKERS "placement: {workerSelector: {matchLabels: {-a: b}}}\n", {"placement.workerSelector", "a label key"}},
        {WORKERS "placement: {workerSelector: {matchExpressions: [{key: a, operator: Is}]}}\n",
         {"matchExpressions[0]", "In, NotIn, Exists or DoesNotExist"}},
        {WORKERS "placement: {workerSelector: {matchExpressions: [{key: a, operator: In}]}}\n",
         {"matchExpressions[0]", "a list of label values"}},
        {WORKERS "placement: {rules: [{kinds: [\"a b\"]}]}\n", {"placement.rules[0].kinds[0]", "a kind"}},
        {WORKERS "placement: {rules: [{namespaces: Team}]}\n", {"placement.rules[0].namespaces", "a list"}},
        {WORKERS "placement: {rules: []}\n", {"placement.rules", "at least one rule"}},
        {WORKERS "placement: {rules: [{capacity: true}]}\n", {"placement.rules[0].capacity"}},
        {WORKERS "placement: {pendingTimeout: soon}\n", {"placement.pendingTimeout"}},
        {WORKERS "onWorkerLost: panic\n", {"onWorkerLost", "redispatch or wait"}},
        {"workers:\n- {name: w1, kubeconfig: k, maxActive: 0}\n", {"maxActive", "from 1 to 1000000"}},
        {"workers:\n- {name: w1, kubeconfig: k, maxActive: many}\n", {"maxActive", "{total: N"}},
        {"workers:\n- {name: w1, kubeconfig: k, maxActive: {kinds: {Job: none}}}\n", {"maxActive.kinds.Job"}},
        {"workers:\n- {name: w1, kubeconfig: k, weight: 0.5}\n", {"weight", "a whole number"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT text = text_format("%s%s%s", HEAD, cases[i].text, ADAPTERS);
        expect_problem(text, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default_any_worker_may_get_anything),
        cmocka_unit_test(rules_have_what_they_do_not_say_from_above),
        cmocka_unit_test(workers_have_an_order_a_weight_and_limits),
        cmocka_unit_test(a_worker_may_have_another_choice_of_capacity_than_the_rest),
        cmocka_unit_test(reasons_that_nothing_has_are_warned_of),
        cmocka_unit_test(a_rule_has_its_own_retries_elsewhere_or_those_from_above),
        cmocka_unit_test(what_is_wrong_is_told_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
