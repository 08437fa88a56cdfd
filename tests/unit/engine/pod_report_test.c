// SPDX-License-Identifier: Apache-2.0
// What a worker tells of the pods of a mirror.
#include "tests/unit/engine/stage.h"

static char *uid_of(struct stage *stage, size_t cluster, const char *name) {
    return strdup(object_uid(stage_job(stage, cluster, name)));
}

// The Events that the report leads to, in `update`.
static void report(struct stage *stage, size_t cluster, const char *uid, const char *text, struct update *update) {
    struct engine_event event = {
        .type = EVENT_POD_REPORT,
        .now = stage->now,
        .cluster = cluster,
        .pod_report = {
            .namespace_ = "default", .name = "a", .uid = uid, .reason = "Failed", .text = text, .warning = true}};
    engine_step(stage->engine, &event, update);
}

static void start(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 5 * CLOCK_SECOND);
}

static void a_pod_report_on_a_mirror_becomes_an_event_that_names_the_cluster_each_time(void **state) {
    (void)state;
    struct stage stage;
    start(&stage);
    size_t where = stage_where(&stage, "a");
    AUTO_TEXT uid = uid_of(&stage, where, "a");
    struct update update = {0};
    report(&stage, where, uid, "pod a-1: x", &update);
    report(&stage, where, uid, "pod a-1: x", &update); // the recorder counts it
    assert_int_equal(update.n_events, 2);
    AUTO_TEXT text = text_format("w%zu: pod a-1: x", where);
    assert_string_equal(update.events[0].text, text);
    assert_string_equal(update.events[0].reason, "Failed");
    assert_string_equal(update.events[0].name, "a");
    assert_true(update.events[0].warning);
    update_free(&update);
    stage_end(&stage);
}

static void a_pod_report_on_anything_else_is_only_counted(void **state) {
    (void)state;
    struct stage stage;
    start(&stage);
    size_t where = stage_where(&stage, "a"), other = 3 - where;
    AUTO_TEXT uid = uid_of(&stage, where, "a");
    struct update update = {0};
    report(&stage, where, "00000000-0000-4000-8000-000000000001", "x", &update);
    report(&stage, other, uid, "x", &update);
    assert_int_equal(update.n_events, 0);
    assert_int_equal(engine_stats(stage.engine)->clusters[where].pod_reports_refused, 1);
    assert_int_equal(engine_stats(stage.engine)->clusters[other].pod_reports_refused, 1);
    update_free(&update);
    stage_end(&stage);
}

static void all_pod_reports_together_are_limited(void **state) {
    (void)state;
    struct stage stage;
    start(&stage);
    size_t where = stage_where(&stage, "a");
    AUTO_TEXT uid = uid_of(&stage, where, "a");
    struct update update = {0};
    for (int i = 0; i < 250; i++)
        report(&stage, where, uid, "x", &update);
    assert_int_equal(update.n_events, 100);
    assert_int_equal(engine_stats(stage.engine)->clusters[where].pod_reports_refused, 150);
    stage.now.mono_ns += 10 * CLOCK_SECOND;
    for (int i = 0; i < 50; i++)
        report(&stage, where, uid, "x", &update);
    assert_int_equal(update.n_events, 110);
    update_free(&update);
    stage_end(&stage);
}

static void a_pod_report_does_not_hide_what_is_told_of_the_workload_itself(void **state) {
    (void)state;
    struct stage stage;
    start(&stage);
    size_t where = stage_where(&stage, "a");
    AUTO_TEXT uid = uid_of(&stage, where, "a");
    struct update update = {0};
    report(&stage, where, uid, "pod a-1: x", &update);
    update_free(&update);
    stage_disconnect(&stage, where);
    stage_contact(&stage, where, CONTACT_LOST);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "WorkerLost: "), 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_report_on_a_mirror_becomes_an_event_that_names_the_cluster_each_time),
        cmocka_unit_test(a_pod_report_on_anything_else_is_only_counted),
        cmocka_unit_test(all_pod_reports_together_are_limited),
        cmocka_unit_test(a_pod_report_does_not_hide_what_is_told_of_the_workload_itself),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
