// SPDX-License-Identifier: Apache-2.0
// How long a workload waits for an adapter: busy, set aside, and paused.
#include "tests/unit/engine/aside_play.h"

static void what_is_set_aside_is_told_once_and_not_called_for(struct stage *stage) {
    place(stage);
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_STATUS);
    stage_completes(stage, 1, "a");
    stage_run(stage, SOON);
    assert_int_equal(stage_told(stage, "AdapterFailed: adapter farm failed in function status: signal 11"), 1);
    assert_int_equal(engine_stats(stage->engine)->kinds[0].aside, 1);
    assert_int_equal(engine_stats(stage->engine)->kinds[0].failures[ADAPTER_CRASHED], 1);
    unsigned before = calls();
    stage_run(stage, 4 * CLOCK_MINUTE);
    assert_int_equal(calls(), before);
    stage_run(stage, 4 * CLOCK_MINUTE);
    assert_int_equal(script.calls[FUNCTION_STATUS] > 0, 1);
    assert_int_equal(engine_stats(stage->engine)->kinds[0].failures[ADAPTER_CRASHED], 2);
    stage_run(stage, 6 * 60 * CLOCK_MINUTE);
    assert_in_range(engine_stats(stage->engine)->kinds[0].failures[ADAPTER_CRASHED], 6, 12); // 10, 20, 40, 60 minutes
    assert_int_equal(stage_told(stage, "AdapterFailed"), 1);
    script.trouble = CALL_FINE;
    stage_run(stage, 2 * 60 * CLOCK_MINUTE);
    assert_true(stage_finished(stage, "a"));
    assert_int_equal(engine_stats(stage->engine)->kinds[0].aside, 0);
}

static void failures_count_by_their_reason(struct stage *stage) {
    static const enum call_trouble troubles[ADAPTER_FAILURES] = {
        [ADAPTER_CRASHED] = CALL_BROKEN, [ADAPTER_LIMIT] = CALL_LIMIT, [ADAPTER_ANSWER] = CALL_INVALID};
    place(stage);
    for (size_t i = 0; i < ADAPTER_FAILURES; i++) {
        AUTO_TEXT patch = text_format("{'metadata':{'labels':{'team':'%zu'}}}", i);
        script.trouble = troubles[i];
        change(stage, 0, NULL, patch);
        stage_run(stage, LATER);
        const uint64_t *failures = engine_stats(stage->engine)->kinds[0].failures;
        assert_true(failures[i] > 0);
        for (size_t later = i + 1; later < ADAPTER_FAILURES; later++)
            assert_int_equal(failures[later], 0);
    }
}

static void break_status(struct stage *stage) {
    place(stage);
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_STATUS);
    stage_completes(stage, 1, "a");
    stage_run(stage, SOON);
    script.trouble = CALL_FINE;
}

static void a_changed_workload_is_tried_at_once(struct stage *stage) {
    break_status(stage);
    change(stage, 0, NULL, "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, SOON);
    assert_true(stage_finished(stage, "a"));
}

static void a_changed_mirror_is_tried_at_once(struct stage *stage) {
    break_status(stage);
    change(stage, 1, NULL, "{'metadata':{'annotations':{'x':'y'}}}");
    stage_run(stage, SOON);
    assert_true(stage_finished(stage, "a"));
}

static void a_retry_is_a_try_and_so_is_a_reload(struct stage *stage) {
    break_status(stage);
    script.trouble = CALL_BROKEN;
    unsigned first = script.calls[FUNCTION_STATUS];
    for (unsigned i = 0; i < 6; i++) { // which the host then delays
        AUTO_TEXT patch = text_format("{'metadata':{'annotations':{'x':'%u'}}}", i);
        change(stage, 1, NULL, patch);
        stage_run(stage, 100 * CLOCK_MS);
    }
    unsigned before = script.calls[FUNCTION_STATUS];
    assert_in_range(before - first, 1, 4);
    change(stage, 0, NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'now'}}}");
    stage_run(stage, CLOCK_SECOND);
    assert_true(script.calls[FUNCTION_STATUS] > before);
    script.trouble = CALL_FINE;
    assert_null(engine_configure(stage->engine, &stage->options.settings));
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
    stage_run(stage, CLOCK_SECOND);
    assert_true(stage_finished(stage, "a"));
}

