// SPDX-License-Identifier: Apache-2.0
// Where workloads go: policies, selectors, pins, maxActive, and rules by kind and namespace.
#include "core/engine/engine.h"
#include "core/engine/history/inspect.h"
#include "tests/unit/engine/stage.h"

#include <string.h>

#define WORKERS (STAGE_CLUSTERS - 1)

static void begin(struct stage *stage, struct placement_options placement) {
    stage_init(stage);
    stage->options.settings.placement = placement;
    stage_start(stage);
}

struct worker_news {
    const char *labels, *max_kinds;
    size_t max_active;
    uint32_t weight, order;
    enum worker_policy policy;
};

static void set_worker(struct stage *stage, size_t cluster, struct worker_news news) {
    static const char *const names[] = {"management", "w1", "w2"};
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = cluster,
                                             .worker = {.name = names[cluster],
                                                        .policy = news.policy,
                                                        .labels = news.labels,
                                                        .max_kinds = news.max_kinds,
                                                        .max_active = news.max_active,
                                                        .weight = news.weight,
                                                        .order = news.order}});
}

static void configure(struct stage *stage, struct placement_options placement) {
    struct engine_settings settings = stage->options.settings;
    settings.placement = placement;
    engine_configure(stage->engine, &settings);
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
}

static void submit(struct stage *stage, unsigned from, unsigned to) {
    for (unsigned i = from; i <= to; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        stage_submit(stage, name, "");
        stage_run(stage, 20 * CLOCK_MS);
    }
    stage_run(stage, CLOCK_SECOND);
}

static size_t placed_in(struct stage *stage, size_t cluster, unsigned last) {
    size_t count = 0;
    for (unsigned i = 1; i <= last; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        count += stage_where(stage, name) == cluster;
    }
    return count;
}

static void assert_told(const struct stage *stage, const char *text) {
    if (stage_told(stage, text) == 0)
        fail_msg("not told: \"%s\"; Events:\n%s", text, stage->notes ? stage->notes : "");
}

static void each_policy_chooses_in_its_own_way(void **state) {
    (void)state;
    static const struct {
        const char *what;
        enum placement_policy policy;
        struct worker_news workers[WORKERS];
        size_t w1, w2; // of nine workloads
    } cases[] = {
        {"least active", PLACEMENT_LEAST_ACTIVE, {{.max_active = 100}}, 5, 4},
        {"ordered", PLACEMENT_ORDERED, {{.order = 2}, {.order = 1}}, 0, 9},
        {"ordered, none is last", PLACEMENT_ORDERED, {{.order = 0}, {.order = 7}}, 0, 9},
        {"ordered, by name", PLACEMENT_ORDERED, {{.order = 1}, {.order = 1}}, 9, 0},
        {"ordered, spills over", PLACEMENT_ORDERED, {{.order = 2}, {.order = 1, .max_active = 4}}, 5, 4},
        {"weighted", PLACEMENT_WEIGHTED, {{.weight = 1}, {.weight = 2}}, 3, 6},
        {"weighted, spills over", PLACEMENT_WEIGHTED, {{.weight = 1}, {.weight = 8, .max_active = 5}}, 4, 5},
        {"bin packing", PLACEMENT_BIN_PACK, {{.order = 2}, {.order = 1}}, 0, 9},
        {"bin packing fills one up", PLACEMENT_BIN_PACK, {{.max_active = 7}, {.max_active = 7}}, 7, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage stage;
        begin(&stage, (struct placement_options){.otherwise = {.policy = cases[i].policy}});
        for (size_t w = 0; w < WORKERS; w++)
            set_worker(&stage, w + 1, cases[i].workers[w]);
        submit(&stage, 1, 9);
        size_t w1 = placed_in(&stage, 1, 9), w2 = placed_in(&stage, 2, 9);
        if (w1 != cases[i].w1 || w2 != cases[i].w2)
            fail_msg("%s: %zu in w1, %zu in w2", cases[i].what, w1, w2);
        stage_end(&stage);
    }
}

static void workloads_wait_for_room_and_get_it_in_their_order(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 1, (struct worker_news){.max_active = 2});
    set_worker(&stage, 2, (struct worker_news){.max_active = 1});
    submit(&stage, 1, 6);
    assert_int_equal(placed_in(&stage, 1, 6), 2);
    assert_int_equal(placed_in(&stage, 2, 6), 1);
    assert_int_equal(stage_where(&stage, "j4"), 0); // the annotation names no cluster before one is chosen
    stage_run(&stage, CLOCK_MINUTE);
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: w1 full (2 of 2); w2 full (1 of 1)\n");
    size_t where = stage_where(&stage, "j2");
    stage_runs(&stage, where, "j2");
    stage_completes(&stage, where, "j2");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "j4"), where);
    assert_int_equal(stage_where(&stage, "j5"), 0);
    assert_int_equal(stage_delete(&stage, 0, "j1"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "j5"), 0);
    assert_int_equal(stage_where(&stage, "j6"), 0);
    set_worker(&stage, 2, (struct worker_news){.max_active = 2}); // live
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "j6"), 2);
    stage_end(&stage);
}

