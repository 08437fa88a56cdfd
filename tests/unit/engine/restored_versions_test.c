// SPDX-License-Identifier: Apache-2.0
// A cluster is restored from a copy of its etcd, or wiped: nothing is deleted or run again by outdated state.
#include "tests/unit/engine/stage.h"

static void open_stage(struct stage *stage) {
    stage_init(stage);
    stage->options.settings.worker_lost_timeout_ns = 15 * CLOCK_MINUTE;
    stage->options.settings.mirror_retention_ns = 10 * CLOCK_MINUTE;
    stage->options.settings.mass_deletion_max = 20;
    stage->options.settings.mass_deletion_percent = 30;
    stage->options.settings.orphan_grace_ns = 60 * CLOCK_MINUTE;
    stage_start(stage);
}

static struct world_copy *copy_of(struct stage *stage, size_t cluster) {
    struct world_copy *copy = world_copy(stage->clusters[cluster]);
    assert_non_null(copy);
    return copy;
}

static void start_one(struct stage *stage) {
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
}

static unsigned sent(const struct stage *stage, enum verb verb) {
    return stage->sent[1][verb] + stage->sent[2][verb];
}

static void a_mirror_that_is_there_gives_its_final_status_again(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    struct world_copy *copy = copy_of(&stage, 0);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    stage_back(&stage, 0, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    assert_int_equal(sent(&stage, VERB_DELETE), 0);
    world_copy_free(copy);
    stage_end(&stage);
}

// The restored cluster has grown past what was known before it is listed: its versions say nothing.
static void what_a_list_has_in_an_older_version_is_read(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    struct world_copy *copy = copy_of(&stage, 0);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    stage_disconnect(&stage, 0);
    stage.user = true;
    world_restore(stage.clusters[0], copy, stage.now.wall_ns);
    stage.user = false;
    stage_submit(&stage, "b", "");
    for (int i = 0; i < 40; i++) {
        AUTO_TEXT patch = text_format("{'metadata':{'labels':{'x':'%d'}}}", i);
        assert_int_equal(stage_patch(&stage, 0, "b", NULL, patch), 200);
    }
    assert_false(stage_finished(&stage, "a"));
    unsigned reads = stage.sent[0][VERB_GET];
    stage_connect(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage.sent[0][VERB_GET], reads + 1);
    assert_int_equal(sent(&stage, VERB_CREATE), 2);
    world_copy_free(copy);
    stage_end(&stage);
}

// `placed`: the copy has the annotations.
static void check_remembered(bool placed) {
    struct stage stage;
    open_stage(&stage);
    struct world_copy *copy = NULL;
    if (!placed) {
        stage.options.n_workers = 2;
        stage_disconnect(&stage, 1);
        stage_disconnect(&stage, 2);
        stage_submit(&stage, "a", "");
        stage_run(&stage, CLOCK_SECOND);
        copy = copy_of(&stage, 0);
        stage_connect(&stage, 1);
        stage_run(&stage, CLOCK_SECOND);
        stage_connect(&stage, 2);
    } else {
        stage_submit(&stage, "a", "");
        stage_run(&stage, 2 * CLOCK_SECOND);
        copy = copy_of(&stage, 0);
    }
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 11 * CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_null(stage_job(&stage, 1, "a")); // mirrorRetention has passed
    stage_back(&stage, 0, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    assert_int_equal(stage_told(&stage, "HadFinished"), 1);
    world_copy_free(copy);
    stage_end(&stage);
}

static void a_finished_workload_is_not_run_again_without_its_mirror(void **state) {
    (void)state;
    check_remembered(true);
}

static void nor_if_it_is_not_even_known_where_it_ran(void **state) {
    (void)state;
    check_remembered(false);
}

// The copy's workload was changed once after it was made, as the one that it replaces: the generation is the same.
static void a_change_after_the_copy_is_carried_though_its_generation_was_known(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    struct world_copy *copy = copy_of(&stage, 0);
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'parallelism':2}}");
    stage_run(&stage, 2 * CLOCK_SECOND);
    stage_disconnect(&stage, 0);
    world_restore(stage.clusters[0], copy, stage.now.wall_ns);
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}");
    struct world_copy *changed = copy_of(&stage, 0);
    stage_back(&stage, 0, changed);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(json_bool(pointer_find(stage_job(&stage, 1, "a"), "/spec/suspend"), false));
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 1, "a"), "/spec/parallelism"), 0), 1);
    world_copy_free(changed);
    world_copy_free(copy);
    stage_end(&stage);
}

