// SPDX-License-Identifier: Apache-2.0
// mirrorFinalizer: a mirror stays until its final status was written, also over a restart of the host.
#include "tests/unit/engine/stage.h"

static void start_one(struct stage *stage, bool finalizer) {
    stage_init(stage);
    stage->options.settings.mirror_finalizer = finalizer;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
}

static bool has_finalizers(struct stage *stage) {
    return pointer_find(stage_job(stage, 1, "a"), "/metadata/finalizers");
}

static unsigned writes(const struct stage *stage) {
    unsigned sum = 0;
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        for (int verb = VERB_CREATE; verb <= VERB_DELETE; verb++)
            sum += stage->sent[c][verb];
    return sum;
}

static void a_life_costs_one_write_more(void **state) {
    (void)state;
    for (int finalizer = 0; finalizer < 2; finalizer++) {
        struct stage stage;
        start_one(&stage, finalizer);
        assert_int_equal(has_finalizers(&stage), finalizer);
        stage_completes(&stage, 1, "a");
        stage_run(&stage, CLOCK_SECOND);
        assert_true(stage_finished(&stage, "a"));
        assert_false(has_finalizers(&stage)); // before mirrorRetention has passed: others may delete it
        stage_run(&stage, CLOCK_MINUTE);
        assert_null(stage_job(&stage, 1, "a"));
        unsigned statuses = stage.sent[0][VERB_STATUS_PATCH];
        assert_int_equal(statuses, 2);
        assert_int_equal(writes(&stage), 3 + statuses + (unsigned)finalizer);
        stage_end(&stage);
    }
}

static void a_mirror_that_goes_while_the_host_is_down_gives_its_status(void **state) {
    (void)state;
    for (int finalizer = 0; finalizer < 2; finalizer++) {
        struct stage stage;
        start_one(&stage, finalizer);
        stage_completes(&stage, 1, "a");
        stage_delete(&stage, 1, "a");
        stage_restart(&stage);
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(stage_finished(&stage, "a"), finalizer);
        assert_int_equal(stage.sent[1][VERB_CREATE], finalizer ? 1 : 2); // without it, nobody knows
        assert_null(stage_job(&stage, 1, finalizer ? "a" : "none"));
        stage_end(&stage);
    }
}

static void a_mirror_that_somebody_deletes_is_let_go_and_made_again(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    const struct json *mirror = stage_job(&stage, stage_where(&stage, "a"), "a");
    assert_non_null(mirror);
    assert_null(pointer_find(mirror, "/metadata/deletionTimestamp"));
    stage_end(&stage);
}

static void a_mirror_goes_with_its_workload_whoever_else_holds_it(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'finalizers':['wharf.dev/status','example.com/stays']}}");
    stage_delete(&stage, 0, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    const struct json *finalizers = pointer_find(stage_job(&stage, 1, "a"), "/metadata/finalizers");
    assert_int_equal(json_size(finalizers), 1);
    assert_string_equal(json_string(json_first(finalizers)), "example.com/stays");
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'finalizers':null}}");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static void one_that_was_made_with_it_is_let_go_by_a_host_without_it(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage.options.settings.mirror_finalizer = false;
    stage_restart(&stage);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static int strip(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)verb, (void)plural, (void)message;
    pointer_remove(object, "/metadata/labels/wharf.dev~1origin");
    return 0;
}

// Its controller writes before the host's patch arrives, and no watch shows that.
static int change_it_before_it_is_let_go(struct stage *stage, const struct command *command) {
    if (command->cluster == 1 && command->request.verb == VERB_MERGE_PATCH && stage->sent[1][VERB_MERGE_PATCH] < 3)
        stage_patch(stage, 1, "a", NULL,
                    stage->sent[1][VERB_MERGE_PATCH] == 1 ? "{'spec':{'parallelism':7}}"
                                                          : "{'spec':{'parallelism':8}}");
    return STAGE_PASS;
}

static void one_that_lost_its_marks_and_changed_is_let_go(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.mirror_finalizer = true;
    stage.meddle = change_it_before_it_is_let_go;
    world_set_admission(stage.clusters[1], strip, NULL);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], 3);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static int delete_it_in_silence(struct stage *stage, const struct command *command) {
    if (command->cluster != 1 || command->request.verb != VERB_MERGE_PATCH || stage->sent[1][VERB_MERGE_PATCH] > 1)
        return STAGE_PASS;
    stage->connected[1] = false; // the watch is silent
    stage_patch(stage, 1, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/attempt':'2000'}}}");
    stage_delete(stage, 1, "a");
    return STAGE_PASS;
}

// Somebody changes its marks and deletes it just before it is released.
static void one_that_is_deleted_without_its_marks_is_let_go(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage.meddle = delete_it_in_silence;
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

// Without a key a host that was restarted since does not recognise it by its attempt, and an Event asks to delete it.
static void one_that_people_were_asked_to_delete_is_let_go(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage_disconnect(&stage, 1);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/attempt':'2000'}}}");
    stage_restart(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "MirrorHeld"), 1);
    assert_true(has_finalizers(&stage));
    stage_delete(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    const struct json *mirror = stage_job(&stage, stage_where(&stage, "a"), "a");
    assert_non_null(mirror);
    assert_null(pointer_find(mirror, "/metadata/deletionTimestamp"));
    assert_int_equal(mirror_attempt(mirror), stage_attempt(&stage, "a"));
    stage_end(&stage);
}

static int conflict_each_time(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_MERGE_PATCH ? 409 : STAGE_PASS;
}

// Reading it answers, but brings nothing newer than what the patch was made from.
static void one_whose_release_keeps_conflicting_is_tried_more_and_more_rarely(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage, true);
    stage.meddle = conflict_each_time;
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], 3, 15);
    stage.meddle = NULL;
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_costs_one_write_more),
        cmocka_unit_test(a_mirror_that_goes_while_the_host_is_down_gives_its_status),
        cmocka_unit_test(a_mirror_that_somebody_deletes_is_let_go_and_made_again),
        cmocka_unit_test(a_mirror_goes_with_its_workload_whoever_else_holds_it),
        cmocka_unit_test(one_that_was_made_with_it_is_let_go_by_a_host_without_it),
        cmocka_unit_test(one_that_lost_its_marks_and_changed_is_let_go),
        cmocka_unit_test(one_that_is_deleted_without_its_marks_is_let_go),
        cmocka_unit_test(one_that_people_were_asked_to_delete_is_let_go),
        cmocka_unit_test(one_whose_release_keeps_conflicting_is_tried_more_and_more_rarely),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
