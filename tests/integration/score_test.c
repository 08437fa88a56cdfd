// SPDX-License-Identifier: Apache-2.0
// Placement by an adapter: the example of examples/scorer-data-locality with `wharf run`.
#include "tests/integration/stage.h"

#include <string.h>

#define LOCAL "labels: {dataset-genomes: local}"

static char *scorer_item(void) {
    AUTO_TEXT file = built_path("examples/data-locality.so");
    char *item = text_format("  - {name: data-locality, file: %s}\n", file);
    assert_non_null(item);
    return item;
}

static void configure(struct scene *scene, bool scores, const char *settings_of_w2) {
    AUTO_TEXT item = scorer_item();
    free(scene->adapters);
    scene->adapters = strdup(scores ? item : "");
    assert_non_null(scene->adapters);
    text_copy(scene->clusters[2].settings, sizeof scene->clusters[2].settings, settings_of_w2);
    struct error *error = scene_configure(scene, "", "");
    if (error)
        fail_msg("%s", error_text(error));
}

static struct scene *run(bool scores, const char *settings_of_w2) {
    struct scene *scene = stage_open(2, true, "");
    configure(scene, scores, settings_of_w2);
    struct error *error = wharf_start(scene);
    if (error)
        fail_msg("%s", error_text(error));
    UNTIL(scene, 15, wharf_is_ready(scene) && stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    return scene;
}

// A Job that runs until the end of the test.
static int place(struct scene *scene, const char *name, const char *dataset) {
    AUTO_TEXT annotations = text_format("\"world.test/hold\":\"true\",\"data.example.com/dataset\":\"%s\"", dataset);
    stage_submit_with(scene, name, annotations, "\"managedBy\":\"wharf.dev/host\",");
    UNTIL(scene, 20, stage_worker_of(scene, name) > 0);
    return stage_worker_of(scene, name);
}

static bool answer_has(struct scene *scene, const char *path, const char *text) {
    AUTO_BUFFER(body, 1 << 20);
    return http_ask(scene->serve_port, "GET", path, &body) == 200 && strstr(body.data, text);
}

static void jobs_go_where_their_data_is_and_else_to_the_next_worker(void **state) {
    (void)state;
    struct scene *scene = run(true, LOCAL ", maxActive: 3");
    assert_int_equal(place(scene, "a", "genomes"), 2);
    assert_int_equal(place(scene, "b", "genomes"), 2); // the policy alone would take w1
    assert_int_equal(place(scene, "c", "other"), 1);   // no opinion
    assert_int_equal(place(scene, "d", "genomes"), 2);
    assert_int_equal(place(scene, "e", "genomes"), 1); // w2 is full
    UNTIL(scene, 10, answer_has(scene, "/api/v1/workloads/jobs/default/b", "\"scores\":\"data-locality: w2 100\""));
    assert_true(answer_has(scene, "/api/v1/workloads/jobs/default/c", "\"scores\":\"data-locality: no opinion\""));
    assert_true(answer_has(scene, "/api/v1/workloads/jobs/default/e", "\"scores\":null"));
    assert_true(answer_has(scene, "/api/v1/adapters", "\"name\":\"data-locality\""));
    assert_true(answer_has(scene, "/api/v1/adapters", "\"kinds\":[],\"errors\":0,\"scores\":true"));
    assert_true(wharf_metric(scene, "wharf_placements_unscored_total") == 0);
    stage_close(scene);
}

static void an_adapter_that_rates_workers_is_added_while_the_host_runs(void **state) {
    (void)state;
    struct scene *scene = run(false, LOCAL);
    assert_int_equal(place(scene, "a", "genomes"), 1);
    assert_int_equal(place(scene, "b", "genomes"), 2);
    configure(scene, true, LOCAL);
    UNTIL(scene, 20, wharf_logged(scene, "an adapter that rates workers is added") == 1);
    UNTIL(scene, 20, answer_has(scene, "/api/v1/adapters", "\"scores\":true"));
    assert_int_equal(place(scene, "c", "genomes"), 2);
    assert_int_equal(place(scene, "d", "genomes"), 2);
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_go_where_their_data_is_and_else_to_the_next_worker),
        cmocka_unit_test(an_adapter_that_rates_workers_is_added_while_the_host_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
