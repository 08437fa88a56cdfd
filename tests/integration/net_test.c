// SPDX-License-Identifier: Apache-2.0
// Adapters in the host that end it: the line that says which call, and the mark by which the next process leaves the
// workload alone.
#include "tests/integration/stage.h"

#include <dirent.h>
#include <string.h>

static const struct world_kind thing = {
    .group = "example.com", .versions = {"v1"}, .plural = "things", .kind = "Thing"};

static const struct {
    const char *does, *reason;
    int exit_code; // -1: a signal
} ends[] = {{"crash", "reason=\"signal 11 (Segmentation fault)\"", -1},
            {"recurse", "reason=\"signal 11 (Segmentation fault)\"", -1},
            {"abort", "reason=\"signal 6 (Aborted)\"", -1},
            {"exit", "reason=\"exit() was called\"", 1}};
#define ENDS (sizeof ends / sizeof ends[0])

static int open_with_things(void **state) {
    AUTO_TEXT file = built_path("hang_adapters/hang.so");
    AUTO_TEXT adapter = text_format("  - {name: hang, file: \"%s\", isolation: none}\n", file ? file : "");
    struct scene_options options = {
        .workers = 1, .plain = true, .world = {.seed = 1, .controller_delay_ns = 20 * CLOCK_MS}, .adapters = adapter};
    struct scene *scene = NULL;
    assert_null(scene_open(&options, &scene));
    assert_null(scene_configure(scene, "", ""));
    for (size_t i = 0; i < scene->count; i++)
        assert_true(world_register(scene->clusters[i].cluster, &thing));
    *state = scene;
    return 0;
}

static int drop(void **state) {
    scene_close(*state);
    return 0;
}

static void start(struct scene *scene) {
    assert_null(wharf_start(scene));
    UNTIL(scene, 15, wharf_is_ready(scene));
}

// Creates or updates a Thing, named after what it first does.
static void submit(struct scene *scene, const char *name, const char *does) {
    AUTO_TEXT text =
        text_format("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                    "\"default\"},\"spec\":{\"managedBy\":\"wharf.dev/host\",\"does\":\"%s\"}}",
                    name, does);
    AUTO_JSON object = NULL;
    assert_null(json_parse(text, strlen(text), &object));
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    int status = world_apply(management->cluster, "example.com", "things", object, front_now_ns());
    front_unlock(management->front);
    assert_true(status == 200 || status == 201);
}

static size_t marks(const struct scene *scene) {
    size_t count = 0;
    DIR *folder = opendir(scene->directory);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += text_has_prefix(entry->d_name, "adapter-mark-");
    closedir(folder);
    return count;
}

static void a_job_runs(struct scene *scene, const char *name) {
    stage_submit(scene, name);
    UNTIL(scene, 20, stage_is_complete(scene, name));
}

// Each object ends the process once.
static void a_process_that_an_adapter_ended_leaves_a_mark_and_the_next_one_runs(void **state) {
    struct scene *scene = *state;
    start(scene);
    for (size_t i = 0; i < ENDS; i++) {
        AUTO_TEXT line =
            text_format("the process ends in an adapter adapter=hang function=phase kind=things.example.com "
                        "object=default/%s %s",
                        ends[i].does, ends[i].reason);
        submit(scene, ends[i].does, ends[i].does);
        UNTIL(scene, 20, !wharf_runs(scene));
        assert_int_equal(wharf_exit_code(scene), ends[i].exit_code);
        assert_int_equal(wharf_logged(scene, line), 1);
        assert_int_equal(marks(scene), i + 1);
        start(scene);
        a_job_runs(scene, ends[i].does);
        UNTIL(scene, 20, stage_is_told(scene, ends[i].does, "AdapterFailed"));
    }
    assert_int_equal(wharf_logged(scene, "the process ends in an adapter"), ENDS);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);
    assert_int_equal(marks(scene), ENDS); // as the objects are what they were
}

static void a_mark_lasts_until_its_object_changes(void **state) {
    struct scene *scene = *state;
    start(scene);
    submit(scene, "one", "crash");
    UNTIL(scene, 20, !wharf_runs(scene));
    start(scene);
    UNTIL(scene, 20, stage_is_told(scene, "one", "AdapterFailed"));
    assert_int_equal(marks(scene), 1);
    submit(scene, "one", "nothing");
    UNTIL(scene, 20, marks(scene) == 0);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);
    assert_int_equal(wharf_logged(scene, "the process ends in an adapter"), 1);
}

static void a_call_that_keeps_the_process_from_stopping_is_named(void **state) {
    struct scene *scene = *state;
    start(scene);
    submit(scene, "t", "spin");
    UNTIL(scene, 20, wharf_metric(scene, "wharf_engine_stalled_seconds") > 1);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "function=phase kind=things.example.com object=default/t reason=\"no result"),
                     1);
    assert_int_equal(marks(scene), 1);
    start(scene);
    a_job_runs(scene, "after");
}

static void a_call_that_spends_seconds_ends_the_process(void **state) {
    struct scene *scene = *state;
    start(scene);
    submit(scene, "t", "spin");
    UNTIL(scene, 60, !wharf_runs(scene)); // 10 s of processor time
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "a call of an adapter does not return: exiting"), 1);
    assert_int_equal(wharf_logged(scene, "reason=\"no result after 10 s of processor time\""), 1);
    start(scene);
    a_job_runs(scene, "after");
    UNTIL(scene, 20, stage_is_told(scene, "t", "AdapterFailed"));
}

static void a_process_without_its_descriptors_ends(void **state) {
    struct scene *scene = *state;
    start(scene);
    submit(scene, "t", "close");
    UNTIL(scene, 30, !wharf_runs(scene));
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "closed them: exiting"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_an_adapter_ended_leaves_a_mark_and_the_next_one_runs,
                                        open_with_things, drop),
        cmocka_unit_test_setup_teardown(a_mark_lasts_until_its_object_changes, open_with_things, drop),
        cmocka_unit_test_setup_teardown(a_call_that_keeps_the_process_from_stopping_is_named, open_with_things, drop),
        cmocka_unit_test_setup_teardown(a_call_that_spends_seconds_ends_the_process, open_with_things, drop),
        cmocka_unit_test_setup_teardown(a_process_without_its_descriptors_ends, open_with_things, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
