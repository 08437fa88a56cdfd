// SPDX-License-Identifier: Apache-2.0
// Moves of a Job to another worker, and what the former mirror said last: rules P6 to P8 of docs/lifecycle.md.
#include "core/engine/kueue/kueue_object.h"
#include "tests/unit/engine/continuity_play.h"

#define LONG (5 * CLOCK_MINUTE)

static void a_drain_writes_the_newest_status_first(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    seen.indexes = "0-3";
    play_does(&stage, 1, 4, "0-3"); // the watch tells in a millisecond, the drain begins now
    play_move(&stage, LONG);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-3");
    play_assert(&stage, 2, "given", "0-3");
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

static int unsent; // so many status patches of the workload fail

static int fail_status(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 0 && command->request.verb == VERB_STATUS_PATCH && unsent-- > 0 ? 500 : STAGE_PASS;
}

static void a_drain_waits_for_a_status_that_cannot_be_written_now(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    seen.indexes = "0-3";
    unsent = 6;
    stage.meddle = fail_status;
    play_does(&stage, 1, 4, "0-3");
    stage_run(&stage, 10 * CLOCK_MS);
    play_move(&stage, LONG);
    assert_true(unsent < 0);
    play_assert(&stage, 2, "given", "0-3");
    stage_end(&stage);
}

static int refuse_status(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 0 && command->request.verb == VERB_STATUS_PATCH ? 422 : STAGE_PASS;
}

static void but_not_for_one_that_is_rejected(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    stage.meddle = refuse_status;
    play_does(&stage, 1, 4, "0-3");
    stage_run(&stage, 10 * CLOCK_MS);
    play_move(&stage, LONG);
    play_assert(&stage, 2, "given", "0-2");
    stage_end(&stage);
}

static int changes;

// The mirror changes with each status that is written to the workload.
static int change(struct stage *stage, const struct command *command) {
    if (command->cluster == 0 && command->request.verb == VERB_STATUS_PATCH && changes < 1000) {
        AUTO_TEXT status = text_format("{'status':{'terminating':%d}}", ++changes);
        (void)stage_patch(stage, 1, "a", "status", status);
    }
    return STAGE_PASS;
}

static void a_mirror_that_changes_all_the_time_leaves_all_the_same(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    changes = 0;
    stage.meddle = change;
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'terminating':2000}}"), 200);
    stage_run(&stage, 1 * CLOCK_MS);
    play_move(&stage, CLOCK_MINUTE);
    assert_in_range(changes, 4, 8); // the first one was no part of the move
    play_assert_goes_on(&stage);
    stage_end(&stage);
}

