// SPDX-License-Identifier: Apache-2.0
// The report of a lost worker's guard, as far as the host's decisions go: what it says of the mirror is copied before
// the next placement, and nothing else.
#include "tests/unit/engine/continuity_play.h"

#define LOST_NS (5 * CLOCK_MINUTE)
#define COMPLETE                                                                                                       \
    "{\"succeeded\":6,\"completedIndexes\":\"0-5\",\"startTime\":\"" HARNESS_NOW "\",\"completionTime\":"              \
    "\"2026-03-01T12:04:00Z\",\"conditions\":[{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\",\"reason\":"        \
    "\"CompletionsReached\",\"lastTransitionTime\":\"2026-03-01T12:04:00Z\"},{\"type\":\"Complete\",\"status\":"       \
    "\"True\",\"reason\":\"CompletionsReached\",\"lastTransitionTime\":\"2026-03-01T12:04:00Z\"}]}"
#define FURTHER "{\"succeeded\":5,\"completedIndexes\":\"0-4\"}"
#define LATER "99999"

static char mirror_uid[64];

// The first attempt has done three of six indexes in w1, which is lost. Its guard certainly stops the mirror.
static void begin(struct stage *stage) {
    play_init(stage);
    stage->options.settings.worker_lost_timeout_ns = LOST_NS;
    stage->options.settings.fencing = (struct fence_options){.enabled = true, .wait = true, .after_ns = CLOCK_MINUTE};
    stage_start(stage);
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        stage_fence(stage, c, &(struct fence_news){.guarded = true, .sure_ns = stage->now.mono_ns + CLOCK_MINUTE});
    play_submit(stage, "");
    play_does(stage, 1, 3, "0-2");
    stage_run(stage, CLOCK_SECOND);
    text_copy(mirror_uid, sizeof mirror_uid, object_uid(stage_job(stage, 1, "a")));
    stage_disconnect(stage, 1);
    stage_run(stage, CLOCK_MINUTE);
    seen.writes = 0;
}

static struct engine_event report_of(const char *status) {
    return (struct engine_event){.type = EVENT_REPORT,
                                 .report = {.worker = "w1",
                                            .namespace_ = "default",
                                            .name = "a",
                                            .uid = mirror_uid,
                                            .version = LATER,
                                            .status = status,
                                            .attempt = 1}};
}

static void report(struct stage *stage, struct engine_event event) {
    stage_step(stage, &event);
    stage_run(stage, CLOCK_SECOND);
}

static void what_was_counted_unseen_is_given_to_the_next_mirror(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    report(&stage, report_of(FURTHER));
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-4");
    assert_null(pointer_find(stage_job(&stage, 0, "a"), "/status/active")); // the guard has stopped the pods
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(seen.writes, 1);
    report(&stage, report_of(FURTHER)); // a list has it again
    assert_int_equal(seen.writes, 1);
    seen.indexes = "0-4";
    stage_run(&stage, LOST_NS);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    play_assert(&stage, 2, "given", "0-4");
    assert_int_equal(seen.resumed, 1);
    stage_end(&stage);
}

static void what_finished_unseen_does_not_run_again(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    struct engine_event event = report_of(COMPLETE);
    event.report.whole = true;
    report(&stage, event);
    assert_true(stage_finished(&stage, "a"));
    stage_run(&stage, 2 * LOST_NS);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void reports_about_anything_else_change_nothing(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    struct engine_event event = report_of(FURTHER);
    event.report.uid = "another";
    report(&stage, event);
    event = report_of(FURTHER);
    event.report.attempt = 2;
    report(&stage, event);
    event = report_of(FURTHER);
    event.report.worker = "w2";
    report(&stage, event);
    event.report.worker = "management";
    report(&stage, event);
    event = report_of(FURTHER);
    event.report.version = object_version(stage_job(&stage, 1, "a")); // known
    report(&stage, event);
    event.report.version = "opaque";
    report(&stage, event);
    event = report_of(FURTHER);
    event.report.name = "b";
    report(&stage, event);
    report(&stage, report_of("{"));
    assert_int_equal(seen.writes, 0);
    report(&stage, report_of("{\"succeeded\":1,\"completedIndexes\":\"1\"}")); // less: the status does not fall
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_end(&stage);
}

static void a_worker_that_is_back_speaks_for_itself(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    report(&stage, report_of(FURTHER));
    play_does(&stage, 1, 5, "0-4");
    assert_int_equal(stage_patch(&stage, 1, "a", NULL,
                                 "{'metadata':{'annotations':{'wharf.dev/fenced':'2026-03-01T12:03:00Z'}},"
                                 "'spec':{'suspend':true}}"),
                     200);
    stage_connect(&stage, 1);
    stage_fence(&stage, 1, &(struct fence_news){.guarded = true, .sure_ns = stage.now.mono_ns + CLOCK_MINUTE});
    stage_run(&stage, CLOCK_MINUTE);
    assert_false(play_is_suspended(&stage, 1));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-4");
    assert_int_equal(stage_told(&stage, "Fenced: the guard of w1 suspended the mirror"), 1);
    stage_end(&stage);
}

static void without_fencing_reports_are_ignored(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    struct engine_settings settings = stage.options.settings;
    settings.fencing.enabled = false;
    assert_null(engine_configure(stage.engine, &settings));
    report(&stage, report_of(FURTHER));
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_counted_unseen_is_given_to_the_next_mirror),
        cmocka_unit_test(what_finished_unseen_does_not_run_again),
        cmocka_unit_test(reports_about_anything_else_change_nothing),
        cmocka_unit_test(a_worker_that_is_back_speaks_for_itself),
        cmocka_unit_test(without_fencing_reports_are_ignored),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
