// SPDX-License-Identifier: Apache-2.0
// The annotations that say where a workload is placed, written by somebody else: nothing is created where this host
// would not place it, and no worker is full because of them.
#include "tests/unit/engine/stage.h"

#include <stdlib.h>
#include <string.h>

#define IN_W1 "'wharf.dev/cluster':'w1','wharf.dev/attempt':'1'"

struct worker_case {
    const char *labels, *namespaces;
    size_t max_active;
    enum worker_policy policy;
};

static void set_worker(struct stage *stage, size_t cluster, struct worker_case as) {
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = cluster,
                                             .worker = {.name = cluster == 1 ? "w1" : "w2",
                                                        .policy = as.policy,
                                                        .labels = as.labels,
                                                        .namespaces = as.namespaces,
                                                        .max_active = as.max_active}});
}

static void begin(struct stage *stage, struct placement_options placement) {
    stage_init(stage);
    stage->options.settings.placement = placement;
    stage_start(stage);
}

static void an_author_puts_nothing_where_the_host_would_not(void **state) {
    (void)state;
    static const struct {
        const char *what, *annotations, *selector;
        struct worker_case w1;
        unsigned others; // in w1 before
    } cases[] = {
        {"cordoned", "", NULL, {.policy = WORKER_CORDONED}, 0},
        {"drained by finish", "", NULL, {.policy = WORKER_DRAIN_FINISH}, 0},
        {"drained by move", "", NULL, {.policy = WORKER_DRAIN_MOVE}, 0},
        {"not selected by a rule", "", "tier=gold", {.labels = "tier=tin"}, 0},
        {"not for its namespace", "", NULL, {.namespaces = "-default\n"}, 0},
        {"full", "", NULL, {.max_active = 2}, 2},
        {"not among the author's own names", ",'wharf.dev/cluster-names':'w2'", NULL, {.labels = "a=b"}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage stage;
        begin(&stage, (struct placement_options){.otherwise = {.worker_selector = cases[i].selector}});
        set_worker(&stage, 2, (struct worker_case){.labels = "tier=gold", .policy = WORKER_CORDONED});
        for (unsigned n = 0; n < cases[i].others; n++) {
            AUTO_TEXT name = text_format("other%u", n);
            stage_submit(&stage, name, "");
        }
        stage_run(&stage, CLOCK_SECOND);
        set_worker(&stage, 1, cases[i].w1);
        set_worker(&stage, 2, (struct worker_case){.labels = "tier=gold"});
        AUTO_TEXT annotations = text_format(IN_W1 "%s", cases[i].annotations);
        stage_submit(&stage, "a", annotations);
        unsigned creates = stage.sent[1][VERB_CREATE];
        stage_run(&stage, 10 * CLOCK_MINUTE);
        if (stage.sent[1][VERB_CREATE] != creates || stage_job(&stage, 1, "a"))
            fail_msg("%s: it was created in w1", cases[i].what);
        if (!stage_job(&stage, 2, "a"))
            fail_msg("%s: it was not placed in w2", cases[i].what);
        assert_int_equal(stage_attempt(&stage, "a"), 2);
        assert_in_range(stage.sent[1][VERB_GET], 1, 2);
        assert_int_equal(stage_told(&stage, "Rescheduled: w1: "), 1);
        stage_end(&stage);
    }
}

static void it_is_created_there_once_the_host_would_place_it_there(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 1, (struct worker_case){.policy = WORKER_CORDONED});
    set_worker(&stage, 2, (struct worker_case){.policy = WORKER_CORDONED});
    stage_submit(&stage, "a", IN_W1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    set_worker(&stage, 1, (struct worker_case){.policy = WORKER_ACTIVE});
    stage_run(&stage, CLOCK_SECOND);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void a_change_between_the_placement_and_the_create_is_no_way_around_it(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    set_worker(&stage, 2, (struct worker_case){.policy = WORKER_CORDONED});
    stage.latency_ns = CLOCK_SECOND;
    stage_submit(&stage, "a", "");
    while (stage_where(&stage, "a") != 1)
        stage_run(&stage, CLOCK_MS);
    stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/cluster':'w2'}}}");
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 2, "a"));
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[2][VERB_CREATE], 0);
    stage_end(&stage);
}