static void so_does_one_that_does_not_start(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    seen.indexes = NULL;
    stage.options.settings.placement.otherwise.pending_timeout_ns = 8 * CLOCK_SECOND;
    stage_start(&stage);
    play_submit(&stage, "");
    changes = 0;
    stage.meddle = change;
    assert_int_equal(
        stage_patch(&stage, 1, "a", "status", "{'status':{'active':1,'ready':0,'startTime':'" HARNESS_NOW "'}}"), 200);
    stage_run(&stage, 15 * CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Withdrawn"), 1);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_end(&stage);
}

static void the_last_state_of_a_mirror_that_another_client_deletes_is_written_before_the_next_attempt(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    stage.meddle = fail_status;
    unsent = 4;
    seen.indexes = "0-4";
    play_does(&stage, 1, 5, "0-4");
    assert_int_equal(stage_delete(&stage, 1, "a"), 200);
    stage_run(&stage, LONG);
    assert_true(unsent < 0);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-4");
    play_assert(&stage, stage_where(&stage, "a"), "given", "0-4");
    stage_end(&stage);
}

static void a_lost_worker_and_its_return(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    stage_disconnect(&stage, 1);
    play_does(&stage, 1, 5, "0-4"); // rule P7: nobody sees it
    stage_run(&stage, 10 * CLOCK_MINUTE);
    play_assert_goes_on(&stage);
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    play_does(&stage, 2, 4, "0-3");
    stage_run(&stage, CLOCK_MINUTE);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-3");
    stage_end(&stage);
}

static int lost; // so many status patches to w2

static int lose(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 2 && command->request.verb == VERB_STATUS_PATCH && lost-- > 0 ? STAGE_LOST : STAGE_PASS;
}

static bool stalls; // the adapter waits for something in the worker

static wharf_result stalled(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                            wharf_value *object) {
    return stalls && mirror ? WHARF_RETRY : play_progress(call, workload, mirror, object);
}

static void the_time_to_start_begins_with_the_resume(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    stage.kind->abi.progress = stalled;
    stalls = true;
    stage.options.settings.placement.otherwise.pending_timeout_ns = 8 * CLOCK_SECOND;
    play_first(&stage, "");
    play_move(&stage, 6 * CLOCK_SECOND);
    play_assert(&stage, 2, "owed", "");
    struct explain_view view;
    stage_explain(&stage, "a", &view);
    assert_int_equal(view.workload.waiting, WAITING_PROGRESS);
    stalls = false;
    stage_run(&stage, 8 * CLOCK_SECOND);
    play_assert_goes_on(&stage);
    assert_int_equal(stage_told(&stage, "Withdrawn"), 0);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Withdrawn"), 1);
    stage_end(&stage);
}

// Its controller does not work in the worker.
static void a_mirror_that_cannot_get_its_progress_does_not_start(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    stage.kind->abi.progress = stalled;
    stalls = true;
    stage.options.settings.placement.otherwise.pending_timeout_ns = CLOCK_MINUTE;
    play_first(&stage, "");
    play_move(&stage, CLOCK_MINUTE / 2);
    play_assert(&stage, 2, "owed", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "Withdrawn"), 1);
    assert_null(stage_job(&stage, 2, "a"));
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_end(&stage);
}

static void a_mirror_that_is_owed_progress_moves_too(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    lost = 1000;
    stage.meddle = lose;
    play_move(&stage, CLOCK_MINUTE);
    play_assert(&stage, 2, "owed", "");
    stage_step(&stage, &(struct engine_event){
                           .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_ACTIVE}});
    stage_step(&stage, &(struct engine_event){
                           .type = EVENT_WORKER, .cluster = 2, .worker = {.name = "w2", .policy = WORKER_DRAIN_MOVE}});
    stage_run(&stage, LONG);
    play_assert(&stage, 1, "given", "0-2");
    assert_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_end(&stage);
}

static void with_a_finalizer(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    stage.options.settings.mirror_finalizer = true;
    play_first(&stage, "");
    seen.indexes = "0-3";
    play_does(&stage, 1, 4, "0-3");
    play_move(&stage, LONG);
    play_assert(&stage, 2, "given", "0-3");
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static void with_seals(void **state) {
    (void)state;
    struct seal_keys *keys = NULL;
    const void *bytes[] = {"0123456789abcdef0123456789abcdef"};
    size_t len = 32;
    assert_null(seal_keys_new(bytes, &len, 1, &keys));
    struct stage stage;
    play_init(&stage);
    stage.options.seals = keys;
    play_first(&stage, "");
    lost = 1;
    stage.meddle = lose;
    play_move(&stage, CLOCK_SECOND);
    play_restart(&stage);
    stage_run(&stage, LONG);
    play_assert_goes_on(&stage);
    stage_end(&stage);
    seal_keys_free(keys);
}

static int refuse_label(struct stage *stage, const struct command *command) {
    bool bad =
        command->cluster == 2 && command->request.verb == VERB_MERGE_PATCH && strstr(command->request.body, "\"bad\"");
    return bad ? 422 : lose(stage, command);
}

static void changes_that_came_meanwhile_are_carried_with_the_resume_and_rejected_ones_do_not_delay_it(void **state) {
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct stage stage;
        play_init(&stage);
        play_first(&stage, "");
        lost = 1;
        stage.meddle = refuse_label;
        play_move(&stage, CLOCK_SECOND);
        AUTO_TEXT patch =
            text_format("{'metadata':{'labels':{'team':'%s'}},'spec':{'parallelism':2}}", bad ? "bad" : "x");
        assert_int_equal(stage_patch(&stage, 0, "a", NULL, patch), 200);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage.sent[2][VERB_MERGE_PATCH], 0);
        stage_run(&stage, CLOCK_MINUTE);
        play_assert_goes_on(&stage);
        assert_int_equal(json_int64(pointer_find(stage_job(&stage, 2, "a"), "/spec/parallelism"), 0), 2);
        assert_string_equal(play_text(&stage, 2, "/metadata/labels/team"), bad ? "" : "x");
        if (!bad)
            assert_int_equal(stage.sent[2][VERB_MERGE_PATCH], 1);
        stage_end(&stage);
    }
}