static void submit_some(struct stage *stage, const char *prefix, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("%s%u", prefix, i);
        stage_submit(stage, name, "");
    }
}

static void three_workloads_pause_the_kind_and_one_is_tried_after_a_minute(struct stage *stage) {
    place(stage);
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_ACCEPT);
    script.object = "bad";
    submit_some(stage, "bad", 3);
    stage_run(stage, SOON);
    assert_int_equal(script.calls[FUNCTION_ACCEPT], 1 + 3);
    assert_true(engine_stats(stage->engine)->clusters[0].watches[0].paused);
    unsigned before = calls();
    stage_submit(stage, "good", "");
    stage_completes(stage, 1, "a");
    stage_run(stage, 50 * CLOCK_SECOND);
    assert_int_equal(calls(), before);
    assert_non_null(stage_job(stage, 1, "a"));
    stage_run(stage, 12 * CLOCK_SECOND); // the trial is with a workload that did not fail
    assert_true(stage_finished(stage, "a"));
    stage_run(stage, 20 * CLOCK_MINUTE);
    script.trouble = CALL_FINE;
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_false(engine_stats(stage->engine)->clusters[0].watches[0].paused);
    assert_true(stage_where(stage, "bad0") != 0 && stage_where(stage, "bad2") != 0 && stage_where(stage, "good") != 0);
}

static void a_trial_that_fails_makes_the_pause_longer(struct stage *stage) {
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_PHASE);
    submit_some(stage, "bad", 40);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(calls(), 3);
    stage_run(stage, 61 * CLOCK_SECOND);
    assert_int_equal(calls(), 4);
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_int_equal(calls(), 5);
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_in_range(calls(), 8, 12);
    script.trouble = CALL_FINE;
    stage_run(stage, 3 * 60 * CLOCK_MINUTE);
    assert_true(stage_where(stage, "bad0") && stage_where(stage, "bad39"));
}

static void an_adapter_that_does_not_load_pauses_its_kinds(struct stage *stage) {
    aside_adapter_failed_to_load(stage->engine, &farm, "signal 6 (Aborted)");
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
    stage_submit(stage, "a", "");
    stage_run(stage, 50 * CLOCK_SECOND);
    assert_int_equal(calls(), 0);
    assert_int_equal(stage_where(stage, "a"), 0);
    stage_run(stage, 12 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
}

static void many_wait_for_a_busy_adapter_with_few_calls(struct stage *stage) {
    trouble = CALL_WAITS;
    fail_in(FUNCTION_PHASE);
    submit_some(stage, "x", 500);
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_in_range(calls(), 5, 30);
    assert_int_equal(stage_told(stage, "AdapterFailed"), 0);
    script.trouble = CALL_FINE;
    aside_adapter_ready(stage->engine, &farm);
    unsigned before = calls();
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
    assert_in_range(calls() - before, 1, 64);
    stage_run(stage, 200 * CLOCK_MS);
    assert_true(stage_where(stage, "x0") && stage_where(stage, "x499"));
}

// No request and no event follows from them.
static void all_are_tried_even_if_nothing_else_happens(struct stage *stage) {
    trouble = CALL_WAITS;
    fail_in(FUNCTION_PHASE);
    submit_some(stage, "x", 100);
    for (unsigned i = 0; i < 100; i++) {
        AUTO_TEXT name = text_format("x%u", i);
        stage_runs(stage, 0, name);
        stage_completes(stage, 0, name);
    }
    stage_run(stage, CLOCK_SECOND);
    script.trouble = CALL_FINE;
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_int_equal(engine_stats(stage->engine)->kinds[0].phases[WHARF_SUCCEEDED], 100);
}

static void while_the_trial_waits_no_other_is_called(struct stage *stage) {
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_PHASE);
    submit_some(stage, "bad", 3);
    stage_run(stage, CLOCK_SECOND);
    stage_submit(stage, "good", "");
    script.trouble = CALL_WAITS;
    script.retry_after_ms = 30000;
    stage_run(stage, 62 * CLOCK_SECOND);
    unsigned before = calls();
    submit_some(stage, "new", 10);
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_int_equal(calls(), before);
    script.trouble = CALL_FINE;
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_true(stage_where(stage, "good") && stage_where(stage, "new9"));
}

