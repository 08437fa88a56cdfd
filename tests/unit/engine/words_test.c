// SPDX-License-Identifier: Apache-2.0
// Last words of failed workloads: asked for once, before the mirror goes, and forgotten with the workload.
#include "tests/unit/engine/stage.h"

#define FAILED                                                                                                         \
    "{'status':{'active':0,'ready':0,'failed':1,'startTime':'2026-03-01T12:00:01Z','conditions':["                     \
    "{'type':'FailureTarget','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'},"                            \
    "{'type':'Failed','status':'True','reason':'BackoffLimitExceeded','lastTransitionTime':"                           \
    "'2026-03-01T12:00:02Z'}]}}"

static struct asked {
    unsigned reads, forgets;
    uint32_t attempt;
    bool fresh;
    size_t cluster;
    char uid[64], mirror[64], space[64], worker[64];
} asked;

static void note_wish(struct stage *stage, const struct words_wish *wish) {
    (void)stage;
    asked.reads += !wish->forget;
    asked.forgets += wish->forget;
    asked.attempt = wish->attempt;
    asked.fresh = wish->fresh;
    asked.cluster = wish->cluster;
    text_copy(asked.uid, sizeof asked.uid, wish->uid);
    text_copy(asked.mirror, sizeof asked.mirror, wish->mirror);
    text_copy(asked.space, sizeof asked.space, wish->space);
    text_copy(asked.worker, sizeof asked.worker, wish->worker);
}

static void init(struct stage *stage, enum last_words level, int64_t retention_ns) {
    asked = (struct asked){0};
    stage_init(stage);
    stage->worded = note_wish;
    stage->options.settings.last_words = level;
    stage->options.settings.mirror_retention_ns = retention_ns;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
}

static size_t fail_job(struct stage *stage) {
    size_t where = stage_where(stage, "a");
    assert_int_equal(stage_patch(stage, where, "a", "status", FAILED), 200);
    return where;
}

static void answer(struct stage *stage, const char *text, uint32_t attempt) {
    stage_step(stage, &(struct engine_event){.type = EVENT_WORDS,
                                             .cluster = asked.cluster,
                                             .words = {stage_space(stage), "a", asked.uid, text, attempt}});
}

static void a_failed_mirror_is_asked_about_once_and_deleted_after_the_answer(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, 0);
    size_t where = fail_job(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_non_null(pointer_find(stage_job(&stage, 0, "a"), "/status/conditions/1")); // the status does not wait
    assert_int_equal(asked.reads, 1);
    assert_int_equal(asked.attempt, 1);
    assert_true(asked.fresh);
    assert_int_equal(asked.cluster, where);
    assert_string_equal(asked.mirror, object_uid(stage_job(&stage, where, "a")));
    assert_string_equal(asked.uid, object_uid(stage_job(&stage, 0, "a")));
    assert_string_equal(asked.space, "default");
    assert_string_equal(asked.worker, where == 1 ? "w1" : "w2");
    answer(&stage, "pod a-0: of another attempt", 2);
    stage_run(&stage, CLOCK_SECOND);
    assert_non_null(stage_job(&stage, where, "a"));
    answer(&stage, "pod a-0, container main: Error, exit code 3", 1);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    assert_int_equal(stage_told(&stage, "LastWords: "), 1);
    assert_int_equal(stage_told(&stage, ": pod a-0, container main: Error, exit code 3 (attempt 1)\n"), 1);
    assert_int_equal(asked.reads, 1);
    stage_end(&stage);
}

static void without_an_answer_the_mirror_goes_a_few_seconds_later(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_REASONS, 0);
    size_t where = fail_job(&stage);
    stage_run(&stage, 4 * CLOCK_SECOND);
    assert_non_null(stage_job(&stage, where, "a"));
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    assert_int_equal(stage_told(&stage, "LastWords"), 0);
    stage_end(&stage);
}

static void a_restarted_host_asks_again_and_does_not_know_whether_they_are_kept(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, CLOCK_MINUTE);
    (void)fail_job(&stage);
    stage_run(&stage, CLOCK_SECOND);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.reads, 2);
    assert_false(asked.fresh);
    answer(&stage, NULL, 1);
    assert_int_equal(stage_told(&stage, "LastWords"), 0);
    stage_end(&stage);
}

static void they_are_forgotten_with_a_failed_workload(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, CLOCK_SECOND);
    (void)fail_job(&stage);
    stage_run(&stage, 10 * CLOCK_SECOND);
    char uid[64];
    text_copy(uid, sizeof uid, object_uid(stage_job(&stage, 0, "a")));
    stage_restart(&stage); // which has not asked
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.forgets, 0);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.forgets, 1);
    assert_string_equal(asked.uid, uid);
    stage_end(&stage);
}