static void a_limit_of_another_kind_does_not_count(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 1, (struct worker_news){.max_kinds = "jobsets.jobset.x-k8s.io=1,jobs.batch=2"});
    set_worker(&stage, 2, (struct worker_news){.max_kinds = "Job=1"});
    submit(&stage, 1, 6);
    assert_int_equal(placed_in(&stage, 1, 6), 2);
    assert_int_equal(placed_in(&stage, 2, 6), 1);
    set_worker(&stage, 2, (struct worker_news){.max_kinds = "jobsets.jobset.x-k8s.io=1"});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(placed_in(&stage, 2, 6), 4);
    stage_end(&stage);
}

static void a_workload_goes_where_its_selector_and_the_rule_match(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.otherwise = {.worker_selector = "tier in (prod,test)"}});
    set_worker(&stage, 1, (struct worker_news){.labels = "gpu=h100,tier=prod"});
    set_worker(&stage, 2, (struct worker_news){.labels = "gpu=a100,tier=test"});
    stage_submit(&stage, "a", "'wharf.dev/cluster-selector':'gpu=a100'");
    stage_submit(&stage, "b", "'wharf.dev/cluster-selector':'gpu in (h100, h200),!spot'");
    stage_submit(&stage, "c", "'wharf.dev/cluster-selector':'gpu=b200'");
    stage_submit(&stage, "d", "'wharf.dev/cluster-selector':'gpu='");
    stage_submit(&stage, "e", "'wharf.dev/cluster-selector':'gpu in h100'");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_where(&stage, "b"), 1);
    assert_int_equal(stage_where(&stage, "c") + stage_where(&stage, "d") + stage_where(&stage, "e"), 0);
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: w1 not matched by its selector; w2 not matched by its "
                        "selector\n");
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: annotation wharf.dev/cluster-selector: found \"h100\", "
                        "expected values in parentheses: w1 invalid selector; w2 invalid selector\n");
    set_worker(&stage, 2, (struct worker_news){.labels = "gpu=b200,tier=dev"});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "c"), 0);
    set_worker(&stage, 2, (struct worker_news){.labels = "gpu=b200,tier=test"});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "c"), 2);
    assert_int_equal(
        stage_patch(&stage, 0, "e", NULL, "{'metadata':{'annotations':{'wharf.dev/cluster-selector':'gpu'}}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "e"), 0);
    stage_end(&stage);
}

static void a_pinned_workload_takes_the_first_of_its_workers_that_can(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 2, (struct worker_news){.max_active = 2});
    stage_submit(&stage, "a", "'wharf.dev/cluster-names':'w2'");
    stage_submit(&stage, "b", "'wharf.dev/cluster-names':'w2, w1'");
    stage_run(&stage, CLOCK_SECOND);
    stage_submit(&stage, "c", "'wharf.dev/cluster-names':'w2,w1'");
    stage_submit(&stage, "d", "'wharf.dev/cluster-names':'w2'");
    stage_submit(&stage, "e", "'wharf.dev/cluster-names':'w9'");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_where(&stage, "b"), 2);
    assert_int_equal(stage_where(&stage, "c"), 1);
    assert_int_equal(stage_where(&stage, "d"), 0);
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: w1 not among its cluster-names; w2 full (2 of 2)\n");
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: annotation wharf.dev/cluster-names: w9 is no worker: w1 "
                        "not among its cluster-names; w2 not among its cluster-names\n");
    // Its worker is lost for good: it waits for it rather than go where it may not.
    stage_contact(&stage, 2, CONTACT_LOST);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage_where(&stage, "b"), 1);
    stage_end(&stage);
}

