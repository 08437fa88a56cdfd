// SPDX-License-Identifier: Apache-2.0
// What is told of a lost worker, when, and what follows by onWorkerLost.
#include "core/engine/engine.h"
#include "tests/unit/engine/stage.h"

static void begin(struct stage *stage, bool wait) {
    stage_init(stage);
    stage->options.settings.placement.otherwise.wait_when_lost = wait;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
}

static void back(struct stage *stage) {
    stage_connect(stage, 1);
    stage_identity(stage, 1);
    stage_contact(stage, 1, CONTACT_GOOD);
}

static void refused_connections_are_told_after_several_attempts(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_SUSPECT); // the probe cannot connect either
    stage_run(&stage, 3 * CLOCK_SECOND);       // this process may be slow
    assert_int_equal(stage_told(&stage, "WorkerLost: "), 0);
    stage_refused(&stage, 1);
    stage_run(&stage, CLOCK_MS);
    assert_int_equal(stage_told(&stage, "WorkerLost: w1 unreachable"), 1);
    stage_run(&stage, 4 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "WorkerLost: "), 1);
    stage_end(&stage);
}

// One of several API servers is restarted: the next probe reaches another.
static void a_connection_that_is_refused_once_is_no_loss(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_SUSPECT);
    stage_run(&stage, 250 * CLOCK_MS);
    stage_contact(&stage, 1, CONTACT_GOOD);
    stage_run(&stage, CLOCK_SECOND); // the watch is opened again
    back(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Worker"), 0);
    stage_end(&stage);
}

static void a_watch_that_fails_while_the_server_answers_is_told_after_five_seconds(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    stage_disconnect(&stage, 1);
    stage_run(&stage, 4900 * CLOCK_MS);
    assert_int_equal(stage_told(&stage, "WorkerLost: "), 0);
    stage_run(&stage, 200 * CLOCK_MS);
    assert_int_equal(stage_told(&stage, "WorkerLost: w1 unreachable"), 1);
    stage_end(&stage);
}

static void it_is_told_that_no_connection_is_accepted_although_the_watch_is_open(void **state) {
    (void)state;
    for (int wait = 0; wait < 2; wait++) {
        struct stage stage;
        begin(&stage, wait);
        stage_contact(&stage, 1, CONTACT_SUSPECT);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_told(&stage, "WorkerLost: "), 0);
        stage_refused(&stage, 1);
        stage_run(&stage, CLOCK_MS);
        assert_int_equal(stage_told(&stage, "WorkerLost: w1 accepts no connection since"), 1);
        assert_int_equal(stage_told(&stage, wait ? "the workload waits until the worker is back (onWorkerLost: wait)"
                                                 : "will run in another worker 5m after the last watch ends"),
                         1);
        stage_run(&stage, 30 * CLOCK_MINUTE); // what the watch shows still counts: it runs there
        assert_int_equal(stage_where(&stage, "a"), 1);
        assert_null(stage_job(&stage, 2, "a"));
        stage_contact(&stage, 1, CONTACT_GOOD);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_told(&stage, "WorkerBack: w1 reachable again after 30m"), 1);
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(stage_told(&stage, "WorkerLost: w1") + stage_told(&stage, "WorkerBack: w1"), 2);
        stage_end(&stage);
    }
}

