// SPDX-License-Identifier: Apache-2.0
// Namespaces whose workloads are placed.
#include "core/engine/decide/decide.h"
#include "core/engine/engine.h"

#include "tests/unit/engine/stage.h"

#include <string.h>

#define HOUR (60 * CLOCK_MINUTE)

static void a_rule_permits_what_it_allows_and_does_not_deny(void **state) {
    (void)state;
    static const struct {
        const char *rule, *namespace_;
        bool permitted;
    } cases[] = {
        {"", "default", true},
        {"-kube-*\n", "default", true},
        {"-kube-*\n", "kube-system", false},
        {"-kube-*\n", "kube-", false},
        {"-kube-*\n", "kube", true},
        {"-kube-*\n", "my-kube-x", true},
        {"+team-*\n", "team-a", true},
        {"+team-*\n", "default", false},
        {"+team-*\n+lab\n", "lab", true},
        {"+team-*\n-team-x\n", "team-x", false},
        {"-team-x\n+team-*\n", "team-x", false},
        {"+*\n-kube-*\n", "kube-public", false},
        {"+*-prod-*\n", "a-prod-b", true},
        {"+*-prod-*\n", "prod-b", false},
        {"+a*b*c\n", "abbc", true},
        {"+a*b*c\n", "abcb", false},
        {"+a\n", "ab", false},
        {"+ab\n", "a", false},
        {"+team-*\n", "", true}, // cluster-scoped
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct namespaces_subject subject = {.name = cases[i].namespace_, .len = strlen(cases[i].namespace_)};
        if ((namespaces_judge(cases[i].rule, &subject) == NAMESPACES_PERMITTED) != cases[i].permitted)
            fail_msg("rule %s, namespace \"%s\"", cases[i].rule, cases[i].namespace_);
    }
    struct namespaces_subject system = {.name = "kube-system", .len = 11};
    assert_int_equal(namespaces_judge(NULL, &system), NAMESPACES_PERMITTED);
}

static void a_selector_decides_once_the_labels_are_known(void **state) {
    (void)state;
    static const struct {
        const char *rule, *name;
        bool known;
        const char *labels;
        enum namespaces_verdict verdict;
    } cases[] = {
        {"=env in (prod,test)\n", "a", true, "env=prod,team=x", NAMESPACES_PERMITTED},
        {"=env in (prod,test)\n", "a", true, "env=dev", NAMESPACES_DENIED},
        {"=env in (prod,test)\n", "a", true, NULL, NAMESPACES_DENIED},
        {"=env in (prod,test)\n", "a", false, NULL, NAMESPACES_UNDECIDED},
        {"=!private\n", "a", true, NULL, NAMESPACES_PERMITTED},
        {"-kube-*\n=env\n", "kube-system", true, "env=prod", NAMESPACES_DENIED},
        {"-kube-*\n=env\n", "kube-system", false, NULL, NAMESPACES_DENIED}, // whatever its labels
        {"=env\n+team-*\n", "team-a", true, "env=", NAMESPACES_PERMITTED},
        {"=env\n+team-*\n", "other", false, NULL, NAMESPACES_DENIED},
        {"+team-*\n", "team-a", false, NULL, NAMESPACES_PERMITTED},
        {"=env\n", "", false, NULL, NAMESPACES_PERMITTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct namespaces_subject subject = {cases[i].name, strlen(cases[i].name), cases[i].known, cases[i].labels};
        if (namespaces_judge(cases[i].rule, &subject) != cases[i].verdict)
            fail_msg("case %zu: %d", i, namespaces_judge(cases[i].rule, &subject));
    }
}

static void reconfigure(struct stage *stage, const char *namespaces) {
    struct engine_settings settings = stage->options.settings;
    settings.namespaces = namespaces;
    engine_configure(stage->engine, &settings);
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
    stage_run(stage, CLOCK_SECOND);
}

static void a_workload_in_a_denied_namespace_stays_and_is_told_once(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.namespaces = "-def*\n";
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 0);
    assert_int_equal(stage_told(&stage, "NamespaceDenied: not placed"), 1);
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "NamespaceDenied"), 1);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH] + stage.sent[0][VERB_STATUS_PATCH], 0);
    reconfigure(&stage, "");
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

static void what_runs_in_a_namespace_that_is_denied_later_runs_to_its_end(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t cluster = stage_where(&stage, "a");
    stage_runs(&stage, cluster, "a");
    reconfigure(&stage, "-default\n");
    assert_int_equal(stage.sent[cluster][VERB_DELETE], 0);
    stage_completes(&stage, cluster, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_told(&stage, "NamespaceDenied"), 0);
    stage_end(&stage);
}

static void a_mirror_that_is_deleted_in_a_denied_namespace_is_not_replaced(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t cluster = stage_where(&stage, "a");
    reconfigure(&stage, "-default\n");
    assert_int_equal(stage_delete(&stage, cluster, "a"), 200);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_told(&stage, "NamespaceDenied"), 1);
    stage_end(&stage);
}

static void tell_worker(struct stage *stage, size_t cluster, const char *namespaces) {
    const char *name = cluster == 1 ? "w1" : "w2";
    struct engine_event event = {.type = EVENT_WORKER,
                                 .cluster = cluster,
                                 .worker = {.name = name, .policy = WORKER_ACTIVE, .namespaces = namespaces}};
    stage_step(stage, &event);
    stage_run(stage, CLOCK_SECOND);
}

