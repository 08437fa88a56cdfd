// SPDX-License-Identifier: Apache-2.0
// No hot loops: writes that somebody keeps reverting are repeated with growing delays, and reported once.
#include "tests/unit/engine/stage.h"

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
}

// For this long, somebody does this every 20 ms.
static void every_20_ms(struct stage *stage, int64_t ns, void (*act)(struct stage *stage)) {
    for (int64_t end_ns = stage->now.mono_ns + ns; stage->now.mono_ns < end_ns;) {
        act(stage);
        stage_run(stage, 20 * CLOCK_MS);
    }
}

static unsigned creates(const struct stage *stage) {
    return stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE];
}

static void delete_mirrors(struct stage *stage) {
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        if (stage_job(stage, c, "a"))
            stage_delete(stage, c, "a");
}

static void a_mirror_that_is_deleted_repeatedly_is_created_again_with_growing_delays(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    every_20_ms(&stage, 5 * CLOCK_SECOND, delete_mirrors);
    assert_in_range(creates(&stage), 4, 10);
    every_20_ms(&stage, 10 * CLOCK_MINUTE, delete_mirrors);
    assert_in_range(creates(&stage), 10, 18);
    every_20_ms(&stage, 60 * CLOCK_MINUTE, delete_mirrors);
    assert_in_range(creates(&stage), 18, 32);
    assert_int_equal(stage_told(&stage, "PlacedTooOften"), 1);
    // After ten minutes without repetition it is done at once, and reported again.
    stage_run(&stage, 20 * CLOCK_MINUTE);
    unsigned before = creates(&stage);
    delete_mirrors(&stage);
    stage_run(&stage, CLOCK_SECOND / 2);
    assert_int_equal(creates(&stage), before + 1);
    every_20_ms(&stage, 5 * CLOCK_MINUTE, delete_mirrors);
    assert_int_equal(stage_told(&stage, "PlacedTooOften"), 2);
    stage_end(&stage);
}

static void change_mirror(struct stage *stage) {
    stage_patch(stage, 1, "a", NULL, "{'spec':{'parallelism':7}}");
}

static void a_mirror_that_somebody_changes_is_restored_with_growing_delays(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    every_20_ms(&stage, 5 * CLOCK_SECOND, change_mirror);
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], 4, 10);
    every_20_ms(&stage, 60 * CLOCK_MINUTE, change_mirror);
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], 15, 30);
    assert_int_equal(stage_told(&stage, "MirrorRewritten"), 1);
    assert_int_equal(stage_told(&stage, "changes the mirror in cluster w1"), 1);
    assert_int_equal(stage_told(&stage, "(client)"), 1);
    stage_end(&stage);
}

// The watch is faster than the answer, which is outdated when it arrives.
static void what_somebody_changes_before_the_answer_is_put_right(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.latency_ns = 50 * CLOCK_MS;
    change_mirror(&stage);
    stage_run(&stage, 10 * CLOCK_MS);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], 1);
    change_mirror(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 1, "a"), "/spec/parallelism"), 0), 1);
    stage_end(&stage);
}

static void what_a_user_changes_is_carried_at_once_all_the_same(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    every_20_ms(&stage, 60 * CLOCK_SECOND, change_mirror);
    unsigned before = stage.sent[1][VERB_MERGE_PATCH];
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'parallelism':3}}");
    stage_run(&stage, 10 * CLOCK_MS);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], before + 1);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 1, "a"), "/spec/parallelism"), 0), 3);
    stage_end(&stage);
}

static void scale(struct stage *stage) {
    AUTO_TEXT patch = text_format("{'spec':{'parallelism':%d}}", (int)(stage->now.mono_ns / CLOCK_MS % 1000));
    stage_patch(stage, 0, "a", NULL, patch);
}

static void a_user_who_scales_often_waits_for_nothing(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    every_20_ms(&stage, 5 * CLOCK_SECOND, scale);
    assert_true(stage.sent[1][VERB_MERGE_PATCH] > 200);
    assert_int_equal(stage_told(&stage, "Rewritten"), 0);
    stage_end(&stage);
}

static void change_status(struct stage *stage) {
    stage_patch(stage, 0, "a", "status", "{'status':{'active':5}}");
}

static void a_second_writer_of_the_status_is_reported_and_not_fought(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_runs(&stage, 1, "a");
    every_20_ms(&stage, 5 * CLOCK_SECOND, change_status);
    assert_in_range(stage.sent[0][VERB_STATUS_PATCH], 3, 9);
    every_20_ms(&stage, 60 * CLOCK_MINUTE, change_status);
    assert_in_range(stage.sent[0][VERB_STATUS_PATCH], 15, 30);
    assert_int_equal(stage_told(&stage, "StatusRewritten"), 1);
    assert_int_equal(stage_told(&stage, "(client)"), 1);
    // A new status of the mirror is written at once.
    unsigned before = stage.sent[0][VERB_STATUS_PATCH];
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 100 * CLOCK_MS);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], before + 1);
    stage_end(&stage);
}

