// SPDX-License-Identifier: Apache-2.0
// The life of a Job between clusters that are connected by TLS with client certificates.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OURS "\"managedBy\":\"wharf.dev/host\","

static int run(void **state) {
    *state = stage_run(2, false, "mirrorRetention: 1s\n");
    return 0;
}

static int run_retaining(void **state) {
    *state = stage_run(2, false, "mirrorRetention: 1h\n");
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

static struct world_counts counts_of(struct scene *scene, size_t cluster) {
    front_lock(scene->clusters[cluster].front);
    struct world_counts counts = *world_counts(scene->clusters[cluster].cluster);
    front_unlock(scene->clusters[cluster].front);
    return counts;
}

static void a_job_runs_in_a_worker_and_leaves_nothing_but_its_status(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "whole", "", OURS "\"parallelism\":2,\"completions\":2,\"ttlSecondsAfterFinished\":3600,");
    UNTIL(scene, 10, stage_worker_of(scene, "whole") > 0 && stage_mirrors(scene) == 1);
    size_t worker = (size_t)stage_worker_of(scene, "whole");
    AUTO_JSON workload = scene_job(scene, SCENE_MANAGEMENT, "whole");
    AUTO_JSON mirror = scene_job(scene, worker, "whole");
    const struct json *labels = json_path(mirror, "metadata", "labels", NULL);
    assert_string_equal(json_string_or(json_get(labels, "wharf.dev/origin"), ""), SCENE_ORIGIN);
    assert_string_equal(json_string_or(json_get(labels, "wharf.dev/kind"), ""), "jobs.batch");
    assert_string_equal(json_string_or(json_get(labels, "wharf.dev/uid"), ""),
                        json_string_or(json_path(workload, "metadata", "uid", NULL), "no uid"));
    assert_null(json_path(mirror, "spec", "managedBy", NULL));
    assert_null(json_path(mirror, "spec", "ttlSecondsAfterFinished", NULL));
    UNTIL(scene, 10, stage_has_condition(scene, worker, "whole", "Complete"));
    AUTO_JSON ended = scene_job(scene, worker, "whole");
    UNTIL(scene, 10, stage_is_complete(scene, "whole"));
    AUTO_JSON copied = scene_job(scene, SCENE_MANAGEMENT, "whole");
    json_remove(json_get(ended, "status"), "uncountedTerminatedPods"); // uids that are meaningful there only
    AUTO_TEXT here = json_text(json_get(copied, "status"), NULL);
    AUTO_TEXT there = json_text(json_get(ended, "status"), NULL);
    if (!json_equal(json_get(copied, "status"), json_get(ended, "status")))
        fail_msg("%s is not %s", here, there);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS)); // now that the mirror was looked at
    assert_null(scene_configure(scene, "", "mirrorRetention: 1s\n"));
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
    AUTO_JSON left = scene_job(scene, SCENE_MANAGEMENT, "whole");
    assert_true(json_equal(json_get(left, "status"), json_get(copied, "status")));
}

static void a_job_costs_three_writes_and_one_for_each_status_change(void **state) {
    struct scene *scene = *state;
    struct world_counts management = counts_of(scene, SCENE_MANAGEMENT), before[3];
    for (size_t i = 1; i <= 2; i++)
        before[i] = counts_of(scene, i);
    stage_submit_with(scene, "counted", "\"world.test/changes\":\"6\"", OURS);
    UNTIL(scene, 10, stage_is_complete(scene, "counted") && stage_mirrors(scene) == 0);
    struct world_counts now = counts_of(scene, SCENE_MANAGEMENT);
    uint64_t changes = 0, creates = 0, deletes = 0, updates = 0;
    for (size_t i = 1; i <= 2; i++) {
        struct world_counts there = counts_of(scene, i);
        changes += there.internal[WORLD_UPDATE_STATUS] - before[i].internal[WORLD_UPDATE_STATUS];
        creates += there.writes[WORLD_CREATE] - before[i].writes[WORLD_CREATE];
        deletes += there.writes[WORLD_DELETE] - before[i].writes[WORLD_DELETE];
        updates += there.writes[WORLD_UPDATE] - before[i].writes[WORLD_UPDATE];
    }
    assert_int_equal(changes, 6);
    assert_int_equal(creates, 1);
    assert_int_equal(deletes, 1);
    assert_int_equal(updates, 0);
    // Changes that come faster than a patch is answered are copied together.
    uint64_t patches = now.writes[WORLD_UPDATE_STATUS] - management.writes[WORLD_UPDATE_STATUS];
    assert_in_range(patches, 1, 6);
    assert_int_equal(now.writes[WORLD_UPDATE] - management.writes[WORLD_UPDATE], 1);
    assert_int_equal(now.noops, management.noops);
    assert_in_range(now.events - management.events, 0, 2); // Dispatched, Finished
}