// The whole of it is one loss.
static void a_watch_that_ends_later_is_told_no_second_time(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    stage_refused(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, stage.options.settings.worker_lost_timeout_ns - CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Worker"), 1);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void a_workload_that_waits_stays_however_long_its_worker_is_lost(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 24 * 60 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_told(&stage, "the workload waits until the worker is back (onWorkerLost: wait)"), 1);
    assert_int_equal(stage_told(&stage, "Waiting: "), 0);
    assert_null(stage_job(&stage, 2, "a"));
    back(&stage);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void it_is_placed_elsewhere_if_nothing_was_created_there_yet(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.placement.otherwise.wait_when_lost = true;
    stage_start(&stage);
    stage.latency_ns = 500 * CLOCK_MS;
    stage_submit(&stage, "a", "");
    stage_run(&stage, 300 * CLOCK_MS); // the annotations are being written
    stage_disconnect(&stage, 1);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void a_loss_is_acted_on_when_the_setting_changes(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    struct engine_settings settings = stage.options.settings;
    settings.placement.otherwise.wait_when_lost = false;
    engine_configure(stage.engine, &settings);
    stage_step(&stage, &(struct engine_event){.type = EVENT_TIME});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_told(&stage, "Rescheduled: w1 unreachable for"), 1);
    stage_end(&stage);
}

// The status is not copied from a worker that was given up; one that is waited for was not.
static void a_restarted_host_waits_too(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    stage_disconnect(&stage, 1);
    stage_restart(&stage); // connects all
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

// What happened in between is not written, one after the other.
static void the_newest_status_is_written_when_the_management_cluster_is_back(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    stage_disconnect(&stage, 0);
    stage_contact(&stage, 0, CONTACT_LOST);
    unsigned before = stage.sent[0][VERB_STATUS_PATCH];
    for (int i = 1; i <= 5; i++) {
        AUTO_TEXT status = text_format("{'status':{'active':1,'failed':%d}}", i);
        assert_int_equal(stage_patch(&stage, 1, "a", "status", status), 200);
        stage_run(&stage, CLOCK_MINUTE);
    }
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], before);
    stage_connect(&stage, 0);
    stage_contact(&stage, 0, CONTACT_GOOD);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], before + 1);
    assert_int_equal(json_int64(json_path(stage_job(&stage, 0, "a"), "status", "failed", NULL), 0), 5);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

// The wall clock is set back or ahead by a year: what is waited for is counted by another one.
static void a_wall_clock_that_jumps_changes_nothing(void **state) {
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct stage stage;
        begin(&stage, false);
        stage_disconnect(&stage, 1);
        stage_contact(&stage, 1, CONTACT_LOST);
        stage_run(&stage, CLOCK_MINUTE);
        int64_t jump_ns = 365 * 24 * 60 * CLOCK_MINUTE;
        struct moment jumped = {stage.now.mono_ns, stage.now.wall_ns + (back ? -jump_ns : jump_ns)};
        struct moment kept = stage.now;
        stage.now = jumped;
        stage_step(&stage, &(struct engine_event){.type = EVENT_TIME});
        stage.now = kept; // the clusters' own
        assert_int_equal(stage_where(&stage, "a"), 1);
        stage_run(&stage, stage.options.settings.worker_lost_timeout_ns - 2 * CLOCK_MINUTE);
        assert_int_equal(stage_where(&stage, "a"), 1);
        stage_run(&stage, CLOCK_MINUTE + 5 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 2);
        stage_end(&stage);
    }
}

// Nobody has tried to reach the worker meanwhile.
static void a_machine_that_was_asleep_gives_a_lost_worker_a_moment(void **state) {
    (void)state;
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        struct stage stage;
        begin(&stage, false);
        stage_disconnect(&stage, 1);
        stage_contact(&stage, 1, CONTACT_LOST);
        stage_run(&stage, CLOCK_MINUTE);
        stage.now.mono_ns += 8 * 60 * CLOCK_MINUTE; // CLOCK_BOOTTIME goes on
        stage.now.wall_ns += 8 * 60 * CLOCK_MINUTE;
        stage_step(&stage, &(struct engine_event){.type = EVENT_TIME});
        stage_run(&stage, 50 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 1);
        assert_null(stage_job(&stage, 2, "a"));
        if (comes_back)
            back(&stage);
        stage_run(&stage, 20 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), comes_back ? 1 : 2);
        stage_end(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_connections_are_told_after_several_attempts),
        cmocka_unit_test(a_connection_that_is_refused_once_is_no_loss),
        cmocka_unit_test(a_watch_that_fails_while_the_server_answers_is_told_after_five_seconds),
        cmocka_unit_test(it_is_told_that_no_connection_is_accepted_although_the_watch_is_open),
        cmocka_unit_test(a_watch_that_ends_later_is_told_no_second_time),
        cmocka_unit_test(a_workload_that_waits_stays_however_long_its_worker_is_lost),
        cmocka_unit_test(it_is_placed_elsewhere_if_nothing_was_created_there_yet),
        cmocka_unit_test(a_loss_is_acted_on_when_the_setting_changes),
        cmocka_unit_test(a_restarted_host_waits_too),
        cmocka_unit_test(the_newest_status_is_written_when_the_management_cluster_is_back),
        cmocka_unit_test(a_wall_clock_that_jumps_changes_nothing),
        cmocka_unit_test(a_machine_that_was_asleep_gives_a_lost_worker_a_moment),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
