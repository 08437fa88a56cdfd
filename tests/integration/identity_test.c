// SPDX-License-Identifier: Apache-2.0
// Clusters with the wrong identity: one under two names, the management cluster as a worker, and a management cluster
// that is suddenly empty.
#include "tests/integration/stage.h"

#include <string.h>

#define SETTINGS "mirrorRetention: 0s\nworkerLostTimeout: 60s\n"

static void must(struct scene *scene, struct error *error) {
    if (error) {
        print_error("%s\n", error_text(error));
        stage_close(scene);
    }
    assert_null(error);
}

// One worker, and a second name that is added to the configuration, with a copy of another cluster's kubeconfig.
static struct scene *run_with(const char *name, const char *like) {
    struct scene *scene = stage_open(1, false, SETTINGS);
    AUTO_TEXT from = text_format("%s/%s.kubeconfig", scene->directory, like);
    AUTO_TEXT file = text_format("%s.kubeconfig", name);
    AUTO_TEXT worker = text_format("- {name: %s, kubeconfig: %s.kubeconfig}\n", name, name);
    AUTO_BUFFER(text, 65536);
    must(scene, text_read_file(from, 65536, &text));
    must(scene, scene_write(scene, file, text.data));
    must(scene, wharf_start(scene));
    UNTIL(scene, 10, wharf_is_ready(scene) && stage_takes_work(scene, "w1"));
    must(scene, scene_configure(scene, worker, SETTINGS));
    return scene;
}

static bool says(struct scene *scene, const char *path, const char *text) {
    AUTO_BUFFER(body, 65536);
    int status = http_ask(scene->serve_port, "GET", path, &body);
    return status == 200 && body.data && strstr(body.data, text);
}

static void check_refused(const char *worker, const char *like, const char *text) {
    struct scene *scene = run_with(worker, like);
    AUTO_TEXT sample = text_format("wharf_cluster_refused{cluster=\"%s\"}", worker);
    UNTIL(scene, 10, wharf_metric(scene, sample) == 1);
    stage_submit_many(scene, "job", 12);
    UNTIL(scene, 20, stage_complete(scene, "job") == 12 && scene_jobs(scene, 1) == 0);
    assert_int_equal(stage_creates(scene, 1, 2), 12); // each ran once
    for (int i = 0; i < 12; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        assert_int_equal(stage_worker_of(scene, name), 1);
    }
    UNTIL(scene, 5, wharf_logged(scene, text) == 1);
    assert_true(says(scene, "/api/v1/workers", text));
    assert_true(says(scene, "/readyz", ": refused, it is not the cluster that it should be"));
    assert_false(says(scene, "/readyz", "uid"));
    stage_close(scene);
}

static void a_second_name_for_a_worker_is_refused(void **state) {
    (void)state;
    check_refused("twin", "w1", "the worker is the same cluster as w1");
}

static void the_management_cluster_is_refused_as_a_worker(void **state) {
    (void)state;
    check_refused("self", "mgmt", "the worker is the management cluster");
}

static void a_management_cluster_that_is_empty_after_a_restart_deletes_no_mirror(void **state) {
    (void)state;
    struct scene_options options = {.workers = 1, .world = {.seed = 1, .pod_run_ns = 60 * CLOCK_MINUTE}};
    struct scene *scene = NULL;
    must(scene, scene_open(&options, &scene));
    must(scene, scene_configure(scene, "", SETTINGS));
    must(scene, wharf_start(scene));
    UNTIL(scene, 10, wharf_is_ready(scene));
    for (int i = 0; i < 5; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        stage_submit(scene, name);
    }
    UNTIL(scene, 10, scene_jobs(scene, 1) == 5);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    for (int i = 0; i < 5; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        scene_delete(scene, SCENE_MANAGEMENT, "batch", "jobs", name);
    }
    UNTIL(scene, 10, scene_jobs(scene, SCENE_MANAGEMENT) == 0);
    must(scene, wharf_start(scene));
    UNTIL(scene, 20, wharf_metric(scene, "wharf_orphans_held{cluster=\"w1\"}") == 5);
    assert_int_equal(scene_jobs(scene, 1), 5);
    UNTIL(scene, 5, wharf_logged(scene, "orphans (mirrors without a workload) are held") == 1);
    // An operator releases one.
    scene_patch(scene, 1, "batch", "jobs", "job0", "{\"metadata\":{\"annotations\":{\"wharf.dev/release\":\"true\"}}}");
    UNTIL(scene, 10, scene_jobs(scene, 1) == 4);
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_name_for_a_worker_is_refused),
        cmocka_unit_test(the_management_cluster_is_refused_as_a_worker),
        cmocka_unit_test(a_management_cluster_that_is_empty_after_a_restart_deletes_no_mirror),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
