// SPDX-License-Identifier: Apache-2.0
// Stops and crashes of the host, and restarts; and what it serves meanwhile.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS 12

static void start(struct scene *scene) {
    struct error *error = wharf_start(scene);
    if (error)
        print_error("%s\n", error_text(error));
    assert_null(error);
}

static int run(void **state) {
    *state = stage_run(2, false, "mirrorRetention: 0s\n");
    return 0;
}

static int open_only(void **state) {
    *state = stage_open(1, true, "mirrorRetention: 0s\n");
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

// w1 hangs, and w2 is down: the create of the one Job is in flight.
static void leave_a_create_under_way(struct scene *scene) {
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    front_set_fault(scene->clusters[1].front, FRONT_HANGS);
    front_down(scene->clusters[2].front);
    UNTIL(scene, 10, !stage_is_connected(scene, "w2"));
    stage_submit(scene, "slow");
    UNTIL(scene, 10, wharf_metric(scene, "wharf_requests_sent_total{cluster=\"w1\",verb=\"create\"}") == 1);
}

static void sigterm_waits_for_the_write_that_is_under_way(void **state) {
    struct scene *scene = *state;
    leave_a_create_under_way(scene);
    assert_false(wharf_end(scene, SIGTERM, CLOCK_SECOND)); // it waits
    front_set_fault(scene->clusters[1].front, FRONT_FINE);
    UNTIL(scene, 5, !wharf_runs(scene));
    assert_int_equal(wharf_exit_code(scene), 0);
    assert_int_equal(stage_creates(scene, 1, 2), 1);
    assert_null(front_up(scene->clusters[2].front));
    start(scene);
    UNTIL(scene, 10, stage_is_complete(scene, "slow") && stage_mirrors(scene) == 0);
    assert_int_equal(stage_creates(scene, 1, 3), 1);
    assert_int_equal(stage_attempt_of(scene, "slow"), 1);
}

static void sigterm_waits_ten_seconds_at_most(void **state) {
    struct scene *scene = *state;
    leave_a_create_under_way(scene);
    int64_t asked_ns = clock_now().mono_ns;
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);                    // it was not ended for being late
    assert_true(clock_now().mono_ns - asked_ns > 2 * CLOCK_SECOND); // it did wait
    front_set_fault(scene->clusters[1].front, FRONT_FINE);
    assert_null(front_up(scene->clusters[2].front));
    start(scene);
    UNTIL(scene, 15, stage_is_complete(scene, "slow") && stage_mirrors(scene) == 0);
    assert_int_equal(stage_attempt_of(scene, "slow"), 1);
}

static void an_idle_host_ends_at_once(void **state) {
    struct scene *scene = *state;
    stage_submit(scene, "before");
    UNTIL(scene, 10, stage_is_complete(scene, "before") && stage_mirrors(scene) == 0);
    static const int signals[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < 2; i++) {
        int64_t took_ns = INT64_MAX;
        for (int round = 0; round < 3 && took_ns > 6 * CLOCK_SECOND; round++) { // perhaps the machine was held up
            int64_t asked_ns = clock_now().mono_ns;
            assert_true(wharf_end(scene, signals[i], STAGE_END_NS));
            took_ns = clock_now().mono_ns - asked_ns;
            assert_int_equal(wharf_exit_code(scene), 0);
            start(scene);
            UNTIL(scene, 10, wharf_is_ready(scene));
        }
        assert_true(took_ns < 6 * CLOCK_SECOND); // a write in flight would be given 8 s
    }
}

static bool no_job_has_two_mirrors(struct scene *scene) {
    for (size_t i = 0; i < JOBS; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        AUTO_JSON first = scene_job(scene, 1, name);
        AUTO_JSON second = scene_job(scene, 2, name);
        if (first && second)
            return false;
    }
    return true;
}

// Killed at ever later moments of the Jobs' lives, which take about half a second.
static void a_host_that_is_killed_again_and_again_loses_nothing_and_makes_nothing_twice(void **state) {
    struct scene *scene = *state;
    for (size_t i = 0; i < JOBS; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        stage_submit_with(scene, name, "", "\"managedBy\":\"wharf.dev/host\",\"parallelism\":2,\"completions\":4,");
    }
    for (unsigned kill = 0; kill < 8; kill++) {
        usleep(kill * 15000); // any point is as good
        assert_true(wharf_end(scene, SIGKILL, STAGE_END_NS));
        assert_true(no_job_has_two_mirrors(scene));
        start(scene);
        UNTIL(scene, 10, wharf_is_ready(scene));
    }
    UNTIL(scene, 20, stage_complete(scene, "job") == JOBS && stage_mirrors(scene) == 0);
    assert_int_equal(stage_creates(scene, 1, 3), JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_int_equal(stage_attempt_of(scene, name), 1);
    }
}

// Not the last workload: a management cluster that has none is suspect.
static void a_mirror_whose_workload_went_while_the_host_was_down_is_deleted(void **state) {
    struct scene *scene = *state;
    static const char *const names[] = {"orphan", "stays"};
    for (size_t i = 0; i < 2; i++)
        stage_submit_with(scene, names[i], "\"world.test/duration\":\"60s\"", "\"managedBy\":\"wharf.dev/host\",");
    UNTIL(scene, 10, stage_mirrors(scene) == 2);
    assert_true(wharf_end(scene, SIGKILL, STAGE_END_NS));
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "batch", "jobs", "orphan"), 200);
    start(scene);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    UNTIL(scene, 5, wharf_metric(scene, "wharf_orphans_deleted_total") == 1);
}

