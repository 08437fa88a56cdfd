// SPDX-License-Identifier: Apache-2.0
// Workloads of a worker whose API server is silent though its watches are open.
#include "tests/unit/engine/stage.h"

// As reported by the probe.
static void answers_again(struct stage *stage, size_t cluster) {
    stage_identity(stage, cluster);
    stage_contact(stage, cluster, CONTACT_GOOD);
}

static void a_suspect_worker_gets_no_new_work_and_keeps_what_it_has(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_contact(&stage, 1, CONTACT_SUSPECT);
    stage_submit(&stage, "b", "");
    stage_submit(&stage, "c", "");
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_where(&stage, "b"), 2);
    assert_int_equal(stage_where(&stage, "c"), 2);
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(json_int64(json_path(stage_job(&stage, 0, "a"), "status", "active", NULL), 0) > 0);
    stage_contact(&stage, 1, CONTACT_GOOD);
    stage_submit(&stage, "d", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "d"), 1);
    stage_end(&stage);
}

static void a_silent_worker_is_lost_since_its_last_byte_and_comes_back(void **state) {
    (void)state;
    for (int back_in_time = 0; back_in_time < 2; back_in_time++) {
        struct stage stage;
        stage_init(&stage);
        stage_start(&stage);
        stage_submit(&stage, "a", "");
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 1);
        int64_t heard_ns = stage.now.mono_ns;
        stage_run(&stage, 40 * CLOCK_SECOND);
        stage_contact_since(&stage, 1, CONTACT_LOST, heard_ns);
        stage_run(&stage, stage.options.settings.worker_lost_timeout_ns - 42 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 1);
        if (back_in_time)
            answers_again(&stage, 1);
        stage_run(&stage, 10 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), back_in_time ? 1 : 2);
        assert_int_equal(stage_attempt(&stage, "a"), back_in_time ? 1 : 2);
        answers_again(&stage, 1);
        stage_run(&stage, 10 * CLOCK_SECOND);
        assert_true(!stage_job(&stage, 1, "a") == (back_in_time != 1)); // the stale one is deleted
        stage_end(&stage);
    }
}

static void a_watch_that_breaks_later_does_not_begin_the_loss_anew(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    int64_t heard_ns = stage.now.mono_ns;
    stage_contact_since(&stage, 1, CONTACT_LOST, heard_ns);
    stage_run(&stage, stage.options.settings.worker_lost_timeout_ns / 2);
    stage_disconnect(&stage, 1);
    stage_run(&stage, stage.options.settings.worker_lost_timeout_ns / 2 + 5 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void nothing_is_written_to_a_management_cluster_that_is_silent(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_contact(&stage, ENGINE_MANAGEMENT, CONTACT_LOST);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 0);
    answers_again(&stage, ENGINE_MANAGEMENT);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_end(&stage);
}

static int no_answers_in_w1(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_CREATE ? STAGE_UNHEARD : STAGE_PASS;
}

// Rule 2: it answers again when the next attempt is recorded, but its watch does not show yet what it has.
static void what_a_create_without_an_answer_made_is_looked_for_before_the_next_attempt(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = no_answers_in_w1;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage.connected[1] = false; // its watch stays open and is silent
    stage_run(&stage, CLOCK_SECOND);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_run(&stage, 40 * CLOCK_SECOND);
    stage_contact_since(&stage, 1, CONTACT_LOST, stage.now.mono_ns - 40 * CLOCK_SECOND);
    stage_run(&stage, stage.options.settings.worker_lost_timeout_ns - 42 * CLOCK_SECOND);
    stage.latency_ns = 20 * CLOCK_SECOND;
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_null(stage_job(&stage, 2, "a"));
    answers_again(&stage, 1);
    stage.latency_ns = CLOCK_MS;
    for (int i = 0; i < 60; i++) {
        stage_run(&stage, CLOCK_SECOND);
        assert_false(stage_job(&stage, 1, "a") && stage_job(&stage, 2, "a"));
    }
    stage.connected[1] = true;
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    stage_end(&stage);
}

// Some controllers add to a status after the workload has finished.
static void a_finished_mirror_is_deleted_only_as_it_was_seen(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.mirror_retention_ns = 30 * CLOCK_SECOND;
    stage.kind->abi.status = NULL; // Job's keeps the first final status
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    stage_runs(&stage, 1, "a");
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    stage.connected[1] = false; // its watch stays open and is silent
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'terminating':0}}"), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(pointer_find(stage_job(&stage, 0, "a"), "/status/terminating"));
    stage_end(&stage);
}

static int no_answer_to_suspending(struct stage *stage, const struct command *command) {
    (void)stage;
    const char *body = command->request.body;
    return command->cluster == 1 && body && strstr(body, "\"suspend\":true") ? STAGE_UNHEARD : STAGE_PASS;
}

// The record of the mirror is not overwritten by one that knows nothing of the suspension.
static void what_a_lost_patch_suspended_is_resumed(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = no_answer_to_suspending;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    stage.connected[1] = false; // its watch stays open and is silent
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(json_bool(pointer_find(stage_job(&stage, 1, "a"), "/spec/suspend"), false));
    stage_patch(&stage, 0, "a", NULL, "{'metadata':{'labels':{'team':'b'}},'spec':{'suspend':false}}");
    stage_run(&stage, 3 * CLOCK_MINUTE);
    stage.connected[1] = true;
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_false(json_bool(pointer_find(stage_job(&stage, 1, "a"), "/spec/suspend"), true));
    assert_int_equal(stage_told(&stage, "SuspendedInWorker"), 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suspect_worker_gets_no_new_work_and_keeps_what_it_has),
        cmocka_unit_test(a_silent_worker_is_lost_since_its_last_byte_and_comes_back),
        cmocka_unit_test(what_a_create_without_an_answer_made_is_looked_for_before_the_next_attempt),
        cmocka_unit_test(a_finished_mirror_is_deleted_only_as_it_was_seen),
        cmocka_unit_test(what_a_lost_patch_suspended_is_resumed),
        cmocka_unit_test(a_watch_that_breaks_later_does_not_begin_the_loss_anew),
        cmocka_unit_test(nothing_is_written_to_a_management_cluster_that_is_silent),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
