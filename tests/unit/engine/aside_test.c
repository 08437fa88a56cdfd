// SPDX-License-Identifier: Apache-2.0
// Calls of the adapter without a result, at each place that calls: nothing is done for lack of a result, and all goes
// on with it.
#include "tests/unit/engine/aside_play.h"

static void a_new_workload_without_a_phase_is_not_placed(struct stage *stage) {
    fail_in(FUNCTION_PHASE);
    stage_submit(stage, "a", "");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
    assert_non_null(strstr(waits(stage), trouble == CALL_WAITS ? "the process of adapter farm starts, or is busy"
                                                               : "adapter farm failed in function phase: signal 11 "
                                                                 "(Segmentation fault); the next try is when"));
    recover(stage);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_null(waits(stage));
}

static void finish(struct stage *stage) {
    place(stage);
    stage_completes(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_true(stage_finished(stage, "a"));
}

// The host knows it from the start as a finished one without a mirror, with the record of an attempt.
static void one_that_had_finished_does_not_run_again_after_a_restart(struct stage *stage) {
    finish(stage);
    stage_run(stage, CLOCK_MINUTE);
    assert_null(stage_job(stage, 1, "a"));
    fail_in(FUNCTION_PHASE);
    stage_restart(stage);
    stage_run(stage, 20 * CLOCK_MINUTE);
    recover(stage);
    assert_true(!stage_job(stage, 1, "a") && !stage_job(stage, 2, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    assert_true(stage_finished(stage, "a"));
}

static void a_finished_one_stays_finished_and_keeps_its_mirror_meanwhile(struct stage *stage) {
    finish(stage);
    fail_in(FUNCTION_PHASE);
    change(stage, 0, NULL, "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, CLOCK_MINUTE); // longer than the retention
    assert_non_null(stage_job(stage, 1, "a"));
    assert_int_equal(stage->sent[1][VERB_DELETE], 0);
    recover(stage);
    assert_null(stage_job(stage, 1, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
}

static void a_mirror_without_a_phase_is_kept(struct stage *stage) {
    finish(stage);
    fail_in(FUNCTION_PHASE);
    change(stage, 1, NULL, "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, CLOCK_MINUTE);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_non_null(waits(stage));
    recover(stage);
    assert_null(stage_job(stage, 1, "a"));
}

static void a_mirror_that_finished_unread_and_is_gone_does_not_run_again(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_PHASE);
    stage_completes(stage, 1, "a");
    stage_run(stage, SOON);
    assert_int_equal(stage_delete(stage, 1, "a"), 200);
    stage_run(stage, CLOCK_MINUTE);
    assert_null(stage_job(stage, 1, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    recover(stage);
    assert_true(stage_finished(stage, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    assert_true(!stage_job(stage, 1, "a") && !stage_job(stage, 2, "a"));
}

static void one_that_ran_unread_and_is_gone_runs_again(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_PHASE);
    change(stage, 1, "status", "{'status':{'ready':0}}");
    stage_run(stage, SOON);
    assert_int_equal(stage_delete(stage, 1, "a"), 200);
    stage_run(stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(stage, "a"), 1);
    recover(stage);
    assert_int_equal(stage_attempt(stage, "a"), 2);
}

static void an_unread_mirror_is_not_withdrawn(struct stage *stage) {
    stage_end(stage);
    begin(stage);
    stage->options.settings.placement.otherwise.pending_timeout_ns = CLOCK_MINUTE;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, SOON);
    fail_in(FUNCTION_PHASE);
    stage_runs(stage, 1, "a");
    stage_run(stage, 3 * CLOCK_MINUTE);
    assert_int_equal(stage_told(stage, "Withdrawn"), 0);
    recover(stage);
    assert_int_equal(stage_told(stage, "Withdrawn"), 0);
    assert_int_equal(stage_attempt(stage, "a"), 1);
}

static void nobody_gives_up_for_lack_of_a_status(struct stage *stage) {
    stage_end(stage);
    begin(stage);
    stage->options.settings.placement.otherwise.pending_timeout_ns = CLOCK_MINUTE;
    stage->options.settings.placement.otherwise.give_up_after_ns = 5 * CLOCK_MINUTE;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 4 * CLOCK_MINUTE);
    fail_in(FUNCTION_STATUS);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_told(stage, "GaveUp"), 0);
    script.trouble = CALL_FINE;
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_told(stage, "GaveUp: not started within 5m"), 1);
    assert_non_null(pointer_find(stage_job(stage, 0, "a"), "/status/conditions"));
}

static void without_an_answer_whether_it_is_accepted_it_is_not_placed(struct stage *stage) {
    fail_in(FUNCTION_ACCEPT);
    stage_submit(stage, "a", "");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
    recover(stage);
    assert_non_null(stage_job(stage, 1, "a"));
}

static void without_a_made_mirror_there_is_none(struct stage *stage) {
    fail_in(FUNCTION_MIRROR);
    stage_submit(stage, "a", "");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_null(stage_job(stage, 1, "a"));
    recover(stage);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
}

static void a_change_without_an_update_is_carried_later(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_UPDATE);
    change(stage, 0, NULL, "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_string_equal(label(stage, 1), "");
    recover(stage);
    assert_string_equal(label(stage, 1), "x");
}

static void a_status_that_is_not_made_is_written_later(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_STATUS);
    stage_completes(stage, 1, "a");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_false(stage_finished(stage, "a"));
    assert_non_null(stage_job(stage, 1, "a"));
    recover(stage);
    assert_true(stage_finished(stage, "a"));
}

static void a_user_may_delete_it_meanwhile(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_PHASE);
    change(stage, 1, "status", "{'status':{'ready':0}}");
    stage_run(stage, SOON);
    assert_int_equal(stage_delete(stage, 0, "a"), 200);
    stage_run(stage, SOON);
    assert_null(stage_job(stage, 1, "a"));
}

static void the_worker_of_an_unread_mirror_is_not_given_up(struct stage *stage) {
    place(stage);
    fail_in(FUNCTION_PHASE);
    stage_completes(stage, 1, "a");
    stage_run(stage, SOON);
    stage_disconnect(stage, 1);
    stage_run(stage, 20 * CLOCK_MINUTE);
    assert_null(stage_job(stage, 2, "a"));
    recover(stage);
    assert_true(stage_finished(stage, "a"));
    assert_null(stage_job(stage, 2, "a"));
}

static void nothing_is_placed_without_the_pods(struct stage *stage) {
    struct nodes *nodes = nodes_new(1, (const char *const[]){"pods"}, 1, 0);
    nodes->left[0] = nodes->allocatable[0] = 100;
    stage_step(stage,
               &(struct engine_event){.type = EVENT_CAPACITY, .cluster = 1, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
    fail_in(FUNCTION_POD_SETS);
    stage_submit(stage, "a", "");
    stage_run(stage, 30 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
    recover(stage);
    assert_non_null(stage_job(stage, 1, "a"));
}

// Of each worker that has it.
static int drop(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)plural, (void)message;
    if (verb == WORLD_CREATE)
        pointer_remove(object, "/spec/activeDeadlineSeconds");
    return 0;
}

static void a_worker_that_drops_fields_is_not_taken_for_one_that_keeps_them(struct stage *stage) {
    stage_end(stage);
    begin(stage);
    stage->options.settings.placement.otherwise.require_fields = REQUIRE_ALL;
    world_set_admission(stage->clusters[1], drop, NULL);
    stage_start(stage);
    stage_submit(stage, "b", "");
    stage_run(stage, SOON);
    fail_in(FUNCTION_MIRROR);
    script.object = "a";
    stage_submit(stage, "a", "");
    change(stage, 0, NULL, "{'spec':{'activeDeadlineSeconds':3000000}}");
    stage_run(stage, 30 * CLOCK_SECOND);
    recover(stage);
    stage_run(stage, LATER);
    assert_null(stage_job(stage, 1, "a"));
    assert_non_null(stage_job(stage, 2, "a"));
}

#define META "'metadata':{'name':'a','namespace':'default','uid':'u','resourceVersion':'1'}"
#define DONE "[{'type':'Complete','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'}]"

// A final status stays, and the status of a suspended workload is due: both by the phase of the workload.
static void a_status_needs_the_phase_of_the_workload(struct stage *stage) {
    AUTO_JSON done = harness_json("{" META ",'status':{'succeeded':1,'conditions':" DONE "}}");
    AUTO_JSON runs = harness_json("{" META ",'status':{'active':1}}");
    AUTO_JSON suspended = harness_json("{" META ",'spec':{'suspend':true}}");
    AUTO_JSON patch = NULL;
    AUTO_JSON owed = json_new_object();
    AUTO_CALL call;
    adapter_call_begin(&call, &(struct call_context){.kind = &stage->kind->abi,
                                                     .given = stage->kind->given,
                                                     .now = stage->now,
                                                     .version = "v1",
                                                     .object = "default/a"});
    struct mirror_context context = {
        .kind = stage->kind, .origin = "here", .call = &call, .workload = done, .mirror = runs, .attempt = 1};
    uint64_t wanted = 0;
    fail_in(FUNCTION_PHASE);
    assert_int_equal(mirror_status(&context, &patch, &wanted), WHARF_RETRY);
    assert_null(patch);
    assert_int_equal(owed_status(&call, suspended, owed), WHARF_RETRY);
    script.trouble = CALL_FINE;
    assert_int_equal(mirror_status(&context, &patch, &wanted), WHARF_OK);
    assert_null(patch);
    assert_int_equal(owed_status(&call, suspended, owed), WHARF_OK);
    assert_non_null(pointer_find(owed, "/status/conditions/0"));
}

static const struct test tests[] = {
    TEST(a_status_needs_the_phase_of_the_workload),
    TEST(a_new_workload_without_a_phase_is_not_placed),
    TEST(one_that_had_finished_does_not_run_again_after_a_restart),
    TEST(a_finished_one_stays_finished_and_keeps_its_mirror_meanwhile),
    TEST(a_mirror_without_a_phase_is_kept),
    TEST(a_mirror_that_finished_unread_and_is_gone_does_not_run_again),
    TEST(one_that_ran_unread_and_is_gone_runs_again),
    TEST(an_unread_mirror_is_not_withdrawn),
    TEST(nobody_gives_up_for_lack_of_a_status),
    TEST(without_an_answer_whether_it_is_accepted_it_is_not_placed),
    TEST(without_a_made_mirror_there_is_none),
    TEST(a_change_without_an_update_is_carried_later),
    TEST(a_status_that_is_not_made_is_written_later),
    TEST(a_user_may_delete_it_meanwhile),
    TEST(the_worker_of_an_unread_mirror_is_not_given_up),
    TEST(nothing_is_placed_without_the_pods),
    TEST(a_worker_that_drops_fields_is_not_taken_for_one_that_keeps_them),
};

static void run(void **state) {
    static const enum call_trouble troubles[] = {CALL_WAITS, CALL_BROKEN};
    for (size_t i = 0; i < 2; i++) {
        trouble = troubles[i];
        run_on_stage(*state);
    }
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[i] = (struct CMUnitTest){tests[i].name, run, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, stage_load, NULL);
}
