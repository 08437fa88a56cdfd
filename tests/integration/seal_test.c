// SPDX-License-Identifier: Apache-2.0
// The sources of seal keys, and a worker with a forged mirror.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FROM_SECRET "seal: {secret: {namespace: default, name: seals}}\nmirrorRetention: 60s\n"
#define LONG "\"world.test/duration\":\"600s\""
#define OURS "\"managedBy\":\"wharf.dev/host\","

static const char *seal_of(const struct json *object) {
    return json_string_or(json_path(object, "metadata", "annotations", "wharf.dev/seal", NULL), "");
}

static bool has_secret(struct scene *scene) {
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    const struct json *secret = world_object(management->cluster, "", "secrets", "default", "seals");
    bool has = json_string(json_path(secret, "data", "key", NULL));
    front_unlock(management->front);
    return has;
}

static bool is_sealed(struct scene *scene, const char *name) {
    AUTO_JSON mirror = scene_job(scene, 1, name);
    return *seal_of(mirror);
}

static void a_secret_is_made_once_and_seals_what_is_made(void **state) {
    struct scene *scene = *state = stage_open(2, true, FROM_SECRET);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_is_ready(scene));
    assert_true(has_secret(scene));
    stage_submit_with(scene, "sealed", LONG, OURS);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    size_t worker = (size_t)stage_worker_of(scene, "sealed"), other = 3 - worker;
    AUTO_JSON mirror = scene_job(scene, worker, "sealed");
    assert_int_equal(strlen(seal_of(mirror)), 76);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_is_ready(scene));
    // Somebody in the other worker copies it, with another attempt and a shorter life.
    AUTO_JSON copy = json_copy(mirror);
    json_remove(json_get(copy, "spec"), "selector");
    json_remove(json_path(copy, "spec", "template", NULL), "metadata");
    json_remove(copy, "status");
    struct json *annotations = json_path(copy, "metadata", "annotations", NULL);
    assert_true(json_set(annotations, "wharf.dev/attempt", json_new_string("7")));
    assert_true(json_set(annotations, "world.test/duration", json_new_string("1ms")));
    AUTO_TEXT text = json_text(copy, NULL);
    assert_int_equal(scene_apply(scene, other, "batch", "jobs", text), 201);
    AUTO_TEXT sample = text_format("wharf_foreign_objects_total{cluster=\"w%zu\"}", other);
    UNTIL(scene, 10, wharf_metric(scene, sample) > 0);
    UNTIL(scene, 10, stage_has_condition(scene, other, "sealed", "Complete"));
    assert_int_equal(stage_worker_of(scene, "sealed"), (int)worker);
    assert_int_equal(stage_attempt_of(scene, "sealed"), 1);
    assert_int_equal(stage_mirrors(scene), 2);
    assert_int_equal(stage_creates(scene, 1, 3), 2); // the mirror and the copy
    assert_false(stage_is_complete(scene, "sealed"));
}

static void without_the_right_to_the_secret_nothing_begins(void **state) {
    struct scene *scene = *state = stage_open(1, true, FROM_SECRET);
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    world_deny(management->cluster, "get", "secrets");
    front_unlock(management->front);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_logged(scene, "cannot be read or created, and the host does not start without it") == 1);
    stage_submit_with(scene, "waiting", LONG, OURS);
    assert_false(wharf_is_ready(scene));
    assert_int_equal(stage_mirrors(scene), 0);
}

static void a_key_file_is_created_and_must_be_private(void **state) {
    struct scene *scene = *state = stage_open(1, true, "seal: {file: seal.keys}\nmirrorRetention: 60s\n");
    AUTO_TEXT path = text_format("%s/seal.keys", scene->directory);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_is_ready(scene));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    stage_submit_with(scene, "sealed", LONG, OURS);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    AUTO_JSON mirror = scene_job(scene, 1, "sealed");
    assert_int_equal(strlen(seal_of(mirror)), 76);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, !wharf_runs(scene));
    assert_int_equal(wharf_exit_code(scene), EXIT_FAILURE);
    assert_true(wharf_logged(scene, "seal.file:") > 0);
    assert_true(wharf_logged(scene, "found mode 0644") > 0);
}

// What ran before there was a key, and an object that somebody else put beside it.
static void a_first_key_does_not_stop_what_runs(void **state) {
    static const char *const sources[] = {FROM_SECRET, "seal: {file: seal.keys}\n"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct scene *scene = *state = stage_run(1, true, "");
        stage_submit_held(scene, "early");
        UNTIL(scene, 10, stage_mirrors(scene) == 1);
        assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
        AUTO_JSON unsealed = scene_job(scene, 1, "early");
        assert_string_equal(seal_of(unsealed), "");
        assert_null(scene_configure(scene, "", sources[i]));
        assert_null(wharf_start(scene));
        UNTIL(scene, 10, wharf_is_ready(scene));
        UNTIL(scene, 10, is_sealed(scene, "early"));
        assert_int_equal(wharf_logged(scene, "mirrors without a seal, from before there was a key, are adopted"), 1);
        // The other replica, or the same one again, before it has seen all workers.
        assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
        assert_int_equal(scene_patch(scene, 1, "batch", "jobs", "early",
                                     "{\"metadata\":{\"annotations\":{\"wharf.dev/seal\":null}}}"),
                         200);
        assert_null(wharf_start(scene));
        UNTIL(scene, 10, wharf_is_ready(scene));
        UNTIL(scene, 10, is_sealed(scene, "early"));
        stage_let_end(scene);
        UNTIL(scene, 10, stage_is_complete(scene, "early"));
        assert_int_equal(stage_creates(scene, 1, 2), 1);
        scene_close(scene);
        *state = NULL;
    }
}

static void without_a_key_it_is_said_that_nothing_is_sealed(void **state) {
    struct scene *scene = *state = stage_run(1, true, "");
    assert_int_equal(wharf_logged(scene, "mirrors are not sealed"), 1);
    stage_submit_with(scene, "unsealed", LONG, OURS);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    AUTO_JSON mirror = scene_job(scene, 1, "unsealed");
    assert_string_equal(seal_of(mirror), "");
}

static int end(void **state) {
    if (*state)
        scene_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_secret_is_made_once_and_seals_what_is_made, end),
        cmocka_unit_test_teardown(without_the_right_to_the_secret_nothing_begins, end),
        cmocka_unit_test_teardown(a_key_file_is_created_and_must_be_private, end),
        cmocka_unit_test_teardown(a_first_key_does_not_stop_what_runs, end),
        cmocka_unit_test_teardown(without_a_key_it_is_said_that_nothing_is_sealed, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
