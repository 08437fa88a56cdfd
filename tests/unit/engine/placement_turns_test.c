// SPDX-License-Identifier: Apache-2.0
// Who gets the room that others leave: the namespaces that wait take turns.
#include "tests/unit/engine/stage.h"

#define SPACES 3

// Of the namespaces that each cluster has.
static const char *const spaces[SPACES] = {"default", "kube-public", "kube-node-lease"};

static void set_worker(struct stage *stage, size_t cluster, size_t max_active, enum worker_policy policy) {
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_WORKER,
                          .cluster = cluster,
                          .worker = {.name = cluster == 1 ? "w1" : "w2", .policy = policy, .max_active = max_active}});
}

// Only w1 gets workloads, so many at a time.
static void begin(struct stage *stage, size_t max_active) {
    stage_init(stage);
    stage_start(stage);
    set_worker(stage, 1, max_active, WORKER_ACTIVE);
    set_worker(stage, 2, 0, WORKER_CORDONED);
}

static void submit(struct stage *stage, size_t space, unsigned count, const char *annotations) {
    stage->space = spaces[space];
    for (unsigned i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        stage_submit(stage, name, annotations);
    }
    stage_run(stage, CLOCK_SECOND);
}

static size_t placed(struct stage *stage, size_t space, unsigned count) {
    size_t n = 0;
    stage->space = spaces[space];
    for (unsigned i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        n += stage_where(stage, name) != 0;
    }
    return n;
}

// The first of them that runs.
static bool finish_one(struct stage *stage, size_t space, unsigned count) {
    stage->space = spaces[space];
    for (unsigned i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        if (!stage_job(stage, 1, name) || stage_finished(stage, name))
            continue;
        stage_runs(stage, 1, name);
        stage_completes(stage, 1, name);
        stage_run(stage, 200 * CLOCK_MS);
        return true;
    }
    return false;
}

static void the_only_workload_of_a_namespace_does_not_wait_for_all_of_another(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 5);
    submit(&stage, 0, 100, "");
    submit(&stage, 2, 1, "");
    assert_int_equal(placed(&stage, 0, 100), 5);
    assert_int_equal(placed(&stage, 2, 1), 0);
    assert_true(finish_one(&stage, 0, 100));
    assert_true(finish_one(&stage, 0, 100));
    assert_int_equal(placed(&stage, 2, 1), 1);
    assert_int_equal(placed(&stage, 0, 100), 6);
    stage_end(&stage);
}

static void namespaces_take_turns_and_within_one_the_first_goes_first(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    submit(&stage, 0, 20, "");
    submit(&stage, 1, 6, "");
    for (unsigned n = 1; n <= 6; n++) {
        size_t crowd = placed(&stage, 0, 20), few = placed(&stage, 1, 6);
        assert_true(finish_one(&stage, 0, 20) || finish_one(&stage, 1, 6));
        assert_true(finish_one(&stage, 0, 20) || finish_one(&stage, 1, 6));
        assert_int_equal(placed(&stage, 0, 20), crowd + 1);
        assert_int_equal(placed(&stage, 1, 6), few + 1);
        AUTO_TEXT last = text_format("j%zu", few);
        assert_int_equal(stage_where(&stage, last), 1);
    }
    while (placed(&stage, 0, 20) < 20)
        assert_true(finish_one(&stage, 0, 20) || finish_one(&stage, 1, 6));
    stage_end(&stage);
}

// All of them are tried in vain for the room in w1.
static void workloads_that_fit_nowhere_hold_up_no_other_namespace(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    set_worker(&stage, 2, 1, WORKER_ACTIVE);
    submit(&stage, 0, 300, "'wharf.dev/cluster-names':'w2'");
    submit(&stage, 2, 3, "'wharf.dev/cluster-names':'w1'");
    assert_int_equal(placed(&stage, 0, 300), 1);
    for (unsigned n = 1; n < 3; n++) {
        assert_int_equal(placed(&stage, 2, 3), n);
        assert_true(finish_one(&stage, 2, 3));
    }
    assert_int_equal(placed(&stage, 2, 3), 3);
    assert_int_equal(placed(&stage, 0, 300), 1);
    stage_end(&stage);
}

// Rounds in which many are tried in vain, here for the room in w2, are 100 ms apart.
static void a_new_workload_does_not_overtake_those_that_wait(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    set_worker(&stage, 2, 10, WORKER_ACTIVE);
    submit(&stage, 1, 1, "'wharf.dev/cluster-names':'w1'");
    submit(&stage, 0, 100, "'wharf.dev/cluster-names':'w1'");
    stage.space = spaces[1];
    stage_runs(&stage, 1, "j0");
    stage_completes(&stage, 1, "j0");
    while (!stage_finished(&stage, "j0")) {
        set_worker(&stage, 2, 10, WORKER_ACTIVE); // a round
        stage_run(&stage, CLOCK_MS);
    }
    for (unsigned i = 0; i < 100; i++) {
        stage.space = spaces[2];
        AUTO_TEXT name = text_format("new%u", i);
        stage_submit(&stage, name, "'wharf.dev/cluster-names':'w1'");
        stage_run(&stage, 2 * CLOCK_MS);
        assert_int_equal(stage_where(&stage, name), 0);
    }
    assert_int_equal(placed(&stage, 0, 100), 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_workload_of_a_namespace_does_not_wait_for_all_of_another),
        cmocka_unit_test(namespaces_take_turns_and_within_one_the_first_goes_first),
        cmocka_unit_test(workloads_that_fit_nowhere_hold_up_no_other_namespace),
        cmocka_unit_test(a_new_workload_does_not_overtake_those_that_wait),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
