// SPDX-License-Identifier: Apache-2.0
// Placement by an adapter: the example of examples/scorer-data-locality with `wharf run`.
#include "tests/integration/stage.h"

#include <string.h>

#define EXAMPLE "examples/data-locality.so"
#define LOCAL "labels: {dataset-genomes: local}"

// `adapter`: a file that was built; NULL: none. `isolation`: of the configuration.
static void configure(struct scene *scene, const char *adapter, const char *isolation, const char *settings_of_w2) {
    AUTO_TEXT file = adapter ? built_path(adapter) : strdup("");
    free(scene->adapters);
    scene->adapters =
        adapter ? text_format("  - {name: rates, file: %s, isolation: %s}\n", file, isolation) : strdup("");
    assert_non_null(scene->adapters);
    text_copy(scene->clusters[2].settings, sizeof scene->clusters[2].settings, settings_of_w2);
    struct error *error = scene_configure(scene, "", "");
    if (error)
        fail_msg("%s", error_text(error));
}

static struct scene *run(const char *adapter, const char *isolation, const char *settings_of_w2) {
    struct scene *scene = stage_open(2, true, "");
    configure(scene, adapter, isolation, settings_of_w2);
    stage_start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    return scene;
}

// A Job that runs until the end of the test.
static int place_with(struct scene *scene, const char *name, const char *annotation, const char *value) {
    AUTO_TEXT annotations = text_format("\"world.test/hold\":\"true\",\"%s\":\"%s\"", annotation, value);
    stage_submit_with(scene, name, annotations, "\"managedBy\":\"wharf.dev/host\",");
    UNTIL(scene, 20, stage_worker_of(scene, name) > 0);
    return stage_worker_of(scene, name);
}

static int place(struct scene *scene, const char *name, const char *dataset) {
    return place_with(scene, name, "data.example.com/dataset", dataset);
}

static bool is_told(struct scene *scene, const char *name, const char *scores) {
    AUTO_TEXT path = text_format("/api/v1/workloads/jobs/default/%s", name);
    AUTO_TEXT member = text_format("\"scores\":%s", scores);
    return stage_page_has(scene, path, member);
}

// On a busy machine a process may take longer than the host waits: Jobs are placed until one has these scores, which is
// then in w2.
static void place_until_told(struct scene *scene, const char *prefix, const char *scores) {
    for (unsigned i = 0; i < 200; i++) {
        AUTO_TEXT name = text_format("%s%u", prefix, i);
        int where = place(scene, name, "genomes");
        UNTIL(scene, 10, !is_told(scene, name, "null"));
        if (!is_told(scene, name, scores))
            continue;
        assert_int_equal(where, 2);
        return;
    }
    fail_msg("no Job has the scores %s", scores);
}

static void jobs_go_where_their_data_is_and_else_to_the_next_worker(void **state) {
    (void)state;
    struct scene *scene = run(EXAMPLE, "none", LOCAL ", maxActive: 3");
    assert_int_equal(place(scene, "a", "genomes"), 2);
    assert_int_equal(place(scene, "b", "genomes"), 2); // the policy alone would take w1
    assert_int_equal(place(scene, "c", "other"), 1);   // no opinion
    assert_int_equal(place(scene, "d", "genomes"), 2);
    assert_int_equal(place(scene, "e", "genomes"), 1); // w2 is full
    UNTIL(scene, 10, is_told(scene, "b", "\"data-locality: w2 100\""));
    UNTIL(scene, 10, is_told(scene, "c", "\"data-locality: no opinion\""));
    assert_true(is_told(scene, "e", "null"));
    assert_true(stage_page_has(scene, "/api/v1/adapters", "\"name\":\"data-locality\""));
    assert_true(stage_page_has(scene, "/api/v1/adapters", "\"kinds\":[],\"scores\":true"));
    assert_true(wharf_metric(scene, "wharf_placements_unscored_total") == 0);
    stage_close(scene);
}

static void an_adapter_that_rates_workers_is_added_while_the_host_runs(void **state) {
    (void)state;
    struct scene *scene = run(NULL, NULL, LOCAL);
    assert_int_equal(place(scene, "a", "genomes"), 1);
    assert_int_equal(place(scene, "b", "genomes"), 2);
    configure(scene, EXAMPLE, "auto", LOCAL);
    UNTIL(scene, 20, wharf_logged(scene, "an adapter that rates workers is added") == 1);
    UNTIL(scene, 20, stage_page_has(scene, "/api/v1/adapters", "\"scores\":true"));
    place_until_told(scene, "c", "\"data-locality: w2 100\"");
    stage_close(scene);
}

// The process ends, and is there again after a while.
static void an_adapter_that_crashes_or_never_returns_has_no_say(void **state) {
    (void)state;
    struct scene *scene = run("hang_adapters/scorer.so", "auto", "weight: 1");
    place_until_told(scene, "before", "\"scorer: w2 100\"");
    (void)place_with(scene, "crash", "example.com/score", "crash");
    UNTIL(scene, 10, is_told(scene, "crash", "\"scorer: none (") || is_told(scene, "crash", "\"none: "));
    (void)place_with(scene, "loop", "example.com/score", "loop");
    UNTIL(scene, 10, is_told(scene, "loop", "\"scorer: none (") || is_told(scene, "loop", "\"none: "));
    place_until_told(scene, "after", "\"scorer: w2 100\"");
    assert_true(wharf_metric(scene, "wharf_placements_unscored_total") >= 2);
    assert_true(wharf_is_ready(scene));
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_go_where_their_data_is_and_else_to_the_next_worker),
        cmocka_unit_test(an_adapter_that_rates_workers_is_added_while_the_host_runs),
        cmocka_unit_test(an_adapter_that_crashes_or_never_returns_has_no_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