static void a_worker_restored_to_before_the_progress_gets_it_again(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    lost = 1;
    stage.meddle = lose;
    play_move(&stage, CLOCK_SECOND);
    play_assert(&stage, 2, "owed", "");
    struct world_copy *copy = world_copy(stage.clusters[2]);
    stage_run(&stage, CLOCK_MINUTE);
    play_assert_goes_on(&stage);
    seen.resumed = 0;
    stage_back(&stage, 2, copy);
    stage_run(&stage, LONG);
    play_assert_goes_on(&stage);
    world_copy_free(copy);
    stage_end(&stage);
}

// Kueue in the worker -------------------------------------------------------------------------------------------

static void say_kueue(struct stage *stage, const char *conditions) {
    AUTO_TEXT text = text_format("{'metadata':{'name':'job-a-1','uid':'k-a'},'spec':{'queueName':'team','active':true},"
                                 "'status':{'conditions':[%s]}}",
                                 conditions);
    AUTO_JSON workload = harness_json(text);
    struct kueue_state state;
    kueue_state_read(workload, "v1beta2", &state);
    struct engine_event own, event = {.type = EVENT_QUEUED, .cluster = 2};
    event.queued.namespace_ = "default";
    event.queued.name = "a";
    event.queued.uid = play_text(stage, 2, "/metadata/uid");
    event.queued.state = &state;
    assert_null(engine_event_own(&event, &own)); // as the inbox does
    stage_step(stage, &own);
    engine_event_clear(&own);
}

#define QUEUE "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'team'}}}"

static void a_mirror_of_a_workers_queue_is_resumed_by_kueue(void **state) {
    (void)state;
    for (int kueue = 0; kueue < 2; kueue++) {
        struct stage stage;
        play_init(&stage);
        stage_start(&stage);
        play_submit(&stage, "");
        assert_int_equal(stage_patch(&stage, 0, "a", NULL, QUEUE), 200);
        play_does(&stage, 1, 3, "0-2");
        stage_run(&stage, CLOCK_SECOND);
        play_move(&stage, CLOCK_SECOND / 2);
        play_assert(&stage, 2, "owed", "0-2"); // it has its status at once
        if (kueue)
            say_kueue(&stage, "{'type':'QuotaReserved','status':'False','reason':'Pending','message':'no quota'}");
        stage_run(&stage, CLOCK_MINUTE);
        play_assert(&stage, 2, "given", "0-2");
        assert_int_equal(play_is_suspended(&stage, 2), kueue);
        assert_int_equal(seen.resumed, !kueue);
        if (kueue) {
            assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'spec':{'suspend':false}}"), 200);
            stage_run(&stage, CLOCK_MINUTE);
            assert_false(play_is_suspended(&stage, 2));
        }
        assert_int_equal(stage_told(&stage, "ProgressRefused"), 0);
        stage_end(&stage);
    }
}

// The mirror went while the host did not run, and the same attempt is made again.
static void a_mirror_that_went_unseen_is_made_again_with_the_progress(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    assert_int_equal(stage_delete(&stage, 1, "a"), 200);
    stage_restart(&stage);
    stage_run(&stage, LONG);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    play_assert(&stage, 1, "given", "0-2");
    assert_false(play_is_suspended(&stage, 1));
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_end(&stage);
}

