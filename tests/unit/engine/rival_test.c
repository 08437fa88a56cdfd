// SPDX-License-Identifier: Apache-2.0
// A controller in the management cluster that ignores managedBy runs the workload too: its status is not the mirror's.
#include "tests/unit/engine/stage.h"

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
}

static void fails(struct stage *stage, size_t cluster) {
    assert_int_equal(stage_patch(stage, cluster, "a", "status",
                                 "{'status':{'active':0,'ready':0,'failed':1,'conditions':[{'type':'FailureTarget',"
                                 "'status':'True','reason':'x','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':"
                                 "'Failed','status':'True','reason':'x','lastTransitionTime':"
                                 "'2026-03-01T12:00:02Z'}]}}"),
                     200);
}

static void anothers_final_status_does_not_end_a_running_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "Finished"), 0);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    assert_int_equal(stage_told(&stage, "client"), 1);
    assert_true(stage.sent[0][VERB_STATUS_PATCH] < 20);
    // A Job's final status cannot be taken back: an Event has the mirror's.
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "succeeded in w1"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void it_does_not_end_one_after_a_restart(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_restart(&stage);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static int nothing_is_read(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_RAW_GET ? 500 : STAGE_PASS;
}

static void it_does_not_end_one_while_its_writer_cannot_be_read(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = nothing_is_read;
    fails(&stage, 0);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_in_range(stage.sent[0][VERB_RAW_GET], 2, 40);
    stage.meddle = NULL;
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    stage_end(&stage);
}

static void its_mirror_is_deleted_with_its_workload(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    stage_delete(&stage, 0, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

// The mirror has what ended it: its deletion in the worker does not run the workload again.
static void its_workload_is_not_placed_again(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 1);
    stage_end(&stage);
}

// The host's own final status, of a mirror that the worker shows in an earlier state after a restart.
static void a_final_status_of_this_host_ends_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    struct world_copy *copy = world_copy(stage.clusters[1]);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_told(&stage, "Finished: succeeded in w1"), 1);
    world_restore(stage.clusters[1], copy, stage.now.wall_ns);
    world_copy_free(copy);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anothers_final_status_does_not_end_a_running_mirror),
        cmocka_unit_test(it_does_not_end_one_after_a_restart),
        cmocka_unit_test(it_does_not_end_one_while_its_writer_cannot_be_read),
        cmocka_unit_test(its_mirror_is_deleted_with_its_workload),
        cmocka_unit_test(its_workload_is_not_placed_again),
        cmocka_unit_test(a_final_status_of_this_host_ends_the_mirror),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
