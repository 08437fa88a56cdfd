// SPDX-License-Identifier: Apache-2.0
// Calls of the adapter without a result, at each place that calls: nothing is done for lack of a result, and all goes
// on with it.
#include "core/engine/aside/aside.h"

#include "core/engine/history/inspect.h"
#include "tests/unit/engine/stage.h"

#define SOON (2 * CLOCK_SECOND)
#define LATER (70 * CLOCK_MINUTE) // what is set aside is tried again
#define ALL UINT32_MAX

static struct {
    enum call_trouble trouble;
    uint32_t functions; // a bit each
    const char *object; // the calls for objects with names that begin like this; NULL: for all
    uint32_t retry_after_ms;
    unsigned calls[ADAPTER_FUNCTIONS];
} script;

static bool fails(const wharf_call *call, enum adapter_function function, const wharf_value *object) {
    const char *name = json_string_or(json_path((const struct json *)object, "metadata", "name", NULL), "");
    script.calls[function]++;
    if (script.trouble == CALL_FINE || !(script.functions >> function & 1) ||
        (script.object && !text_has_prefix(name, script.object)))
        return false;
    call->answer->retry_after_ms = script.retry_after_ms;
    call_set_trouble(call, script.trouble, "signal %d (Segmentation fault)", 11);
    return true;
}

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    if (fails(call, FUNCTION_PHASE, object))
        return WHARF_RETRY;
    return call->kind->phase ? call->kind->phase(call, object, out) : WHARF_OK;
}

static wharf_result accept(const wharf_call *call, const wharf_value *workload) {
    return fails(call, FUNCTION_ACCEPT, workload) ? WHARF_RETRY : WHARF_OK;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *made) {
    if (fails(call, FUNCTION_MIRROR, workload))
        return WHARF_RETRY;
    return call->kind->mirror ? call->kind->mirror(call, workload, made) : WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *present,
                           wharf_value *desired) {
    if (fails(call, FUNCTION_UPDATE, workload))
        return WHARF_RETRY;
    return call->kind->update ? call->kind->update(call, workload, present, desired) : WHARF_OK;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *present,
                           wharf_value *object) {
    if (fails(call, FUNCTION_STATUS, workload))
        return WHARF_RETRY;
    return call->kind->status ? call->kind->status(call, workload, present, object) : WHARF_OK;
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    (void)sets;
    return fails(call, FUNCTION_POD_SETS, workload) ? WHARF_RETRY : WHARF_OK;
}

static const struct adapter farm = {.name = "farm"};

static void begin(struct stage *stage) {
    memset(&script, 0, sizeof script);
    script.functions = ALL;
    stage_init(stage);
    stage->kind->adapter = &farm;
    stage->kind->abi.phase = phase;
    stage->kind->abi.accept = accept;
    stage->kind->abi.mirror = mirror;
    stage->kind->abi.update = update;
    stage->kind->abi.status = status;
    stage->kind->abi.pod_sets = pod_sets;
}

static unsigned calls(void) {
    unsigned sum = 0;
    for (size_t f = 0; f < ADAPTER_FUNCTIONS; f++)
        sum += script.calls[f];
    return sum;
}

static enum call_trouble trouble; // of the present run of a test

static void fail_in(enum adapter_function function) {
    script.trouble = trouble;
    script.functions = 1U << function;
}

static void recover(struct stage *stage) {
    script.trouble = CALL_FINE;
    stage_run(stage, trouble == CALL_BROKEN ? LATER : SOON);
}

static void pass_over(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_ns,
                      int64_t since_ns) {
    (void)ctx, (void)name, (void)reason, (void)until_ns, (void)since_ns;
}

// As `wharf explain` says it; NULL: it waits for something else, or for nothing.
static const char *waits(struct stage *stage) {
    static struct explain_view view;
    assert_true(inspect_explain(stage->engine, stage->now, stage->kind, "default", "a", &view, pass_over, NULL));
    return view.workload.waiting == WAITING_ADAPTER ? view.waiting_text : NULL;
}

static void change(struct stage *stage, size_t cluster, const char *subresource, const char *patch) {
    assert_int_equal(stage_patch(stage, cluster, "a", subresource, patch), 200);
}

static const char *label(struct stage *stage, size_t cluster) {
    return json_string_or(json_path(stage_job(stage, cluster, "a"), "metadata", "labels", "team", NULL), "");
}

// The places that call --------------------------------------------------------------------------------------------

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

