// SPDX-License-Identifier: Apache-2.0
// Workloads of workers with guards (docs/fencing.md), as far as the host's decisions go.
#include "core/engine/engine.h"
#include "core/engine/fence/fence.h"
#include "tests/unit/engine/stage.h"

#define LOST_NS (5 * CLOCK_MINUTE)
#define SUSPENDED "{'metadata':{'annotations':{'wharf.dev/fenced':'2026-03-01T12:03:00Z'}},'spec':{'suspend':true}}"

static void begin(struct stage *stage, bool enabled, bool wait) {
    stage_init(stage);
    stage->options.settings.worker_lost_timeout_ns = LOST_NS;
    stage->options.settings.fencing =
        (struct fence_options){.enabled = enabled, .wait = wait, .after_ns = CLOCK_MINUTE};
    stage_start(stage);
}

static void guarded(struct stage *stage, size_t cluster, int64_t sure_in_ns) {
    stage_fence(stage, cluster, &(struct fence_news){.guarded = true, .sure_ns = stage->now.mono_ns + sure_in_ns});
}

// Placed in w1, which runs it.
static void place(struct stage *stage) {
    guarded(stage, 1, 0);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    guarded(stage, 2, 0);
}

static bool is_suspended(struct stage *stage) {
    return json_bool(pointer_find(stage_job(stage, 1, "a"), "/spec/suspend"), false);
}

static void a_lost_worker_is_given_up_once_its_guard_has_certainly_acted(void **state) {
    (void)state;
    static const int64_t sure_ns[] = {CLOCK_MINUTE, 7 * CLOCK_MINUTE};
    for (size_t i = 0; i < 2; i++) {
        struct stage stage;
        begin(&stage, true, true);
        place(&stage);
        guarded(&stage, 1, sure_ns[i]);
        int64_t until_ns = sure_ns[i] > LOST_NS ? sure_ns[i] : LOST_NS;
        stage_disconnect(&stage, 1);
        stage_run(&stage, until_ns - CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 1);
        assert_null(stage_job(&stage, 2, "a"));
        stage_run(&stage, 3 * CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 2);
        stage_end(&stage);
    }
}

// The guard may have been heard again since, by another connection or process: only the latest time counts.
static void an_older_report_does_not_shorten_the_wait(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    guarded(&stage, 1, 9 * CLOCK_MINUTE);
    guarded(&stage, 1, CLOCK_MINUTE);
    stage_disconnect(&stage, 1);
    stage_run(&stage, 8 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_end(&stage);
}

static void without_a_guard_the_configuration_decides(void **state) {
    (void)state;
    for (int wait = 0; wait < 2; wait++) {
        struct stage stage;
        begin(&stage, true, wait);
        place(&stage);
        stage_fence(&stage, 1, &(struct fence_news){.guarded = false});
        stage_disconnect(&stage, 1);
        stage_run(&stage, 3 * LOST_NS);
        assert_int_equal(stage_where(&stage, "a"), wait ? 1 : 2);
        assert_int_equal(stage_told(&stage, "no guard was seen there, so the workload will not"), wait);
        stage_end(&stage);
    }
}

// Not even by the process before: it cannot know what another one has seen.
static void a_guard_that_this_process_has_not_seen_does_not_count(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    stage_disconnect(&stage, 1);
    stage_restart(&stage);
    stage_disconnect(&stage, 1);
    stage_run(&stage, 3 * LOST_NS);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_end(&stage);
}

static void a_new_leader_waits_for_what_the_former_one_may_have_renewed(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    stage_disconnect(&stage, 1);
    stage_run(&stage, LOST_NS - CLOCK_SECOND);
    fence_begin(stage.engine, 0, stage.now);
    stage_run(&stage, 2 * CLOCK_MINUTE); // less than 2.25 times fenceAfter
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void nothing_new_goes_where_the_guard_would_stop_it(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 0); // nothing is known of the guards
    assert_int_equal(stage_told(&stage, "0/2 workers accept it: w1 guard has no heartbeat of the host; w2 guard"), 1);
    stage_fence(&stage, 1, &(struct fence_news){.guarded = true, .fencing = true});
    guarded(&stage, 2, CLOCK_MINUTE);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void what_the_guard_suspended_is_resumed_once_it_has_heard_of_the_host(void **state) {
    (void)state;
    for (int suspended = 0; suspended < 2; suspended++) {
        struct stage stage;
        begin(&stage, true, true);
        place(&stage);
        stage_disconnect(&stage, 1);
        assert_int_equal(stage_patch(&stage, 1, "a", NULL, SUSPENDED), 200);
        if (suspended)
            assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
        stage_run(&stage, CLOCK_MINUTE);
        stage_connect(&stage, 1);
        stage_run(&stage, CLOCK_MINUTE);
        assert_true(is_suspended(&stage)); // nothing is known yet
        stage_fence(&stage, 1, &(struct fence_news){.guarded = true, .fencing = true});
        stage_run(&stage, CLOCK_MINUTE);
        assert_true(is_suspended(&stage));
        assert_int_equal(stage_told(&stage, "Fenced: the guard of w1 suspended the mirror"), 1);
        guarded(&stage, 1, CLOCK_MINUTE);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(is_suspended(&stage), suspended);
        assert_null(object_annotation(stage_job(&stage, 1, "a"), MARK_FENCED));
        assert_int_equal(stage_attempt(&stage, "a"), 1);
        assert_int_equal(stage_told(&stage, "SuspendedInWorker"), 0);
        stage_end(&stage);
    }
}

// The worker's list comes before that of the management cluster.
static void a_mirror_that_is_seen_before_its_workload_is_reported_too(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    stage_disconnect(&stage, 1);
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, SUSPENDED), 200);
    engine_free(stage.engine);
    update_free(&stage.update);
    assert_null(engine_new(&stage.options, stage.now, &stage.engine));
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Fenced: the guard of w1 suspended the mirror"), 0);
    stage_connect(&stage, 0);
    stage_connect(&stage, 2);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Fenced: the guard of w1 suspended the mirror"), 1);
    stage_end(&stage);
}

