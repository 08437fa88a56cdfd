// SPDX-License-Identifier: Apache-2.0
// Connections are kept and reused: in a run, at most one handshake for each request that was ever in flight at a time.
#include "core/engine/request/command.h"
#include "tests/integration/stage.h"

#define JOBS 100 // at a time
// Beside the window and the streams: an Event, the probe, and a request that is sent before the connection of the
// answer to the last one is free.
#define FEW 3

static int run(void **state) {
    *state = stage_run(2, false, "mirrorRetention: 0s\nrateLimit: {qps: 0}\n");
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

static void set_costs(struct scene *scene, unsigned concurrency, int64_t write_ns) {
    const struct service_cost cost = {.read_ns = write_ns / 2, .write_ns = write_ns, .concurrency = concurrency};
    for (size_t c = 0; c < scene->count; c++)
        front_set_cost(scene->clusters[c].front, &cost);
}

static void run_jobs(struct scene *scene, const char *prefix) {
    stage_submit_many(scene, prefix, JOBS);
    UNTIL(scene, 60, stage_complete(scene, prefix) == JOBS && stage_mirrors(scene) == 0);
}

// The window grows, shrinks and grows again; nothing is opened for what was open already.
static void a_run_has_one_handshake_for_each_place_in_the_window(void **state) {
    struct scene *scene = *state;
    set_costs(scene, 8, 4 * CLOCK_MS);
    run_jobs(scene, "first");
    set_costs(scene, 1, 20 * CLOCK_MS);
    run_jobs(scene, "slow");
    set_costs(scene, 8, 4 * CLOCK_MS);
    run_jobs(scene, "last");
    for (size_t c = 0; c < scene->count; c++) {
        struct front_connections found = front_connections(scene->clusters[c].front);
        size_t streams = 2; // Jobs; ConfigMap wharf-workers, or in workers the Events of pods
        assert_int_equal(found.streams, streams);
        assert_in_range(found.busiest, 1, WINDOW_MAX + FEW);
        assert_in_range(found.opened, 2, found.busiest + found.streams + FEW);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_has_one_handshake_for_each_place_in_the_window, run, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
