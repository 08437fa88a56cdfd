// SPDX-License-Identifier: Apache-2.0
// Guards and shards together, as far as the host's decisions go: what is known of a guard counts by shard.
#include "core/engine/fence/fence.h"
#include "core/engine/fence/fence_lease.h"
#include "core/engine/shard/shard_hash.h"
#include "tests/unit/engine/stage.h"

#define LOST_NS (5 * CLOCK_MINUTE)
#define AFTER_NS (4 * CLOCK_MINUTE)
#define FOREVER_NS (1000 * CLOCK_MINUTE)
#define BOTH 3U

static void hold(struct stage *stage, uint32_t shard, bool held, uint64_t term) {
    struct engine_event event = {.type = EVENT_LEASE};
    event.lease.shard = shard;
    event.lease.until_ns = held ? stage->now.mono_ns + FOREVER_NS : 0;
    event.lease.term = term;
    stage_step(stage, &event);
}

static void begin(struct stage *stage, bool wait) {
    stage_init(stage);
    stage->options.settings.worker_lost_timeout_ns = LOST_NS;
    stage->options.shards = 2;
    stage->options.settings.fencing = (struct fence_options){.enabled = true, .wait = wait, .after_ns = AFTER_NS};
    stage_start(stage);
    hold(stage, 0, true, 1);
    hold(stage, 1, true, 1);
}

static void know(struct stage *stage, size_t cluster, uint64_t guarded, uint64_t fencing) {
    stage_fence(
        stage, cluster,
        &(struct fence_news){.guarded = guarded, .fencing = fencing, .sure_ns = stage->now.mono_ns + CLOCK_MINUTE});
}

// A name of a Job in the shard.
static const char *name_in(uint32_t shard, char out[24]) {
    for (unsigned i = 0;; i++) {
        char key[40];
        snprintf(out, 24, "job-%u", i);
        snprintf(key, sizeof key, "default/%s", out);
        if (shard_hash_at(shard_hash("jobs.batch", key), 2) == shard)
            return out;
    }
}

static char first[24], second[24];

// One Job in each shard, which w1 runs.
static void place_both(struct stage *stage) {
    name_in(0, first);
    name_in(1, second);
    know(stage, 1, BOTH, 0);
    stage_submit(stage, first, "");
    stage_submit(stage, second, "");
    stage_run(stage, CLOCK_SECOND);
    stage_runs(stage, 1, first);
    stage_runs(stage, 1, second);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, first), 1);
    assert_int_equal(stage_where(stage, second), 1);
    know(stage, 2, BOTH, 0);
}

static void what_the_guard_does_not_watch_the_lease_of_is_not_given_up(void **state) {
    (void)state;
    for (int wait = 0; wait < 2; wait++) {
        struct stage stage;
        begin(&stage, wait);
        place_both(&stage);
        know(&stage, 1, 1, 0);
        stage_disconnect(&stage, 1);
        stage_run(&stage, 4 * AFTER_NS);
        assert_int_equal(stage_where(&stage, first), 2);
        assert_int_equal(stage_where(&stage, second), wait ? 1 : 2);
        assert_int_equal(stage_told(&stage, "no guard was seen there, so the workload will not"), wait);
        stage_end(&stage);
    }
}

// Both are in w1, which is given up in a second, and the second one's shard is no longer held.
static void lose_worker(struct stage *stage) {
    begin(stage, true);
    place_both(stage);
    stage_run(stage, 10 * CLOCK_MINUTE);
    stage_disconnect(stage, 1);
    stage_run(stage, LOST_NS - CLOCK_SECOND);
    hold(stage, 1, false, 1);
}

static void expect_moved_once_it_is_sure(struct stage *stage, int64_t taken_ns) {
    stage_run(stage, taken_ns + fence_sure_ns(AFTER_NS) - stage->now.mono_ns - CLOCK_SECOND);
    assert_int_equal(stage_where(stage, second), 1);
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, second), 2);
    stage_end(stage);
}

static void who_takes_a_shard_over_waits_for_what_the_former_holder_may_have_renewed(void **state) {
    (void)state;
    struct stage stage;
    lose_worker(&stage);
    hold(&stage, 1, true, 2); // somebody else held it
    int64_t taken_ns = stage.now.mono_ns;
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, first), 2); // the other shard does not wait for that
    expect_moved_once_it_is_sure(&stage, taken_ns);
}

// The answer to the request that took the lease was lost, and it is listed when there is no time left of it.
static void a_term_of_which_there_is_time_only_later_is_a_new_one_then(void **state) {
    (void)state;
    struct stage stage;
    lose_worker(&stage);
    struct engine_event late = {.type = EVENT_LEASE};
    late.lease.shard = 1;
    late.lease.until_ns = stage.now.mono_ns - CLOCK_SECOND;
    late.lease.term = 2;
    stage_step(&stage, &late);
    hold(&stage, 1, true, 2);
    expect_moved_once_it_is_sure(&stage, stage.now.mono_ns);
}

static void only_the_shards_that_the_guard_stops_get_nothing_new(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    name_in(0, first);
    name_in(1, second);
    know(&stage, 1, BOTH, 2);
    know(&stage, 2, BOTH, BOTH);
    stage_submit(&stage, first, "");
    stage_submit(&stage, second, "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, first), 1);
    assert_int_equal(stage_where(&stage, second), 0);
    know(&stage, 1, BOTH, 0);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, second), 1);
    stage_end(&stage);
}

static void only_what_the_guard_stops_no_longer_is_resumed(void **state) {
    (void)state;
    struct stage stage;
    static const char fenced[] =
        "{'metadata':{'annotations':{'wharf.dev/fenced':'2026-03-01T12:03:00Z'}},'spec':{'suspend':true}}";
    begin(&stage, true);
    place_both(&stage);
    know(&stage, 1, BOTH, BOTH);
    assert_int_equal(stage_patch(&stage, 1, first, NULL, fenced), 200);
    assert_int_equal(stage_patch(&stage, 1, second, NULL, fenced), 200);
    stage_run(&stage, CLOCK_MINUTE);
    know(&stage, 1, BOTH, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(json_bool(pointer_find(stage_job(&stage, 1, first), "/spec/suspend"), false));
    assert_false(json_bool(pointer_find(stage_job(&stage, 1, second), "/spec/suspend"), false));
    stage_end(&stage);
}

static void the_leases_of_the_shards_that_are_held_are_renewed(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    assert_int_equal(engine_renews(stage.engine, 1), BOTH);
    hold(&stage, 0, false, 1);
    assert_int_equal(engine_renews(stage.engine, 1), 2);
    stage_disconnect(&stage, 1);
    assert_int_equal(engine_renews(stage.engine, 1), 0);
    assert_int_equal(engine_renews(stage.engine, 2), 2);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_guard_does_not_watch_the_lease_of_is_not_given_up),
        cmocka_unit_test(who_takes_a_shard_over_waits_for_what_the_former_holder_may_have_renewed),
        cmocka_unit_test(a_term_of_which_there_is_time_only_later_is_a_new_one_then),
        cmocka_unit_test(only_the_shards_that_the_guard_stops_get_nothing_new),
        cmocka_unit_test(only_what_the_guard_stops_no_longer_is_resumed),
        cmocka_unit_test(the_leases_of_the_shards_that_are_held_are_renewed),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