// The worker was silent, but not for so long that it counts as lost: what was known of the guard is from before.
static void what_was_known_of_the_guard_before_it_acted_does_not_count(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, SUSPENDED), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(is_suspended(&stage));
    guarded(&stage, 1, CLOCK_MINUTE);
    stage_run(&stage, CLOCK_SECOND);
    assert_false(is_suspended(&stage));
    stage_end(&stage);
}

static void a_fenced_mirror_that_is_not_the_current_attempt_is_deleted(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    place(&stage);
    guarded(&stage, 1, CLOCK_MINUTE);
    stage_disconnect(&stage, 1);
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, SUSPENDED), 200);
    stage_run(&stage, LOST_NS + CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_connect(&stage, 1);
    guarded(&stage, 1, CLOCK_MINUTE);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void a_host_without_fencing_resumes_nothing_that_a_guard_suspended(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false, false);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, SUSPENDED), 200);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_true(is_suspended(&stage));
    assert_int_equal(stage_told(&stage, "fencing is not enabled in this host"), 1);
    stage_end(&stage);
}

static void the_lease_is_renewed_while_the_worker_is_followed_and_not_refused(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    assert_int_equal(engine_renews(stage.engine, 1), 1);
    stage_disconnect(&stage, 1);
    assert_false(engine_renews(stage.engine, 1));
    stage_connect(&stage, 1);
    assert_int_equal(engine_renews(stage.engine, 1), 1);
    stage_end(&stage);
}

static void the_number_of_guards_is_known(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true, true);
    for (unsigned guards = 0; guards < 4; guards++) {
        stage_fence(&stage, 1, &(struct fence_news){.guards = guards, .guarded = guards > 0});
        assert_int_equal(engine_stats(stage.engine)->clusters[1].guards, guards);
    }
    stage_end(&stage);
}

static void set_enabled(struct stage *stage, bool enabled) {
    struct engine_settings settings = stage->options.settings;
    settings.fencing = (struct fence_options){.enabled = enabled, .wait = true, .after_ns = CLOCK_MINUTE};
    engine_configure(stage->engine, &settings);
    stage_run(stage, CLOCK_MS);
}

// Its Lease was given back: the guard stops nothing then.
static void a_guard_that_was_seen_before_fencing_was_disabled_does_not_count_later(void **state) {
    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        struct stage stage;
        begin(&stage, true, true);
        place(&stage);
        set_enabled(&stage, false);
        assert_int_equal(engine_stats(stage.engine)->clusters[1].guards, 0);
        set_enabled(&stage, true);
        assert_int_equal(engine_fence_epoch(stage.engine), 1);
        guarded(&stage, 1, CLOCK_MINUTE); // read before, and told late
        for (size_t c = seen ? 1 : 2; c <= 2; c++)
            stage_fence(&stage, c,
                        &(struct fence_news){.guarded = true, .sure_ns = stage.now.mono_ns + CLOCK_MINUTE, .epoch = 1});
        stage_disconnect(&stage, 1);
        stage_run(&stage, 2 * LOST_NS);
        assert_int_equal(stage_where(&stage, "a"), seen ? 2 : 1);
        stage_end(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_worker_is_given_up_once_its_guard_has_certainly_acted),
        cmocka_unit_test(an_older_report_does_not_shorten_the_wait),
        cmocka_unit_test(without_a_guard_the_configuration_decides),
        cmocka_unit_test(a_guard_that_this_process_has_not_seen_does_not_count),
        cmocka_unit_test(a_new_leader_waits_for_what_the_former_one_may_have_renewed),
        cmocka_unit_test(nothing_new_goes_where_the_guard_would_stop_it),
        cmocka_unit_test(what_the_guard_suspended_is_resumed_once_it_has_heard_of_the_host),
        cmocka_unit_test(a_mirror_that_is_seen_before_its_workload_is_reported_too),
        cmocka_unit_test(what_was_known_of_the_guard_before_it_acted_does_not_count),
        cmocka_unit_test(a_fenced_mirror_that_is_not_the_current_attempt_is_deleted),
        cmocka_unit_test(a_host_without_fencing_resumes_nothing_that_a_guard_suspended),
        cmocka_unit_test(the_lease_is_renewed_while_the_worker_is_followed_and_not_refused),
        cmocka_unit_test(the_number_of_guards_is_known),
        cmocka_unit_test(a_guard_that_was_seen_before_fencing_was_disabled_does_not_count_later),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