// Mirrors count, and so does what the host itself has placed: annotations alone make no worker full.
static void annotations_without_a_mirror_fill_no_worker(void **state) {
    (void)state;
    for (int suspended = 0; suspended < 2; suspended++) {
        struct stage stage;
        begin(&stage, (struct placement_options){.otherwise = {.worker_selector = "tier=gold"}});
        set_worker(&stage, 1, (struct worker_case){.labels = "tier=tin", .max_active = 3});
        set_worker(&stage, 2, (struct worker_case){.policy = WORKER_CORDONED});
        for (unsigned i = 0; i < 20; i++) {
            AUTO_TEXT name = text_format("forged%u", i);
            stage_submit(&stage, name, IN_W1);
            if (suspended)
                assert_int_equal(stage_patch(&stage, 0, name, NULL, "{'spec':{'suspend':true}}"), 200);
        }
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(engine_stats(stage.engine)->clusters[1].active, 0);
        set_worker(&stage, 1, (struct worker_case){.labels = "tier=gold", .max_active = suspended ? 3 : 30});
        stage_submit(&stage, "honest", "");
        stage_run(&stage, CLOCK_SECOND);
        assert_non_null(stage_job(&stage, 1, "honest"));
        assert_int_equal(engine_stats(stage.engine)->clusters[1].active, suspended ? 1 : 21);
        stage_end(&stage);
    }
}

static int lose_creates(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster > 0 ? STAGE_LOST : STAGE_PASS;
}

static struct worker_case w1_then;

static void set_w1(struct stage *stage) {
    set_worker(stage, 1, w1_then);
}

// The host ended between its write of the annotations and the create.
static void begin_restarted(struct stage *stage, struct worker_case w1) {
    stage_init(stage);
    stage->meddle = lose_creates;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
    assert_null(stage_job(stage, 1, "a"));
    stage->meddle = NULL;
    stage->made = set_w1;
    w1_then = w1;
    stage_restart(stage);
    stage_run(stage, CLOCK_SECOND);
}

static void a_restarted_host_creates_what_it_had_placed(void **state) {
    (void)state;
    struct stage stage;
    begin_restarted(&stage, (struct worker_case){.max_active = 1});
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(engine_stats(stage.engine)->clusters[1].active, 1);
    stage_end(&stage);
}

// A create of the process before it may still be on its way, for workerLostTimeout.
static void a_restarted_host_moves_it_from_a_cordoned_worker_once_no_create_can_arrive(void **state) {
    (void)state;
    struct stage stage;
    begin_restarted(&stage, (struct worker_case){.policy = WORKER_CORDONED});
    stage_run(&stage, 4 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void a_mirror_in_a_cordoned_worker_is_found_after_a_restart(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    stage_restart(&stage);
    set_worker(&stage, 1, (struct worker_case){.policy = WORKER_CORDONED, .max_active = 1});
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(engine_stats(stage.engine)->clusters[1].active, 1);
    assert_null(stage_job(&stage, 2, "a"));
    stage_runs(&stage, 1, "a");
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    stage_end(&stage);
}

static void a_host_that_stops_places_nothing_that_is_not_its_own(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    engine_drain(stage.engine);
    stage_submit(&stage, "a", IN_W1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_CREATE], 0);
    stage_end(&stage);
}

// As before a placement of its own: with the host's own annotations it would be too large.
static void what_would_not_be_placed_at_all_is_not_created_either(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, (struct placement_options){.n_rules = 0});
    char *text = calloc(1, 262051);
    assert_non_null(text);
    memset(text, 'x', 262050);
    AUTO_TEXT annotations = text_format(IN_W1 ",'note':'%s'", text);
    free(text);
    stage_submit(&stage, "a", annotations);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 0);
    assert_in_range(stage_told(&stage, "AnnotationsTooLarge"), 1, 10);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_author_puts_nothing_where_the_host_would_not),
        cmocka_unit_test(it_is_created_there_once_the_host_would_place_it_there),
        cmocka_unit_test(a_change_between_the_placement_and_the_create_is_no_way_around_it),
        cmocka_unit_test(annotations_without_a_mirror_fill_no_worker),
        cmocka_unit_test(a_restarted_host_creates_what_it_had_placed),
        cmocka_unit_test(a_restarted_host_moves_it_from_a_cordoned_worker_once_no_create_can_arrive),
        cmocka_unit_test(a_mirror_in_a_cordoned_worker_is_found_after_a_restart),
        cmocka_unit_test(a_host_that_stops_places_nothing_that_is_not_its_own),
        cmocka_unit_test(what_would_not_be_placed_at_all_is_not_created_either),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