static void a_status_that_somebody_changes_before_the_answer_is_put_right(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    unsigned before = stage.sent[0][VERB_STATUS_PATCH];
    stage.latency_ns = 50 * CLOCK_MS;
    change_status(&stage);
    stage_run(&stage, 10 * CLOCK_MS);
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], before + 1);
    change_status(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 0, "a"), "/status/active"), 0), 1);
    stage_end(&stage);
}

static void progress(struct stage *stage) {
    AUTO_TEXT patch = text_format("{'status':{'active':1,'ready':%d,'startTime':'2026-03-01T12:00:01Z'}}",
                                  (int)(stage->now.mono_ns / (20 * CLOCK_MS) % 2));
    stage_patch(stage, 1, "a", "status", patch);
}

static void a_status_that_makes_progress_is_not_repeated(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    every_20_ms(&stage, 5 * CLOCK_SECOND, progress);
    assert_in_range(stage.sent[0][VERB_STATUS_PATCH], 20, 30); // see status_budget_test.c
    assert_int_equal(stage_told(&stage, "Rewritten"), 0);
    stage_end(&stage);
}

// Another host of the same origin makes the same writes, a little earlier.
static int a_twin_writes_first(struct stage *stage, const struct command *command) {
    if (command->request.verb != VERB_STATUS_PATCH)
        return STAGE_PASS;
    AUTO_JSON patch = NULL;
    assert_null(json_parse(command->request.body, command->request.body_len, &patch));
    pointer_remove(patch, "/metadata");
    AUTO_TEXT text = json_text(patch, NULL);
    AUTO_TEXT path = text_format("/apis/batch/v1/namespaces/default/jobs/%s/status?fieldManager=%s",
                                 command->request.name, (const char *)stage->ctx);
    struct world_request request = {.method = "PATCH",
                                    .path = path,
                                    .content_type = "application/merge-patch+json",
                                    .body = text,
                                    .body_len = strlen(text)};
    struct world_response response;
    stage->user = true;
    world_request(stage->clusters[0], &request, stage->now.wall_ns, &response);
    stage->user = false;
    assert_int_equal(response.status, 200);
    world_response_clear(&response);
    return STAGE_PASS;
}

static void another_host_of_the_same_origin_is_reported(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.ctx = "wharf";
    stage.meddle = a_twin_writes_first;
    every_20_ms(&stage, 5 * CLOCK_SECOND, progress);
    assert_int_equal(stage_told(&stage, "check that no other host runs with origin here"), 1);
    assert_true(engine_stats(stage.engine)->other_host_writes > 2);
    stage_end(&stage);
}

static void another_writer_of_the_same_status_is_no_host_of_this_origin(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.ctx = "trainer";
    stage.meddle = a_twin_writes_first;
    every_20_ms(&stage, 5 * CLOCK_SECOND, progress);
    assert_int_equal(stage_told(&stage, "AnotherHost"), 0);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    assert_int_equal(stage_told(&stage, "the writer of the status is trainer"), 1);
    assert_int_equal(engine_stats(stage.engine)->other_host_writes, 0);
    stage_end(&stage);
}

static int it_is_there_and_is_not(struct stage *stage, const struct command *command) {
    (void)stage;
    enum verb verb = command->request.verb;
    return command->cluster == ENGINE_MANAGEMENT ? STAGE_PASS : verb == VERB_CREATE ? 409 : verb == VERB_GET ? 404 : 0;
}

static void a_server_that_contradicts_itself_is_not_asked_often(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = it_is_there_and_is_not;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_in_range(creates(&stage), 4, 40);
    assert_true(stage_told(&stage, "w1") > 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_is_deleted_repeatedly_is_created_again_with_growing_delays),
        cmocka_unit_test(a_mirror_that_somebody_changes_is_restored_with_growing_delays),
        cmocka_unit_test(what_somebody_changes_before_the_answer_is_put_right),
        cmocka_unit_test(what_a_user_changes_is_carried_at_once_all_the_same),
        cmocka_unit_test(a_user_who_scales_often_waits_for_nothing),
        cmocka_unit_test(a_second_writer_of_the_status_is_reported_and_not_fought),
        cmocka_unit_test(a_status_that_somebody_changes_before_the_answer_is_put_right),
        cmocka_unit_test(a_status_that_makes_progress_is_not_repeated),
        cmocka_unit_test(another_host_of_the_same_origin_is_reported),
        cmocka_unit_test(another_writer_of_the_same_status_is_no_host_of_this_origin),
        cmocka_unit_test(a_server_that_contradicts_itself_is_not_asked_often),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
