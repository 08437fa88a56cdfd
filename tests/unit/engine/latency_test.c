// SPDX-License-Identifier: Apache-2.0
// What the engine measures of workloads: how long until they are created, and what those without a worker wait for.
#include "tests/unit/engine/stage.h"

static const struct stats *stats_of(struct stage *stage) {
    return engine_stats(stage->engine);
}

static uint64_t counted(const struct histogram *histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += histogram->buckets[i];
    return count;
}

static uint64_t unplaced(struct stage *stage) {
    uint64_t count = 0;
    for (size_t w = 0; w < WAITINGS; w++)
        count += stats_of(stage)->unplaced[w];
    return count;
}

static void the_time_to_the_first_mirror_is_measured_once(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.latency_ns = 20 * CLOCK_MS;
    stage_start(&stage);
    stage_run(&stage, 5 * CLOCK_SECOND);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 5 * CLOCK_SECOND);
    const struct histogram *latency = &stats_of(&stage)->dispatch_latency;
    assert_int_equal(counted(latency), 1);
    assert_in_range(latency->sum_ns, 40 * CLOCK_MS, 45 * CLOCK_MS); // the annotations, then the mirror
    stage_runs(&stage, stage_where(&stage, "a"), "a");
    stage_delete(&stage, stage_where(&stage, "a"), "a"); // its next mirror is no dispatch
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(counted(&stats_of(&stage)->dispatch_latency), 1);
    stage_end(&stage);
}

static void the_time_that_it_is_suspended_does_not_count(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_run(&stage, 5 * CLOCK_SECOND);
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        stage_contact(&stage, c, CONTACT_SUSPECT);
    stage_submit(&stage, "a", "");
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(unplaced(&stage), 0);
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        stage_contact(&stage, c, CONTACT_GOOD);
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':false}}");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(counted(&stats_of(&stage)->dispatch_latency), 1);
    assert_in_range(stats_of(&stage)->dispatch_latency.sum_ns, 1, CLOCK_SECOND);
    stage_end(&stage);
}

static void a_workload_without_a_worker_is_counted_until_it_has_one_or_is_gone(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_run(&stage, 5 * CLOCK_SECOND);
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        stage_contact(&stage, c, CONTACT_SUSPECT);
    stage_submit(&stage, "a", "");
    stage_submit(&stage, "b", "");
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stats_of(&stage)->unplaced[WAITING_NO_WORKER], 2);
    assert_int_equal(unplaced(&stage), 2);
    stage_delete(&stage, 0, "b");
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stats_of(&stage)->unplaced[WAITING_NO_WORKER], 1);
    stage_contact(&stage, 1, CONTACT_GOOD);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(unplaced(&stage), 0);
    assert_true(stats_of(&stage)->dispatch_latency.sum_ns > 15 * CLOCK_SECOND);
    stage_end(&stage);
}

static int64_t a_second_a_reading(void) {
    static int64_t now_ns;
    return now_ns += CLOCK_SECOND;
}

static void calls_into_the_adapter_are_measured_with_the_given_clock(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.ticks = a_second_a_reading;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 5 * CLOCK_SECOND);
    stage_runs(&stage, stage_where(&stage, "a"), "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    const struct call_time *calls = stats_of(&stage)->kinds[0].calls;
    assert_true(calls[FUNCTION_STATUS].count > 0);
    for (size_t f = 0; f < ADAPTER_FUNCTIONS; f++)
        assert_int_equal(calls[f].sum_ns, (int64_t)calls[f].count * CLOCK_SECOND);
    assert_int_equal(calls[FUNCTION_POD_SETS].count, 1); // of the run, for the accounts
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_to_the_first_mirror_is_measured_once),
        cmocka_unit_test(the_time_that_it_is_suspended_does_not_count),
        cmocka_unit_test(a_workload_without_a_worker_is_counted_until_it_has_one_or_is_gone),
        cmocka_unit_test(calls_into_the_adapter_are_measured_with_the_given_clock),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