static void a_workload_that_is_missing_does_not_cost_its_mirror(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    stage_submit(&stage, "older", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    struct world_copy *copy = copy_of(&stage, 0);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    stage_back(&stage, 0, copy);
    assert_null(stage_job(&stage, 0, "a"));
    stage_run(&stage, 50 * CLOCK_MINUTE);
    assert_int_equal(sent(&stage, VERB_DELETE), 0);
    assert_int_equal(sent(&stage, VERB_CREATE), 2);
    stage_run(&stage, 20 * CLOCK_MINUTE); // orphanGrace has passed
    assert_int_equal(sent(&stage, VERB_DELETE), 1);
    world_copy_free(copy);
    stage_end(&stage);
}

// No version goes back, and a new workload is there before the host lists.
static void check_bumped(bool changed, uint64_t by) {
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    stage_run(&stage, 61 * CLOCK_MINUTE); // past the doubt about the empty list at the start
    struct world_copy *copy = copy_of(&stage, 0);
    stage_submit(&stage, "b", "");
    stage_run(&stage, 2 * CLOCK_SECOND);
    if (changed)
        assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'ready':0}}"), 200);
    stage_run(&stage, 2 * CLOCK_SECOND);
    stage_disconnect(&stage, 0);
    uint64_t reached = world_version(stage.clusters[0]);
    stage.user = true;
    world_restore(stage.clusters[0], copy, stage.now.wall_ns);
    world_bump(stage.clusters[0], reached + by);
    stage.user = false;
    stage_submit(&stage, "new", "");
    stage_connect(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(sent(&stage, VERB_DELETE), 0);
    assert_int_equal(sent(&stage, VERB_CREATE), 3);
    stage_run(&stage, 61 * CLOCK_MINUTE); // orphanGrace has passed
    assert_int_equal(sent(&stage, VERB_DELETE), 1);
    world_copy_free(copy);
    stage_end(&stage);
}

static void bumped_versions_show_by_an_older_workload(void **state) {
    (void)state;
    check_bumped(true, 1000);
}

static void bumped_versions_show_by_a_leap(void **state) {
    (void)state;
    check_bumped(false, 1000000000);
}

static void a_wiped_management_cluster_deletes_nothing(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    stage_back(&stage, 0, NULL);
    stage_submit(&stage, "new", "");
    stage_run(&stage, 5 * 60 * CLOCK_MINUTE);
    assert_int_equal(sent(&stage, VERB_DELETE), 0);
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    stage_end(&stage);
}

static void a_mirror_that_a_restored_worker_lacks_is_created_again(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    struct world_copy *copy = copy_of(&stage, 1);
    start_one(&stage);
    stage_back(&stage, 1, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(sent(&stage, VERB_CREATE), 2);
    assert_int_equal(sent(&stage, VERB_GET), 1); // it was read by name first
    world_copy_free(copy);
    stage_end(&stage);
}

static void a_mirror_that_a_restored_worker_has_again_goes_again(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    struct world_copy *copy = copy_of(&stage, 1);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 11 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_back(&stage, 1, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    world_copy_free(copy);
    stage_end(&stage);
}

static void what_ran_in_a_wiped_worker_goes_elsewhere_after_its_time(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    stage_back(&stage, 1, NULL);
    stage_run(&stage, 14 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage_told(&stage, "a different cluster now"), 1);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_CREATE], 1);
    stage_end(&stage);
}

static void a_restarted_host_takes_a_wiped_worker_as_it_is(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage);
    stage_disconnect(&stage, 2);
    stage_back(&stage, 1, NULL);
    stage_run(&stage, CLOCK_MINUTE);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static void an_answer_from_before_is_not_believed(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    stage.latency_ns = CLOCK_SECOND;
    struct world_copy *copy = copy_of(&stage, 1);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 1500 * CLOCK_MS); // the create is in flight
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    stage_back(&stage, 1, copy);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    assert_true(stage_where(&stage, "a") != 0);
    assert_non_null(stage_job(&stage, stage_where(&stage, "a"), "a"));
    world_copy_free(copy);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_is_there_gives_its_final_status_again),
        cmocka_unit_test(what_a_list_has_in_an_older_version_is_read),
        cmocka_unit_test(a_finished_workload_is_not_run_again_without_its_mirror),
        cmocka_unit_test(nor_if_it_is_not_even_known_where_it_ran),
        cmocka_unit_test(a_change_after_the_copy_is_carried_though_its_generation_was_known),
        cmocka_unit_test(a_workload_that_is_missing_does_not_cost_its_mirror),
        cmocka_unit_test(bumped_versions_show_by_an_older_workload),
        cmocka_unit_test(bumped_versions_show_by_a_leap),
        cmocka_unit_test(a_wiped_management_cluster_deletes_nothing),
        cmocka_unit_test(a_mirror_that_a_restored_worker_lacks_is_created_again),
        cmocka_unit_test(a_mirror_that_a_restored_worker_has_again_goes_again),
        cmocka_unit_test(what_ran_in_a_wiped_worker_goes_elsewhere_after_its_time),
        cmocka_unit_test(a_restarted_host_takes_a_wiped_worker_as_it_is),
        cmocka_unit_test(an_answer_from_before_is_not_believed),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
