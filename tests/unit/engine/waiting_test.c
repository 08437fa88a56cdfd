// SPDX-License-Identifier: Apache-2.0
// What a workload waits for, and its Events.
#include "tests/support/engine_views.h"
#include "tests/unit/engine/stage.h"

static bool has_mirror_in_w1(struct stage *stage) {
    return stage_job(stage, 1, "a");
}

// An object of that name with the host's marks, of a workload that is long gone, with a finalizer that stays.
static void put_predecessor(struct stage *stage, size_t cluster) {
    const char *job =
        "{'metadata':{'name':'a','namespace':'default','finalizers':['example.com/stays'],'labels':{'wharf.dev/origin':"
        "'here','wharf.dev/uid':'00000000-0000-4000-8000-000000000001','wharf.dev/kind':'jobs.batch'},'annotations':{"
        "'wharf.dev/attempt':'1'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
        "'image':'i'}]}}}}";
    assert_int_equal(stage_apply(stage, cluster, "batch", "jobs", job), 201);
}

static void a_predecessor_in_another_cluster_delays_nothing(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    put_predecessor(&stage, 2);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_non_null(json_get(json_get(stage_job(&stage, 2, "a"), "metadata"), "deletionTimestamp"));
    assert_true(has_mirror_in_w1(&stage));
    stage_end(&stage);
}

static int no_create_gets_done_in_w1(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_CREATE ? 500 : STAGE_PASS;
}

static bool has_mirror_in_w2(struct stage *stage) {
    return stage_job(stage, 2, "a");
}

static void a_worker_that_always_answers_500_is_not_used(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = no_create_gets_done_in_w1;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_true(has_mirror_in_w2(&stage));
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_true(stage.sent[1][VERB_GET] > 0);
    assert_true(stage.sent[1][VERB_CREATE] < 6);
    assert_true(stage_told(&stage, "cluster w1") > 0);
    stage_end(&stage);
}

static int creates_in_w1_are_never_answered(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_CREATE ? STAGE_LOST : STAGE_PASS;
}

static void a_create_that_was_never_answered_may_still_take_effect(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = creates_in_w1_are_never_answered;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_false(has_mirror_in_w2(&stage));
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_true(stage_told(&stage, "cluster w1") > 0);
    stage_end(&stage);
}

// Each worker has a predecessor of the workload.
static void start_behind_two(struct stage *stage) {
    stage_init(stage);
    put_predecessor(stage, 1);
    put_predecessor(stage, 2);
    stage_start(stage);
    stage_submit(stage, "a", "");
}

static void a_wait_of_more_than_a_minute_is_reported_once(void **state) {
    (void)state;
    struct stage stage;
    start_behind_two(&stage);
    stage_run(&stage, 50 * CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Waiting"), 0);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "Waiting"), 1);
    assert_int_equal(engine_stats(stage.engine)->waiting[WAITING_PREDECESSOR], 1);
    stage_patch(&stage, 2, "a", NULL, "{'metadata':{'finalizers':null}}");
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_true(has_mirror_in_w2(&stage));
    assert_int_equal(engine_stats(stage.engine)->waiting[WAITING_PREDECESSOR], 0);
    stage_end(&stage);
}

static void a_predecessor_in_the_way_is_named(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    put_predecessor(&stage, 1);
    stage_start(&stage);
    stage_submit(&stage, "a", "'wharf.dev/cluster':'w1','wharf.dev/attempt':'1'");
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "another object has the name of the mirror; the host creates the mirror once "
                                        "that object is gone (cluster w1)"),
                     1);
    stage_end(&stage);
}

static void an_unreachable_worker_is_not_called_refused(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 10 * CLOCK_SECOND);
    size_t worker = stage_where(&stage, "a");
    stage_disconnect(&stage, worker); // its identity is unknown until it is connected again
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "unreachable since"), 1);
    assert_int_equal(stage_told(&stage, "identified"), 0);
    assert_int_equal(engine_stats(stage.engine)->waiting[WAITING_WORKER], 1);
    assert_int_equal(engine_stats(stage.engine)->waiting[WAITING_IDENTITY], 0);
    stage_end(&stage);
}

static void needs_no_timer(void *ctx, const struct engine_view *view) {
    assert_true(view->wake_ns == CLOCK_NEVER);
    ++*(size_t *)ctx;
}

// Otherwise each workload that waited while the host started would be looked at again a minute later, for nothing.
static void what_waits_no_longer_has_no_timer(void **state) {
    (void)state;
    struct stage stage;
    start_behind_two(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'finalizers':null}}");
    stage_patch(&stage, 2, "a", NULL, "{'metadata':{'finalizers':null}}");
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_true(has_mirror_in_w1(&stage) || has_mirror_in_w2(&stage));
    size_t count = 0;
    engine_each(stage.engine, needs_no_timer, &count);
    assert_int_equal(count, 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_predecessor_in_another_cluster_delays_nothing),
        cmocka_unit_test(a_wait_of_more_than_a_minute_is_reported_once),
        cmocka_unit_test(a_predecessor_in_the_way_is_named),
        cmocka_unit_test(what_waits_no_longer_has_no_timer),
        cmocka_unit_test(an_unreachable_worker_is_not_called_refused),
        cmocka_unit_test(a_worker_that_always_answers_500_is_not_used),
        cmocka_unit_test(a_create_that_was_never_answered_may_still_take_effect),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
