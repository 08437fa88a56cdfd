// SPDX-License-Identifier: Apache-2.0
// A finished workload is not run again, whatever happens to the mirror before its status is written.
#include "tests/unit/engine/stage.h"

static bool runs(struct stage *stage) {
    return stage_job(stage, 1, "a") && json_size(json_get(stage_job(stage, 0, "a"), "status")) > 1;
}

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage->latency_ns = 50 * CLOCK_MS;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_true(runs(stage));
}

static void check_it_ran_once(struct stage *stage) {
    assert_true(stage_finished(stage, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    assert_int_equal(stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE], 1);
    stage_end(stage);
}

static void a_mirror_may_be_deleted_while_its_final_status_is_on_its_way(void **state) {
    (void)state;
    // The patch of an earlier status is in flight, or that of the final one.
    for (int in_flight = 0; in_flight < 2; in_flight++) {
        struct stage stage;
        start_one(&stage);
        if (in_flight)
            stage_patch(&stage, 1, "a", "status", "{'status':{'ready':0}}");
        stage_run(&stage, in_flight ? CLOCK_MS : 0);
        stage_completes(&stage, 1, "a");
        stage_delete(&stage, 1, "a");
        stage_run(&stage, CLOCK_MINUTE);
        check_it_ran_once(&stage);
    }
}

static int management_is_silent(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == ENGINE_MANAGEMENT ? STAGE_LOST : STAGE_PASS;
}

static void a_mirror_may_be_deleted_while_the_management_api_does_not_answer(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = management_is_silent;
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 3 * CLOCK_SECOND);
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_false(stage_finished(&stage, "a"));
    stage.meddle = NULL;
    stage_run(&stage, CLOCK_MINUTE);
    check_it_ran_once(&stage);
}

static void a_mirror_may_be_deleted_while_management_is_lost(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_disconnect(&stage, 0);
    stage_completes(&stage, 1, "a");
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    stage_connect(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    check_it_ran_once(&stage);
}

static void a_worker_may_be_lost_with_a_mirror_that_has_finished(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_disconnect(&stage, 0);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    stage_disconnect(&stage, 1);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    stage_connect(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    check_it_ran_once(&stage);
}

static int its_status_is_refused(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_STATUS_PATCH ? 422 : STAGE_PASS;
}

// A patch of an earlier status is in flight.
static void the_last_status_of_a_worker_that_leaves_is_written(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_patch(&stage, 1, "a", "status", "{'status':{'ready':0}}");
    stage_run(&stage, CLOCK_MS);
    stage_patch(&stage, 1, "a", "status", "{'status':{'failed':3}}");
    stage_run(&stage, CLOCK_MS);
    stage_step(&stage, &(struct engine_event){.type = EVENT_WORKER, .cluster = 1, .worker = {.policy = WORKER_LEFT}});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(json_int64(json_path(stage_job(&stage, 0, "a"), "status", "failed", NULL), 0), 3);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void a_final_status_that_is_refused_is_told(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = its_status_is_refused;
    stage_completes(&stage, 1, "a");
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage_told(&stage, "rejected the write"), 1);
    stage.meddle = NULL;
    stage_run(&stage, 20 * CLOCK_MINUTE);
    check_it_ran_once(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_may_be_deleted_while_its_final_status_is_on_its_way),
        cmocka_unit_test(a_mirror_may_be_deleted_while_the_management_api_does_not_answer),
        cmocka_unit_test(a_mirror_may_be_deleted_while_management_is_lost),
        cmocka_unit_test(a_worker_may_be_lost_with_a_mirror_that_has_finished),
        cmocka_unit_test(the_last_status_of_a_worker_that_leaves_is_written),
        cmocka_unit_test(a_final_status_that_is_refused_is_told),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