static void a_worker_gets_only_workloads_of_its_namespaces(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    tell_worker(&stage, 1, "+team-*\n");
    stage_submit(&stage, "a", "");
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_where(&stage, "b"), 2);
    tell_worker(&stage, 2, "-default\n");
    assert_non_null(stage_job(&stage, 2, "a")); // stays
    stage_submit(&stage, "c", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "c"), 0);
    assert_int_equal(stage_told(&stage, "Unschedulable: 0/2 workers accept it: w1 namespace not permitted; w2 "
                                        "namespace not permitted"),
                     1);
    tell_worker(&stage, 1, "");
    assert_int_equal(stage_where(&stage, "c"), 1);
    stage_end(&stage);
}

// Its name is taken in w1, and when w1 stops taking its namespace w2 begins to.
static void what_was_rejected_leaves_a_worker_that_does_not_take_its_namespace_any_longer(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    tell_worker(&stage, 2, "-default\n");
    AUTO_JSON foreign = harness_json("{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'default','name':"
                                     "'a'},'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i'}],"
                                     "'restartPolicy':'Never'}}}}");
    world_apply(stage.clusters[1], "batch", "jobs", foreign, stage.now.wall_ns);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_told(&stage, "NameConflict"), 1);
    tell_worker(&stage, 1, "-default\n");
    stage_run(&stage, HOUR);
    assert_int_equal(stage_where(&stage, "a"), 1);
    unsigned reads = stage.sent[1][VERB_GET];
    stage_run(&stage, HOUR);
    assert_in_range(stage.sent[1][VERB_GET] - reads, 0, 10);
    tell_worker(&stage, 2, "");
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_told(&stage, "not placed: the host's configuration"), 0);
    stage_end(&stage);
}

static int fail_creates(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster == 1 ? 503 : STAGE_PASS;
}

// Whether a create has had an effect in w1 is asked; one of an earlier process may still arrive.
static void check_left(bool restarts) {
    struct stage stage;
    stage_init(&stage);
    stage.meddle = fail_creates;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    if (restarts) {
        stage_restart(&stage);
        stage_step(&stage, &(struct engine_event){
                               .type = EVENT_WORKER,
                               .cluster = 1,
                               .worker = {.name = "w1", .policy = WORKER_ACTIVE, .namespaces = "-default\n"}});
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(stage_where(&stage, "a"), 1);
        stage_run(&stage, 5 * CLOCK_MINUTE); // workerLostTimeout
    } else {
        tell_worker(&stage, 1, "-default\n");
        stage_run(&stage, CLOCK_MINUTE);
    }
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void what_may_have_been_created_leaves_such_a_worker_once_it_is_known_that_it_was_not(void **state) {
    (void)state;
    check_left(false);
    check_left(true);
}

static bool is_sent(struct stage *stage) {
    return stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE] > 0;
}

// The namespace is denied while the create is in flight.
static void a_namespace_that_is_denied_meanwhile_is_not_created(void **state) {
    (void)state;
    for (unsigned denied = 0; denied < 2; denied++) {
        struct stage stage;
        stage_init(&stage);
        stage.options.settings.create_namespaces = true;
        stage.latency_ns = 100 * CLOCK_MS;
        stage_start(&stage);
        stage.space = "team";
        assert_int_equal(stage_apply(&stage, 0, "", "namespaces", "{'metadata':{'name':'team'}}"), 201);
        stage_submit(&stage, "a", "");
        stage_until(&stage, is_sent);
        size_t cluster = stage_where(&stage, "a");
        if (denied)
            reconfigure(&stage, "-team\n");
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(!world_object(stage.clusters[cluster], "", "namespaces", "", "team"), denied);
        assert_int_equal(!stage_job(&stage, cluster, "a"), denied);
        stage_end(&stage);
    }
}

static void tell_label(struct stage *stage, const char *labels) {
    stage_step(stage,
               &(struct engine_event){.type = EVENT_NAMESPACE,
                                      .namespace_ = {.news = NAMESPACE_SEEN, .name = "default", .labels = labels}});
    stage_run(stage, 3 * CLOCK_SECOND);
}

static void a_workload_is_placed_when_its_namespace_gets_the_label(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.namespaces = "=env=prod\n";
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 0);
    assert_int_equal(stage_told(&stage, "NamespaceDenied"), 0); // not known yet
    tell_label(&stage, "env=dev");
    assert_int_equal(stage_told(&stage, "NamespaceDenied"), 1);
    assert_int_equal(stage_where(&stage, "a"), 0);
    tell_label(&stage, "env=prod");
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_permits_what_it_allows_and_does_not_deny),
        cmocka_unit_test(a_selector_decides_once_the_labels_are_known),
        cmocka_unit_test(a_workload_is_placed_when_its_namespace_gets_the_label),
        cmocka_unit_test(a_workload_in_a_denied_namespace_stays_and_is_told_once),
        cmocka_unit_test(what_runs_in_a_namespace_that_is_denied_later_runs_to_its_end),
        cmocka_unit_test(a_mirror_that_is_deleted_in_a_denied_namespace_is_not_replaced),
        cmocka_unit_test(a_worker_gets_only_workloads_of_its_namespaces),
        cmocka_unit_test(what_was_rejected_leaves_a_worker_that_does_not_take_its_namespace_any_longer),
        cmocka_unit_test(what_may_have_been_created_leaves_such_a_worker_once_it_is_known_that_it_was_not),
        cmocka_unit_test(a_namespace_that_is_denied_meanwhile_is_not_created),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