static const struct placement_rule rules[] = {
    {.kinds = "pods,JobSet", .policy = PLACEMENT_ORDERED, .worker_selector = "none=of-these"},
    {.kinds = "jobs.batch", .namespaces = "team-*,other", .worker_selector = "none=of-these"},
    {.namespace_selector = "gold=true", .worker_selector = "tier=gold"},
    {.kinds = "Job", .namespaces = "def*", .policy = PLACEMENT_ORDERED},
};

static void name_space(struct stage *stage, enum namespace_news news, const char *name, const char *labels) {
    stage_step(stage, &(struct engine_event){.type = EVENT_NAMESPACE,
                                             .namespace_ = {.news = news, .name = name, .labels = labels}});
}

static void the_first_rule_that_matches_applies(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.rules = rules, .n_rules = 4});
    set_worker(&stage, 1, (struct worker_news){.order = 2, .labels = "tier=gold"});
    set_worker(&stage, 2, (struct worker_news){.order = 1});
    submit(&stage, 1, 2); // the namespace's labels are not known: which rule applies neither
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(placed_in(&stage, 0, 2), 2);
    assert_told(&stage, "Unschedulable: 0/2 workers accept it: w1 not decided yet; w2 not decided yet\n");
    name_space(&stage, NAMESPACES_LISTING, NULL, NULL);
    name_space(&stage, NAMESPACE_SEEN, "default", "kubernetes.io/metadata.name=default");
    name_space(&stage, NAMESPACES_LISTED, NULL, NULL);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(placed_in(&stage, 2, 2), 2);
    name_space(&stage, NAMESPACE_SEEN, "default", "gold=true");
    submit(&stage, 3, 3);
    assert_int_equal(stage_where(&stage, "j3"), 1);
    name_space(&stage, NAMESPACE_GONE, "default", NULL);
    submit(&stage, 4, 4);
    assert_int_equal(stage_where(&stage, "j4"), 2);
    // A list without it: it has no labels.
    name_space(&stage, NAMESPACE_SEEN, "default", "gold=true");
    name_space(&stage, NAMESPACES_LISTING, NULL, NULL);
    submit(&stage, 5, 5);
    assert_int_equal(stage_where(&stage, "j5"), 1);
    name_space(&stage, NAMESPACES_LISTED, NULL, NULL);
    submit(&stage, 6, 6);
    assert_int_equal(stage_where(&stage, "j6"), 2);
    name_space(&stage, NAMESPACES_UNKNOWN, NULL, NULL);
    submit(&stage, 7, 7);
    assert_int_equal(stage_where(&stage, "j7"), 0);
    stage_end(&stage);
}

static void another_configuration_applies_to_what_waits(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.otherwise = {.worker_selector = "tier=gold"}});
    submit(&stage, 1, 2);
    assert_int_equal(placed_in(&stage, 0, 2), 2);
    configure(&stage, (struct placement_options){.otherwise = {.policy = PLACEMENT_BIN_PACK}});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(placed_in(&stage, 1, 2), 2);
    stage_end(&stage);
}

static void a_drain_moves_at_once_what_has_not_started_and_the_rest_later(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.drain_timeout_ns = 5 * CLOCK_MINUTE});
    set_worker(&stage, 2, (struct worker_news){.policy = WORKER_CORDONED});
    submit(&stage, 1, 3);
    assert_int_equal(placed_in(&stage, 1, 3), 3);
    stage_runs(&stage, 1, "j1");
    stage_runs(&stage, 1, "j3");
    assert_int_equal(stage_patch(&stage, 0, "j3", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    set_worker(&stage, 2, (struct worker_news){.policy = WORKER_ACTIVE});
    set_worker(&stage, 1, (struct worker_news){.policy = WORKER_DRAIN_MOVE});
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "j2"), 2);
    assert_null(stage_job(&stage, 1, "j3")); // none is made before it is resumed
    assert_non_null(stage_job(&stage, 1, "j1"));
    stage_run(&stage, 4 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "j1"), 1);
    assert_non_null(stage_job(&stage, 1, "j1"));
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "j1"), 2);
    assert_null(stage_job(&stage, 1, "j1"));
    stage_end(&stage);
}

static void another_drain_timeout_applies_to_a_drain_that_goes_on(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.drain_timeout_ns = 60 * CLOCK_MINUTE});
    submit(&stage, 1, 1);
    stage_runs(&stage, 1, "j1");
    stage_run(&stage, CLOCK_SECOND);
    set_worker(&stage, 1, (struct worker_news){.policy = WORKER_DRAIN_MOVE});
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "j1"), 1);
    configure(&stage, (struct placement_options){.drain_timeout_ns = 0});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "j1"), 2);
    stage_end(&stage);
}

