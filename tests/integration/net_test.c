// SPDX-License-Identifier: Apache-2.0
// Adapters in the host that end it: the line that says which call, and the mark by which the next process leaves the
// workload alone.
#include "tests/integration/things.h"

#include <dirent.h>
#include <string.h>

static const struct {
    const char *does, *reason;
    int exit_code; // -1: a signal
} ends[] = {{"crash", "reason=\"signal 11 (Segmentation fault)\"", -1},
            {"recurse", "reason=\"signal 11 (Segmentation fault)\"", -1},
            {"abort", "reason=\"signal 6 (Aborted)\"", -1},
            {"exit", "reason=\"exit() was called\"", 1}};
#define ENDS (sizeof ends / sizeof ends[0])
#define FIRST_END (STAGE_SLOW > 1 ? 2 : 0) // a sanitizer reports the signals of a fault itself

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
    stage_start(scene);
    for (size_t i = FIRST_END; i < ENDS; i++) {
        AUTO_TEXT line =
            text_format("the process ends in an adapter adapter=hang function=phase kind=things.example.com "
                        "object=default/%s %s",
                        ends[i].does, ends[i].reason);
        assert_int_equal(things_apply(scene, ends[i].does, ends[i].does), 201);
        UNTIL(scene, 20, !wharf_runs(scene));
        assert_int_equal(wharf_exit_code(scene), ends[i].exit_code);
        assert_int_equal(wharf_logged(scene, line), 1);
        assert_int_equal(marks(scene), i + 1 - FIRST_END);
        stage_start(scene);
        a_job_runs(scene, ends[i].does);
        UNTIL(scene, 20, stage_is_told(scene, ends[i].does, "AdapterFailed"));
    }
    assert_int_equal(wharf_logged(scene, "the process ends in an adapter"), ENDS - FIRST_END);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);
    assert_int_equal(marks(scene), ENDS - FIRST_END); // as the objects are what they were
}

static void a_mark_lasts_until_its_object_changes(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "one", "abort"), 201);
    UNTIL(scene, 20, !wharf_runs(scene));
    stage_start(scene);
    UNTIL(scene, 20, stage_is_told(scene, "one", "AdapterFailed"));
    assert_int_equal(marks(scene), 1);
    assert_int_equal(things_apply(scene, "one", "nothing"), 200);
    UNTIL(scene, 20, marks(scene) == 0);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);
    assert_int_equal(wharf_logged(scene, "the process ends in an adapter"), 1);
}

static void a_call_that_keeps_the_process_from_stopping_is_named(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "t", "spin"), 201);
    UNTIL(scene, 20, wharf_metric(scene, "wharf_engine_stalled_seconds") > 1);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "function=phase kind=things.example.com object=default/t reason=\"no result"),
                     1);
    assert_int_equal(marks(scene), 1);
    stage_start(scene);
    a_job_runs(scene, "after");
}

static void a_call_that_spends_seconds_ends_the_process(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "t", "spin"), 201);
    UNTIL(scene, 60, !wharf_runs(scene)); // 10 s of processor time
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "a call of an adapter does not return: exiting"), 1);
    assert_int_equal(wharf_logged(scene, "reason=\"no result after 10 s of processor time\""), 1);
    stage_start(scene);
    a_job_runs(scene, "after");
    UNTIL(scene, 20, stage_is_told(scene, "t", "AdapterFailed"));
}

static void a_process_without_its_descriptors_ends(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "t", "close"), 201);
    UNTIL(scene, 30, !wharf_runs(scene));
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "closed them: exiting"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_an_adapter_ended_leaves_a_mark_and_the_next_one_runs,
                                        things_open, things_drop),
        cmocka_unit_test_setup_teardown(a_mark_lasts_until_its_object_changes, things_open, things_drop),
        cmocka_unit_test_setup_teardown(a_call_that_keeps_the_process_from_stopping_is_named, things_open, things_drop),
        cmocka_unit_test_setup_teardown(a_call_that_spends_seconds_ends_the_process, things_open, things_drop),
        cmocka_unit_test_setup_teardown(a_process_without_its_descriptors_ends, things_open, things_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