static void a_job_that_fails_is_told_as_failed(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "failing", "\"world.test/fail\":\"all\"", OURS "\"backoffLimit\":0,");
    UNTIL(scene, 10, stage_has_condition(scene, SCENE_MANAGEMENT, "failing", "Failed"));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void a_suspended_job_is_placed_when_it_is_resumed(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "waiting", "", OURS "\"suspend\":true,");
    UNTIL(scene, 10, stage_has_condition(scene, SCENE_MANAGEMENT, "waiting", "Suspended"));
    assert_int_equal(stage_worker_of(scene, "waiting"), 0);
    assert_int_equal(stage_mirrors(scene), 0);
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "batch", "jobs", "waiting", "{\"spec\":{\"suspend\":false}}"),
                     200);
    UNTIL(scene, 10, stage_is_complete(scene, "waiting"));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void a_deleted_job_takes_its_mirror_with_it(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "deleted", "\"world.test/duration\":\"60s\"", OURS);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "batch", "jobs", "deleted"), 200);
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void a_mirror_deleted_by_hand_is_made_again(void **state) {
    struct scene *scene = *state;
    stage_submit_held(scene, "again");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    size_t worker = (size_t)stage_worker_of(scene, "again");
    assert_int_equal(scene_delete(scene, worker, "batch", "jobs", "again"), 200);
    UNTIL(scene, 10, stage_attempt_of(scene, "again") == 2);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_is_complete(scene, "again"));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void jobs_of_others_are_not_touched(void **state) {
    static const struct {
        const char *name, *spec;
    } cases[] = {
        {"unset", ""},
        {"builtin", "\"managedBy\":\"kubernetes.io/job-controller\","},
        {"other", "\"managedBy\":\"example.com/controller\","},
        {"longer", "\"managedBy\":\"wharf.dev/host2\","},
        {"shorter", "\"managedBy\":\"wharf.dev/hos\","},
        {"upper", "\"managedBy\":\"wharf.dev/Host\","},
    };
    struct scene *scene = *state;
    uint64_t before = counts_of(scene, SCENE_MANAGEMENT).events;
    double tracked = wharf_metric(scene, "wharf_tracked_objects");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        stage_submit_with(scene, cases[i].name, "", cases[i].spec);
    stage_submit(scene, "ours"); // comes after them in every watch
    UNTIL(scene, 10, stage_is_complete(scene, "ours") && stage_mirrors(scene) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON job = scene_job(scene, SCENE_MANAGEMENT, cases[i].name);
        assert_int_equal(stage_worker_of(scene, cases[i].name), 0);
        bool runs_here = i < 2;
        assert_int_equal(json_size(json_get(job, "status")) > 0, runs_here);
    }
    assert_true(counts_of(scene, SCENE_MANAGEMENT).events <= before + 2); // Dispatched, Finished
    UNTIL(scene, 5, wharf_metric(scene, "wharf_tracked_objects") == tracked + 1);
}

// Names are DNS-1123 subdomains of up to 253 characters. The Job controller's labels are limited to 63, so that a
// longer name requires a manual selector.
static void a_name_of_253_characters_is_carried_as_it_is(void **state) {
    struct scene *scene = *state;
    char name[254] = "";
    for (size_t i = 0; i < 253; i++)
        name[i] = i % 50 == 49 ? '.' : "abcdefghij"[i % 10];
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
        "\"spec\":{" OURS "\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"job\":\"x\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"job\":\"x\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
        "{\"name\":\"main\",\"image\":\"registry.example/task:1\"}]}}}}",
        name);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "batch", "jobs", text), 201);
    UNTIL(scene, 10, stage_is_complete(scene, name));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
    assert_int_equal(stage_attempt_of(scene, name), 1);
}

static void a_cluster_in_the_annotations_that_does_not_exist_is_waited_for_as_a_lost_one(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "moved", "\"wharf.dev/cluster\":\"nowhere\",\"wharf.dev/attempt\":\"1\"", OURS);
    stage_submit(scene, "after");
    UNTIL(scene, 10, stage_is_complete(scene, "after"));
    assert_int_equal(stage_worker_of(scene, "moved"), -1); // workerLostTimeout is 15 min here
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "batch", "jobs", "moved",
                                 "{\"metadata\":{\"annotations\":{\"wharf.dev/cluster\":null,"
                                 "\"wharf.dev/attempt\":null}}}"),
                     200);
    // That does not shorten the wait: nobody knows that the cluster is not one that was removed.
    stage_submit(scene, "later");
    UNTIL(scene, 10, stage_is_complete(scene, "later"));
    for (size_t i = 1; i <= 2; i++) {
        AUTO_JSON mirror = scene_job(scene, i, "moved");
        assert_null(mirror);
    }
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_null(scene_configure(scene, "", "mirrorRetention: 1s\nworkerLostTimeout: 1s\n"));
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, stage_is_complete(scene, "moved"));
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void a_value_of_managed_by_that_changes_on_the_way_ends_the_mirror(void **state) {
    struct scene *scene = *state;
    stage_submit_with(scene, "given-away", "\"world.test/duration\":\"60s\"", OURS);
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    // The field of a Job is immutable: it changes when the Job is replaced by one of the same name.
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "batch", "jobs", "given-away"), 200);
    stage_submit_with(scene, "given-away", "", "\"managedBy\":\"example.com/controller\",");
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
    assert_int_equal(stage_worker_of(scene, "given-away"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_runs_in_a_worker_and_leaves_nothing_but_its_status, run_retaining, end),
        cmocka_unit_test(a_job_costs_three_writes_and_one_for_each_status_change),
        cmocka_unit_test(a_job_that_fails_is_told_as_failed),
        cmocka_unit_test(a_suspended_job_is_placed_when_it_is_resumed),
        cmocka_unit_test(a_deleted_job_takes_its_mirror_with_it),
        cmocka_unit_test(a_mirror_deleted_by_hand_is_made_again),
        cmocka_unit_test(jobs_of_others_are_not_touched),
        cmocka_unit_test(a_name_of_253_characters_is_carried_as_it_is),
        cmocka_unit_test_setup_teardown(a_cluster_in_the_annotations_that_does_not_exist_is_waited_for_as_a_lost_one,
                                        run, end),
        cmocka_unit_test(a_value_of_managed_by_that_changes_on_the_way_ends_the_mirror),
    };
    return cmocka_run_group_tests(tests, run, end);
}
