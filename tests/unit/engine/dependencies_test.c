// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: the life of a copy.
#include "tests/unit/engine/needs_play.h"

static struct needs_play play;
static struct stage *const stage = &play.stage;

static size_t worker_of(const char *name) {
    size_t cluster = stage_where(stage, name);
    assert_true(cluster == 1 || cluster == 2);
    return cluster;
}

// The source exists: a read, a create, and the mirror; the copy goes a minute after the mirror.
static void test_life(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = worker_of("a");
    assert_non_null(stage_job(stage, w, "a"));
    const struct json *copy = needs_object(stage, w, "configmaps", "settings");
    assert_string_equal(needs_value(stage, w, "settings"), "1");
    assert_string_equal(object_label(copy, MARK_ORIGIN), "here");
    assert_string_equal(object_label(copy, MARK_COPY_OF), object_uid(needs_object(stage, 0, "configmaps", "settings")));
    assert_null(object_label(copy, MARK_UID));
    assert_null(object_label(copy, MARK_KIND));
    assert_int_equal(needs_requests(&play), 2);
    assert_null(needs_object(stage, 3 - w, "configmaps", "settings"));
    stage_runs(stage, w, "a");
    stage_completes(stage, w, "a");
    stage_run(stage, 12 * CLOCK_SECOND); // mirrorRetention is 10 s
    assert_null(stage_job(stage, w, "a"));
    stage_run(stage, 55 * CLOCK_SECOND);
    assert_non_null(needs_object(stage, w, "configmaps", "settings"));
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_null(needs_object(stage, w, "configmaps", "settings"));
    assert_int_equal(needs_requests(&play), 3);
    needs_end(&play);
}

// D3: one Event, and a placement as soon as the source is there.
static void test_missing(void **state) {
    (void)state;
    needs_begin(&play);
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
    assert_int_equal(stage_told(stage, "MissingDependency"), 1);
    assert_int_equal(stage_told(stage, "configmaps default/settings"), 1);
    struct explain_view view;
    stage_explain(stage, "a", &view);
    assert_int_equal(view.workload.waiting, WAITING_DEPENDENCY);
    assert_non_null(strstr(view.waiting_text, "configmaps default/settings"));
    needs_map(stage, 0, "settings", "1");
    stage_run(stage, 100 * CLOCK_MS);
    assert_non_null(stage_job(stage, worker_of("a"), "a"));
    assert_int_equal(stage_told(stage, "MissingDependency"), 1);
    needs_end(&play);
}

// An optional need is copied if it exists, and delays nothing if not.
static void test_optional(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "there", "1");
    needs_job(stage, "a",
              "'volumes':[{'name':'v','configMap':{'name':'there','optional':true}},"
              "{'name':'w','configMap':{'name':'not','optional':true}}]");
    stage_run(stage, CLOCK_SECOND);
    size_t w = worker_of("a");
    assert_non_null(stage_job(stage, w, "a"));
    assert_non_null(needs_object(stage, w, "configmaps", "there"));
    // A later source is copied while the mirror runs.
    needs_map(stage, 0, "not", "2");
    stage_run(stage, CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "not"), "2");
    needs_end(&play);
}

// D6: a rotation, at most one read a second.
static void test_rotation(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "0");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    needs_job(stage, "b", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    assert_int_not_equal(worker_of("a"), worker_of("b"));
    unsigned reads = play.sent[0][VERB_GET];
    for (int i = 1; i <= 50; i++) {
        AUTO_TEXT value = text_format("%d", i);
        needs_map(stage, 0, "settings", value);
        stage_run(stage, 40 * CLOCK_MS);
    }
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, 1, "settings"), "50");
    assert_string_equal(needs_value(stage, 2, "settings"), "50");
    assert_in_range(play.sent[0][VERB_GET] - reads, 2, 4);
    assert_in_range(play.sent[1][VERB_MERGE_PATCH], 2, 4);
    needs_patch(stage, 0, "configmaps", "settings", "{'binaryData':{'b':'eA=='}}");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(json_get(needs_object(stage, 1, "configmaps", "settings"), "binaryData"));
    needs_patch(stage, 0, "configmaps", "settings", "{'binaryData':null}");
    // A key that the source no longer has goes.
    needs_patch(stage, 0, "configmaps", "settings", "{'data':{'key':null,'other':'x'}}");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_null(needs_value(stage, 1, "settings"));
    assert_null(json_get(needs_object(stage, 1, "configmaps", "settings"), "binaryData"));
    assert_string_equal(json_string(json_path(needs_object(stage, 1, "configmaps", "settings"), "data", "other", NULL)),
                        "x");
    needs_end(&play);
}