static int ask(struct scene *scene, const char *method, const char *path, const char *expected) {
    AUTO_BUFFER(body, 1 << 20);
    int status = http_ask(scene->serve_port, method, path, &body);
    if (expected && !strstr(body.data ? body.data : "", expected))
        fail_msg("%s %s: \"%s\" is not in: %s", method, path, expected, body.data ? body.data : "");
    return status;
}

static bool unready_tells(struct scene *scene, const char *what) {
    AUTO_BUFFER(body, 1 << 20);
    return http_ask(scene->serve_port, "GET", "/readyz", &body) == 503 && strstr(body.data ? body.data : "", what);
}

static void what_is_served_tells_the_state_of_the_host(void **state) {
    struct scene *scene = *state;
    front_down(scene->clusters[SCENE_MANAGEMENT].front);
    start(scene);
    UNTIL(scene, 10, http_ask(scene->serve_port, "GET", "/healthz", NULL) == 200);
    UNTIL(scene, 10, unready_tells(scene, "management/jobs.batch: not connected: "));
    assert_null(front_up(scene->clusters[SCENE_MANAGEMENT].front));
    UNTIL(scene, 15, ask(scene, "GET", "/readyz", NULL) == 200);
    assert_int_equal(ask(scene, "GET", "/readyz", "ok\n"), 200);
    front_down(scene->clusters[1].front); // a lost worker is no reason to be restarted
    UNTIL(scene, 10, !stage_is_connected(scene, "w1"));
    assert_int_equal(ask(scene, "GET", "/readyz", "ok\n"), 200);
    front_down(scene->clusters[SCENE_MANAGEMENT].front);
    UNTIL(scene, 10, ask(scene, "GET", "/readyz", NULL) == 503);
    assert_int_equal(ask(scene, "GET", "/healthz", "ok\n"), 200);
    assert_int_equal(ask(scene, "GET", "/", "<!doctype html>"), 200);
    assert_int_equal(ask(scene, "GET", "/nothing", "/healthz"), 404);
    assert_int_equal(ask(scene, "GET", "/metrics/", NULL), 404);
    assert_int_equal(ask(scene, "POST", "/metrics", NULL), 405);
    assert_int_equal(ask(scene, "DELETE", "/healthz", NULL), 405);
}

static void the_metrics_count_what_was_done(void **state) {
    static const struct {
        const char *sample;
        double value;
    } samples[] = {
        {"wharf_placements_total", 5},
        {"wharf_replacements_total", 0},
        {"wharf_conflicts_total", 0},
        {"wharf_orphans_deleted_total", 0},
        {"wharf_in_sync", 1},
        {"wharf_queue_length", 0},
        {"wharf_workloads{kind=\"jobs.batch\",phase=\"succeeded\"}", 5},
        {"wharf_workloads{kind=\"jobs.batch\",phase=\"active\"}", 0},
        {"wharf_adapter_errors_total{kind=\"jobs.batch\"}", 0},
        {"wharf_worker_mirrors{cluster=\"w1\"}", 0},
        {"wharf_worker_active_workloads{cluster=\"w2\"}", 0},
        {"wharf_watch_state{cluster=\"management\",kind=\"jobs.batch\",state=\"connected\"}", 1},
        {"wharf_watch_losses_total{cluster=\"w1\",kind=\"jobs.batch\"}", 0},
        {"wharf_requests_sent_total{cluster=\"management\",verb=\"patch\"}", 5},
        {"wharf_requests_total{cluster=\"management\",verb=\"patch\",reason=\"OK\"}", 5},
    };
    struct scene *scene = *state;
    stage_submit_many(scene, "job", 5);
    UNTIL(scene, 10, stage_complete(scene, "job") == 5 && stage_mirrors(scene) == 0);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        UNTIL(scene, 5, wharf_metric(scene, samples[i].sample) == samples[i].value);
    assert_true(wharf_metric(scene, "wharf_status_latency_seconds_count") >= 5);
    assert_true(wharf_metric(scene, "process_resident_memory_bytes") > 1 << 20);
    double creates = 0;
    for (size_t i = 1; i <= 2; i++) {
        AUTO_TEXT sample = text_format("wharf_requests_sent_total{cluster=\"w%zu\",verb=\"create\"}", i);
        creates += wharf_metric(scene, sample);
    }
    assert_true(creates == 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sigterm_waits_for_the_write_that_is_under_way, run, end),
        cmocka_unit_test_setup_teardown(sigterm_waits_ten_seconds_at_most, run, end),
        cmocka_unit_test_setup_teardown(an_idle_host_ends_at_once, run, end),
        cmocka_unit_test_setup_teardown(a_host_that_is_killed_again_and_again_loses_nothing_and_makes_nothing_twice,
                                        run, end),
        cmocka_unit_test_setup_teardown(a_mirror_whose_workload_went_while_the_host_was_down_is_deleted, run, end),
        cmocka_unit_test_setup_teardown(what_is_served_tells_the_state_of_the_host, open_only, end),
        cmocka_unit_test_setup_teardown(the_metrics_count_what_was_done, run, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