struct reasons {
    size_t count;
    enum worker_obstacle found[WORKERS];
};

static void note_reason(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_ns,
                        int64_t since_ns) {
    struct reasons *reasons = ctx;
    (void)name;
    (void)until_ns;
    (void)since_ns;
    reasons->found[reasons->count++] = reason->obstacle;
}

static void it_is_explained_why_each_worker_does_not_get_it(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 1, (struct worker_news){.max_active = 1});
    submit(&stage, 1, 2);
    stage_submit(&stage, "a", "'wharf.dev/cluster-names':'w1'");
    stage_run(&stage, CLOCK_SECOND);
    struct reasons reasons = {.count = 0};
    struct explain_view view;
    assert_true(inspect_explain(stage.engine, stage.now, stage.kind, "default", "a", &view, note_reason, &reasons));
    assert_int_equal(reasons.found[0], OBSTACLE_FULL);
    assert_int_equal(reasons.found[1], OBSTACLE_PINNED);
    assert_int_equal(view.workload.waiting, WAITING_MAX_ACTIVE);
    assert_string_equal(view.waiting_text, "0/2 workers accept it: w1 full (1 of 1); w2 not among its cluster-names");
    stage_end(&stage);
}

static void hundreds_wait_for_room_and_each_gets_its_turn(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 1, (struct worker_news){.max_active = 3});
    set_worker(&stage, 2, (struct worker_news){.max_active = 2});
    for (unsigned i = 1; i <= 300; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        stage_submit(&stage, name, i % 30 == 0 ? "'wharf.dev/cluster-names':'w2'" : "");
    }
    stage_run(&stage, CLOCK_SECOND);
    unsigned done = 0;
    for (unsigned round = 0; round < 900 && done < 300; round++) {
        size_t active[STAGE_CLUSTERS] = {0};
        for (unsigned i = 1; i <= 300; i++) {
            AUTO_TEXT name = text_format("j%u", i);
            size_t where = stage_finished(&stage, name) ? 0 : stage_where(&stage, name);
            active[where]++;
            if (where && i % 30 == 0)
                assert_int_equal(where, 2);
            if (where && stage_job(&stage, where, name) && active[where] == 1) {
                stage_runs(&stage, where, name);
                stage_completes(&stage, where, name);
                done++;
            }
        }
        assert_true(active[1] <= 3);
        assert_true(active[2] <= 2);
        stage_run(&stage, 200 * CLOCK_MS);
    }
    assert_int_equal(done, 300);
    stage_end(&stage);
}

// The table of reasons lies on the stack.
static __attribute__((noinline)) void soil_the_stack(void) {
    volatile unsigned char soil[16384];
    for (size_t i = 0; i < sizeof soil; i++)
        soil[i] = 0xa5;
}

static void many_workers_are_counted_by_their_reasons(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    for (size_t c = 1; c <= 10; c++) {
        AUTO_TEXT name = text_format("w%zu", c);
        stage_step(&stage, &(struct engine_event){.type = EVENT_WORKER,
                                                  .cluster = c,
                                                  .worker = {.name = name, .policy = WORKER_CORDONED}});
    }
    stage_run(&stage, CLOCK_MINUTE);
    submit(&stage, 1, 1);
    for (int i = 0; i < 150; i++) {
        soil_the_stack();
        stage_run(&stage, CLOCK_SECOND);
    }
    assert_told(&stage, "Unschedulable: 0/10 workers accept it: 2 cordoned; 8 connecting\n");
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_chooses_in_its_own_way),
        cmocka_unit_test(workloads_wait_for_room_and_get_it_in_their_order),
        cmocka_unit_test(a_limit_of_another_kind_does_not_count),
        cmocka_unit_test(a_workload_goes_where_its_selector_and_the_rule_match),
        cmocka_unit_test(a_pinned_workload_takes_the_first_of_its_workers_that_can),
        cmocka_unit_test(the_first_rule_that_matches_applies),
        cmocka_unit_test(another_configuration_applies_to_what_waits),
        cmocka_unit_test(a_drain_moves_at_once_what_has_not_started_and_the_rest_later),
        cmocka_unit_test(another_drain_timeout_applies_to_a_drain_that_goes_on),
        cmocka_unit_test(it_is_explained_why_each_worker_does_not_get_it),
        cmocka_unit_test(many_workers_are_counted_by_their_reasons),
        cmocka_unit_test(hundreds_wait_for_room_and_each_gets_its_turn),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