// D6, D3: the answer of a read may be older than what the watch has shown since.
static void test_late_answer(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "0");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    size_t w = worker_of("a");
    stage->latency_ns = 300 * CLOCK_MS;
    needs_map(stage, 0, "settings", "1");
    stage_run(stage, 100 * CLOCK_MS);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_map(stage, 0, "settings", "3");
    stage_run(stage, 100 * CLOCK_MS);
    needs_delete(stage, 0, "configmaps", "settings");
    stage_run(stage, 5 * CLOCK_SECOND);
    needs_job(stage, "b", MAP_VOLUME("settings"));
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "b"));
    needs_end(&play);
}

// D6: a source made anew reaches the copy without a deletion; a deleted source deletes nothing in use.
static void test_anew(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = worker_of("a");
    needs_delete(stage, 0, "configmaps", "settings");
    stage_run(stage, 5 * CLOCK_MINUTE);
    AUTO_TEXT uid = strdup(object_uid(needs_object(stage, w, "configmaps", "settings")));
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    assert_string_equal(object_uid(needs_object(stage, w, "configmaps", "settings")), uid);
    needs_end(&play);
}

// Cost: Jobs that share an object read and write it once.
static void test_shared(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    for (int i = 0; i < 10000; i++) {
        AUTO_TEXT name = text_format("a%d", i);
        needs_job(stage, name, MAP_VOLUME("settings"));
    }
    stage_run(stage, 20 * CLOCK_SECOND);
    for (int i = 0; i < 10000; i++) {
        AUTO_TEXT name = text_format("a%d", i);
        assert_non_null(stage_job(stage, worker_of(name), name));
    }
    assert_in_range(play.sent[0][VERB_GET], 1, 2); // the second worker's create may come later
    assert_int_equal(play.sent[1][VERB_CREATE], 1);
    assert_int_equal(play.sent[2][VERB_CREATE], 1);
    assert_in_range(needs_requests(&play), 3, 4);
    needs_end(&play);
}

// Of processor time, for Jobs that refer to an object each.
static double seconds_for(int count) {
    needs_begin(&play);
    for (int i = 0; i < count; i++) {
        AUTO_TEXT map = text_format("m%d", i);
        AUTO_TEXT name = text_format("a%d", i);
        AUTO_TEXT pod = text_format(MAP_VOLUME("m%d"), i);
        needs_map(stage, 0, map, "1");
        needs_job(stage, name, pod);
    }
    clock_t began = clock();
    stage_run(stage, 100 * CLOCK_SECOND);
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    AUTO_TEXT last = text_format("a%d", count - 1);
    assert_true(needs_runs(stage, last));
    needs_end(&play);
    return seconds;
}

// Cost: each answer makes room for one more request, and the objects that still wait cost nothing then.
static void test_waiting(void **state) {
    (void)state;
    double few = seconds_for(250), many = seconds_for(2000);
    for (int again = 0; again < 2; again++) { // the least of three counts
        double other_few = seconds_for(250), other_many = seconds_for(2000);
        few = other_few < few ? other_few : few;
        many = other_many < many ? other_many : many;
    }
    if (many > 16 * few)
        fail_msg("250 objects take %.3f s, 2000 take %.3f s", few, many);
}

// The metadata shows after a restart that copies are current: nothing is read.
static void test_restart(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = worker_of("a");
    unsigned before = needs_requests(&play);
    stage_restart(stage);
    needs_job(stage, "b", MAP_VOLUME("settings"));
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_non_null(needs_object(stage, w, "configmaps", "settings"));
    bool both = worker_of("b") != w;
    assert_int_equal(needs_requests(&play), before + (both ? 2 : 0)); // a read and a create for the other worker
    needs_end(&play);
}

// A leftover without a user goes a minute after the start; a kill between copy and mirror leaves one copy.
static void test_killed(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    for (int i = 0; i < 200 && !needs_object(stage, 1, "configmaps", "settings"); i++)
        stage_run(stage, CLOCK_MS);
    assert_non_null(needs_object(stage, 1, "configmaps", "settings"));
    assert_null(stage_job(stage, 1, "a"));
    stage_delete(stage, 0, "a");
    stage_restart(stage);
    stage_run(stage, 50 * CLOCK_SECOND);
    assert_non_null(needs_object(stage, 1, "configmaps", "settings"));
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_null(needs_object(stage, 1, "configmaps", "settings"));
    needs_end(&play);
}

// Without the feature nothing is asked for.
static void test_off(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.settings.dependencies = (struct dependency_options){.copy = NULL};
    stage_start(stage);
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, worker_of("a"), "a"));
    assert_int_equal(needs_requests(&play), 0);
    assert_int_equal(play.n_wishes + play.all, 0);
    needs_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),     cmocka_unit_test(test_missing),     cmocka_unit_test(test_optional),
        cmocka_unit_test(test_rotation), cmocka_unit_test(test_late_answer), cmocka_unit_test(test_anew),
        cmocka_unit_test(test_shared),   cmocka_unit_test(test_waiting),     cmocka_unit_test(test_restart),
        cmocka_unit_test(test_killed),   cmocka_unit_test(test_off),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