static void nothing_is_asked_about_a_success_or_when_it_is_off(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, 0);
    stage_runs(&stage, stage_where(&stage, "a"), "a");
    stage_completes(&stage, stage_where(&stage, "a"), "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.reads + asked.forgets, 0);
    stage_end(&stage);
    init(&stage, LAST_WORDS_NONE, 0);
    size_t where = fail_job(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    assert_int_equal(asked.reads, 0);
    stage_end(&stage);
}

static void a_worker_that_is_away_is_asked_when_it_is_back(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, CLOCK_MINUTE);
    size_t where = stage_where(&stage, "a");
    stage_disconnect(&stage, where);
    (void)fail_job(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.reads, 0);
    stage_connect(&stage, where);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.reads, 1);
    stage_end(&stage);
}

static void answer_causes(struct stage *stage, size_t where) {
    AUTO_TEXT uid = strdup(object_uid(stage_job(stage, where, "a")));
    stage_step(stage, &(struct engine_event){.type = EVENT_CAUSES,
                                             .cluster = where,
                                             .causes = {.namespace_ = stage_space(stage),
                                                        .name = "a",
                                                        .uid = uid,
                                                        .causes = "Evicted\t\tpod a-0: low on disk\n"}});
    stage_run(stage, CLOCK_SECOND);
}

// placement.retryElsewhere: the next attempt waits for the words of the failed one, too.
static void words_of_a_mirror_that_failed_in_its_worker(const char *status, bool told) {
    struct stage stage;
    asked = (struct asked){0};
    stage_init(&stage);
    stage.worded = note_wish;
    stage.options.settings.last_words = LAST_WORDS_LOGS;
    stage.options.settings.placement.otherwise.retry = (struct retry_elsewhere){.max = 1};
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t where = stage_where(&stage, "a");
    stage_runs(&stage, where, "a");
    assert_int_equal(stage_patch(&stage, where, "a", "status", status), 200);
    stage_run(&stage, CLOCK_SECOND);
    answer_causes(&stage, where);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(asked.reads, 1);
    assert_int_equal(asked.attempt, 1);
    assert_non_null(stage_job(&stage, where, "a"));
    assert_null(stage_job(&stage, 3 - where, "a"));
    if (told)
        answer(&stage, "pod a-0: Evicted", 1);
    stage_run(&stage, told ? CLOCK_SECOND : 6 * CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    assert_non_null(stage_job(&stage, 3 - where, "a"));
    assert_int_equal(stage_told(&stage, "LastWords: "), told ? 1 : 0);
    stage_end(&stage);
}

static void a_mirror_that_failed_because_of_its_worker_is_read_before_it_goes(void **state) {
    (void)state;
    words_of_a_mirror_that_failed_in_its_worker(FAILED, true);
    words_of_a_mirror_that_failed_in_its_worker(FAILED, false);
}

static void also_when_the_failure_is_only_decided(void **state) {
    (void)state;
    words_of_a_mirror_that_failed_in_its_worker(
        "{'status':{'active':1,'failed':1,'startTime':'2026-03-01T12:00:01Z','conditions':[{'type':'FailureTarget',"
        "'status':'True','reason':'BackoffLimitExceeded','lastTransitionTime':'2026-03-01T12:00:02Z'}]}}",
        true);
}

static void a_deleted_workload_does_not_wait(void **state) {
    (void)state;
    struct stage stage;
    init(&stage, LAST_WORDS_LOGS, CLOCK_MINUTE);
    size_t where = fail_job(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(asked.reads, 1);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_mirror_is_asked_about_once_and_deleted_after_the_answer),
        cmocka_unit_test(without_an_answer_the_mirror_goes_a_few_seconds_later),
        cmocka_unit_test(a_restarted_host_asks_again_and_does_not_know_whether_they_are_kept),
        cmocka_unit_test(they_are_forgotten_with_a_failed_workload),
        cmocka_unit_test(nothing_is_asked_about_a_success_or_when_it_is_off),
        cmocka_unit_test(a_worker_that_is_away_is_asked_when_it_is_back),
        cmocka_unit_test(a_mirror_that_failed_because_of_its_worker_is_read_before_it_goes),
        cmocka_unit_test(also_when_the_failure_is_only_decided),
        cmocka_unit_test(a_deleted_workload_does_not_wait),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