static void the_adapter_says_when_to_call_again(struct stage *stage) {
    trouble = CALL_WAITS;
    fail_in(FUNCTION_PHASE);
    script.retry_after_ms = 5000;
    stage_submit(stage, "a", "");
    stage_run(stage, 4900 * CLOCK_MS);
    assert_int_equal(calls(), 1);
    stage_run(stage, 200 * CLOCK_MS);
    assert_int_equal(calls(), 2);
}

// A worker's administrator may make any number of these.
static void mirrors_without_a_workload_do_not_break_the_adapter_again_and_again(struct stage *stage) {
    const char *job =
        "{'metadata':{'name':'a','namespace':'default','finalizers':['example.com/stays'],'labels':{'wharf.dev/origin':"
        "'here','wharf.dev/uid':'00000000-0000-4000-8000-000000000001','wharf.dev/kind':'jobs.batch'},'annotations':{"
        "'wharf.dev/attempt':'1'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
        "'image':'i'}]}}}}";
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_PHASE);
    assert_int_equal(stage_apply(stage, 1, "batch", "jobs", job), 201);
    stage_runs(stage, 1, "a");
    for (unsigned i = 1; i < 100; i++) {
        AUTO_TEXT patch = text_format("{'metadata':{'labels':{'team':'%u'}}}", i);
        change(stage, 1, NULL, patch);
        stage_run(stage, 10 * CLOCK_MS);
    }
    assert_in_range(calls(), 1, 5);
    script.trouble = CALL_FINE;
    stage_submit(stage, "b", ""); // others go on
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "b"), 1);
}

static void the_object_that_ended_a_former_process_is_set_aside_from_the_start(struct stage *stage) {
    place(stage);
    const char *uid = json_string(json_path(stage_job(stage, 0, "a"), "metadata", "uid", NULL));
    AUTO_TEXT kept = strdup(uid);
    stage->ctx = kept;
    stage_restart(stage);
    memset(script.calls, 0, sizeof script.calls);
    stage_submit(stage, "b", "");
    stage_completes(stage, 1, "a");
    stage_run(stage, 6 * 60 * CLOCK_MINUTE);
    assert_int_equal(stage_told(stage, "AdapterFailed: a former process of this host ended in a call: adapter farm, "
                                       "status: signal 11"),
                     1);
    assert_false(stage_finished(stage, "a"));
    assert_non_null(stage_job(stage, 1, "a"));
    assert_true(stage_where(stage, "b") != 0);
    change(stage, 0, NULL, "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, SOON);
    assert_true(stage_finished(stage, "a"));
}

static void the_marks_are_bounded(struct stage *stage) {
    for (size_t i = 0; i < ASIDE_MARKS; i++)
        assert_true(aside_mark(stage->engine, "jobs.batch", "default/none", "1", "x"));
    assert_false(aside_mark(stage->engine, "jobs.batch", "default/none", "1", "x"));
    place(stage);
}

static const struct test tests[] = {
    TEST(what_is_set_aside_is_told_once_and_not_called_for),
    TEST(failures_count_by_their_reason),
    TEST(a_changed_workload_is_tried_at_once),
    TEST(a_changed_mirror_is_tried_at_once),
    TEST(a_retry_is_a_try_and_so_is_a_reload),
    TEST(three_workloads_pause_the_kind_and_one_is_tried_after_a_minute),
    TEST(a_trial_that_fails_makes_the_pause_longer),
    TEST(an_adapter_that_does_not_load_pauses_its_kinds),
    TEST(many_wait_for_a_busy_adapter_with_few_calls),
    TEST(mirrors_without_a_workload_do_not_break_the_adapter_again_and_again),
    TEST(all_are_tried_even_if_nothing_else_happens),
    TEST(while_the_trial_waits_no_other_is_called),
    TEST(the_adapter_says_when_to_call_again),
    TEST(the_object_that_ended_a_former_process_is_set_aside_from_the_start),
    TEST(the_marks_are_bounded),
};

static void run(void **state) {
    run_on_stage(*state);
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[i] = (struct CMUnitTest){tests[i].name, run, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, stage_load, NULL);
}