static void place(struct stage *stage) {
    stage_submit(stage, "a", "");
    stage_run(stage, SOON);
    assert_int_equal(stage_where(stage, "a"), 1);
    stage_runs(stage, 1, "a");
    stage_run(stage, SOON);
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

// The wait ------------------------------------------------------------------------------------------------------------

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
    AUTO_JSON job = harness_json(
        "{'metadata':{'name':'a','namespace':'default','finalizers':['example.com/stays'],'labels':{'wharf.dev/origin':"
        "'here','wharf.dev/uid':'00000000-0000-4000-8000-000000000001','wharf.dev/kind':'jobs.batch'},'annotations':{"
        "'wharf.dev/attempt':'1'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
        "'image':'i'}]}}}}");
    trouble = CALL_BROKEN;
    fail_in(FUNCTION_PHASE);
    stage->user = true;
    assert_int_equal(world_apply(stage->clusters[1], "batch", "jobs", job, stage->now.wall_ns), 201);
    stage->user = false;
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

static void mark_made(struct stage *stage) {
    if (stage->ctx)
        assert_true(aside_mark(stage->engine, "jobs.batch", "default/a", stage->ctx,
                               "adapter farm, status: signal 11 (Segmentation fault)"));
}

static void the_marks_are_bounded(struct stage *stage) {
    for (size_t i = 0; i < ASIDE_MARKS; i++)
        assert_true(aside_mark(stage->engine, "jobs.batch", "default/none", "1", "x"));
    assert_false(aside_mark(stage->engine, "jobs.batch", "default/none", "1", "x"));
    place(stage);
}

enum { EITHER, ONCE };
#define TEST(name, times)                                                                                              \
    { #name, name, times }

static const struct test {
    const char *name;
    void (*check)(struct stage *stage);
    int times;
} tests[] = {
    TEST(a_new_workload_without_a_phase_is_not_placed, EITHER),
    TEST(one_that_had_finished_does_not_run_again_after_a_restart, EITHER),
    TEST(a_finished_one_stays_finished_and_keeps_its_mirror_meanwhile, EITHER),
    TEST(a_mirror_without_a_phase_is_kept, EITHER),
    TEST(a_mirror_that_finished_unread_and_is_gone_does_not_run_again, EITHER),
    TEST(one_that_ran_unread_and_is_gone_runs_again, EITHER),
    TEST(an_unread_mirror_is_not_withdrawn, EITHER),
    TEST(nobody_gives_up_for_lack_of_a_status, EITHER),
    TEST(without_an_answer_whether_it_is_accepted_it_is_not_placed, EITHER),
    TEST(without_a_made_mirror_there_is_none, EITHER),
    TEST(a_change_without_an_update_is_carried_later, EITHER),
    TEST(a_status_that_is_not_made_is_written_later, EITHER),
    TEST(a_user_may_delete_it_meanwhile, EITHER),
    TEST(the_worker_of_an_unread_mirror_is_not_given_up, EITHER),
    TEST(nothing_is_placed_without_the_pods, EITHER),
    TEST(a_worker_that_drops_fields_is_not_taken_for_one_that_keeps_them, EITHER),
    TEST(what_is_set_aside_is_told_once_and_not_called_for, ONCE),
    TEST(a_changed_workload_is_tried_at_once, ONCE),
    TEST(a_changed_mirror_is_tried_at_once, ONCE),
    TEST(a_retry_is_a_try_and_so_is_a_reload, ONCE),
    TEST(three_workloads_pause_the_kind_and_one_is_tried_after_a_minute, ONCE),
    TEST(a_trial_that_fails_makes_the_pause_longer, ONCE),
    TEST(an_adapter_that_does_not_load_pauses_its_kinds, ONCE),
    TEST(many_wait_for_a_busy_adapter_with_few_calls, ONCE),
    TEST(mirrors_without_a_workload_do_not_break_the_adapter_again_and_again, ONCE),
    TEST(the_adapter_says_when_to_call_again, ONCE),
    TEST(the_object_that_ended_a_former_process_is_set_aside_from_the_start, ONCE),
    TEST(the_marks_are_bounded, ONCE),
};

static void run(void **state) {
    const struct test *test = *state;
    static const enum call_trouble troubles[] = {CALL_WAITS, CALL_BROKEN};
    for (size_t i = 0; i < (test->times == EITHER ? 2 : 1); i++) {
        struct stage stage;
        trouble = troubles[i];
        begin(&stage);
        stage.made = mark_made;
        stage_start(&stage);
        test->check(&stage);
        stage_end(&stage);
    }
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[i] = (struct CMUnitTest){tests[i].name, run, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, stage_load, NULL);
}