static void set_policy(struct stage *stage, size_t cluster, enum worker_policy policy) {
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = cluster,
                                             .worker = {.name = cluster == 1 ? "w1" : "w2", .policy = policy}});
}

static uint64_t active_in(struct stage *stage, size_t cluster) {
    return engine_stats(stage->engine)->clusters[cluster].active;
}

static void suspend(struct stage *stage, bool suspended) {
    assert_int_equal(
        stage_patch(stage, 0, "a", NULL, suspended ? "{'spec':{'suspend':true}}" : "{'spec':{'suspend':false}}"), 200);
    stage_run(stage, CLOCK_SECOND);
}

static void a_suspended_workload_does_not_hold_a_drain_and_goes_on_elsewhere(void **state) {
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        struct stage stage;
        play_init(&stage);
        play_first(&stage, "");
        suspend(&stage, true);
        assert_int_equal(active_in(&stage, 1), 1);
        play_move(&stage, LONG);
        assert_null(stage_job(&stage, 1, "a"));
        assert_int_equal(active_in(&stage, 1), 0);
        if (restarted)
            play_restart(&stage);
        set_policy(&stage, 2, WORKER_CORDONED);
        suspend(&stage, false); // no worker is eligible
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(active_in(&stage, 1), 0);
        assert_int_equal(stage_attempt(&stage, "a"), 1);
        set_policy(&stage, 2, WORKER_ACTIVE);
        stage_run(&stage, LONG);
        assert_int_equal(stage_attempt(&stage, "a"), 2);
        assert_int_equal(active_in(&stage, 2), 1);
        play_assert_goes_on(&stage);
        stage_end(&stage);
    }
}

static void one_that_was_suspended_before_its_mirror_was_created_does_not_hold_a_drain_either(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    seen.indexes = NULL;
    stage_start(&stage);
    set_policy(&stage, 2, WORKER_CORDONED);
    stage.latency_ns = CLOCK_SECOND;
    stage_submit(&stage, "a", "");
    while (stage_where(&stage, "a") != 1)
        stage_run(&stage, CLOCK_MS);
    suspend(&stage, true);
    set_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, LONG);
    assert_int_equal(stage.sent[1][VERB_CREATE], 0);
    assert_int_equal(active_in(&stage, 1), 0);
    set_policy(&stage, 1, WORKER_ACTIVE);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(active_in(&stage, 1), 1);
    suspend(&stage, false);
    stage_run(&stage, LONG);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_went_unseen_is_made_again_with_the_progress),
        cmocka_unit_test(a_suspended_workload_does_not_hold_a_drain_and_goes_on_elsewhere),
        cmocka_unit_test(one_that_was_suspended_before_its_mirror_was_created_does_not_hold_a_drain_either),
        cmocka_unit_test(a_drain_writes_the_newest_status_first),
        cmocka_unit_test(a_drain_waits_for_a_status_that_cannot_be_written_now),
        cmocka_unit_test(but_not_for_one_that_is_rejected),
        cmocka_unit_test(a_mirror_that_changes_all_the_time_leaves_all_the_same),
        cmocka_unit_test(so_does_one_that_does_not_start),
        cmocka_unit_test(the_last_state_of_a_mirror_that_another_client_deletes_is_written_before_the_next_attempt),
        cmocka_unit_test(a_lost_worker_and_its_return),
        cmocka_unit_test(the_time_to_start_begins_with_the_resume),
        cmocka_unit_test(a_mirror_that_cannot_get_its_progress_does_not_start),
        cmocka_unit_test(a_mirror_that_is_owed_progress_moves_too),
        cmocka_unit_test(with_a_finalizer),
        cmocka_unit_test(with_seals),
        cmocka_unit_test(changes_that_came_meanwhile_are_carried_with_the_resume_and_rejected_ones_do_not_delay_it),
        cmocka_unit_test(a_worker_restored_to_before_the_progress_gets_it_again),
        cmocka_unit_test(a_mirror_of_a_workers_queue_is_resumed_by_kueue),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
