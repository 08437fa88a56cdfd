// SPDX-License-Identifier: Apache-2.0
// Kinds that are not served everywhere, and those that another controller may own. MPIJobs, whose controller is this
// test.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP "kubeflow.org"
#define PLURAL "mpijobs"
#define KUEUE "kueue.x-k8s.io"

static const struct world_kind mpi_job = {.group = GROUP, .versions = {"v2beta1"}, .plural = PLURAL, .kind = "MPIJob"};
static const struct world_kind old_mpi_job = {.group = GROUP, .versions = {"v1"}, .plural = PLURAL, .kind = "MPIJob"};
static const struct world_kind kueue_workload = {
    .group = KUEUE, .versions = {"v1beta1"}, .plural = "workloads", .kind = "Workload"};

static const struct world_kind admission_check = {.group = KUEUE,
                                                  .versions = {"v1beta1"},
                                                  .plural = "admissionchecks",
                                                  .kind = "AdmissionCheck",
                                                  .cluster_scoped = true};

static void install(struct scene *scene, size_t cluster, const struct world_kind *kind) {
    front_lock(scene->clusters[cluster].front);
    bool done = world_register(scene->clusters[cluster].cluster, kind);
    front_unlock(scene->clusters[cluster].front);
    assert_true(done);
}

static void submit(struct scene *scene, const char *name, const char *labels) {
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"kubeflow.org/v2beta1\",\"kind\":\"MPIJob\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\",\"labels\":{%s}},\"spec\":{\"runPolicy\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"}}}",
        name, labels);
    assert_non_null(text);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, GROUP, PLURAL, text), 201);
}

static void submit_many(struct scene *scene, const char *prefix, size_t count) {
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("%s%zu", prefix, i);
        submit(scene, name, "");
    }
}

static size_t count(struct scene *scene, size_t cluster) {
    front_lock(scene->clusters[cluster].front);
    size_t n = world_count(scene->clusters[cluster].cluster, GROUP, PLURAL);
    front_unlock(scene->clusters[cluster].front);
    return n;
}

static char *uid_of(struct scene *scene, const char *name) {
    front_lock(scene->clusters[0].front);
    const struct json *object = world_object(scene->clusters[0].cluster, GROUP, PLURAL, "default", name);
    char *uid = strdup(json_string_or(json_path(object, "metadata", "uid", NULL), ""));
    front_unlock(scene->clusters[0].front);
    return uid;
}

// The configuration of the scene, with one adapter more.
static void enable(struct scene *scene) {
    AUTO_TEXT path = text_format("%s/wharf.yaml", scene->directory);
    FILE *file = path ? fopen(path, "r") : NULL;
    char *text = NULL;
    size_t size = 0;
    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    fclose(file);
    char *at = strstr(text, "  - name: job\n");
    assert_non_null(at);
    AUTO_TEXT more = text_format("%.*s  - name: mpijob\n%s", (int)(at - text), text, at);
    assert_null(scene_write(scene, "wharf.yaml", more));
    free(text);
}

static int open_two(void **state) {
    struct scene *scene = stage_open(2, true, "mirrorRetention: 0s\n");
    enable(scene);
    *state = scene;
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

static void start(struct scene *scene) {
    struct error *error = wharf_start(scene);
    if (error)
        print_error("%s\n", error_text(error));
    assert_null(error);
    UNTIL(scene, 15,
          stage_is_connected(scene, "management") && stage_is_connected(scene, "w1") &&
              stage_is_connected(scene, "w2"));
}

static void a_kind_is_used_where_it_is_served_and_as_soon_as_it_is(void **state) {
    struct scene *scene = *state;
    install(scene, 2, &mpi_job);
    start(scene);
    stage_submit_many(scene, "job", 6); // the other kinds are not affected
    UNTIL(scene, 10, stage_complete(scene, "job") == 6);
    install(scene, SCENE_MANAGEMENT, &mpi_job);
    submit_many(scene, "early", 4);
    UNTIL(scene, 60, count(scene, 2) == 4);
    install(scene, 1, &mpi_job);
    // The worker with the fewest workloads is next; which of these are placed there first depends on when it is
    // discovered.
    for (size_t i = 0; count(scene, 1) == 0; i++) {
        AUTO_TEXT name = text_format("late%zu", i);
        submit(scene, name, "");
        UNTIL(scene, 15, count(scene, 1) + count(scene, 2) == 5 + i);
        assert_true(i < 1000);
        usleep(100000);
    }
}

static void a_worker_that_serves_another_version_is_not_used(void **state) {
    struct scene *scene = *state;
    install(scene, SCENE_MANAGEMENT, &old_mpi_job);
    install(scene, 1, &old_mpi_job);
    install(scene, 2, &mpi_job);
    start(scene);
    submit_many(scene, "job", 4);
    UNTIL(scene, 15, count(scene, 1) == 4);
    assert_int_equal(count(scene, 2), 0);
}

static void own(struct scene *scene, const char *name, const char *uid, const char *owner) {
    AUTO_TEXT text =
        text_format("{\"apiVersion\":\"" KUEUE "/v1beta1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\","
                    "\"namespace\":\"default\",\"labels\":{\"" KUEUE "/job-uid\":\"%s\"},"
                    "\"ownerReferences\":[{\"apiVersion\":\"kubeflow.org/v2beta1\",\"kind\":\"MPIJob\","
                    "\"name\":\"x\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{}}",
                    name, uid, owner);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, KUEUE, "workloads", text), 201);
}

#define QUEUED "\"kueue.x-k8s.io/queue-name\":\"q\""

static void check_with(struct scene *scene, const char *check, const char *controller, const char *workload) {
    AUTO_TEXT text = text_format("{\"apiVersion\":\"" KUEUE "/v1beta1\",\"kind\":\"AdmissionCheck\",\"metadata\":{"
                                 "\"name\":\"%s\"},\"spec\":{\"controllerName\":\"%s\"}}",
                                 check, controller);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, KUEUE, "admissionchecks", text), 201);
    AUTO_TEXT patch = text_format("{\"status\":{\"admissionChecks\":[{\"name\":\"%s\",\"state\":\"Ready\"}]}}", check);
    front_lock(scene->clusters[0].front);
    int status = world_patch(scene->clusters[0].cluster, KUEUE, "workloads", "default", workload, "status", patch,
                             front_now_ns());
    front_unlock(scene->clusters[0].front);
    assert_int_equal(status, 200);
}

static void what_multikueue_owns_is_left_alone_and_nothing_else(void **state) {
    struct scene *scene = *state;
    for (size_t c = 0; c < 3; c++)
        install(scene, c, &mpi_job);
    install(scene, SCENE_MANAGEMENT, &kueue_workload);
    install(scene, SCENE_MANAGEMENT, &admission_check);
    submit(scene, "owned", QUEUED);
    submit(scene, "admitted", QUEUED);
    submit(scene, "budgeted", QUEUED);
    submit(scene, "not-owned", QUEUED);
    submit(scene, "not-queued", "");
    AUTO_TEXT owned = uid_of(scene, "owned");
    AUTO_TEXT admitted = uid_of(scene, "admitted");
    AUTO_TEXT budgeted = uid_of(scene, "budgeted");
    AUTO_TEXT other = uid_of(scene, "not-owned");
    own(scene, "w-1", owned, owned);
    own(scene, "w-3", admitted, admitted);
    own(scene, "w-4", budgeted, budgeted);
    check_with(scene, "multi", "kueue.x-k8s.io/multikueue", "w-1");
    check_with(scene, "budget", "example.com/budget", "w-4");
    own(scene, "w-2", other, "another-uid"); // has the label, but is for another object
    start(scene);
    UNTIL(scene, 15, stage_is_told(scene, "owned", "OwnedByKueue") && count(scene, 1) + count(scene, 2) == 4);
    front_lock(scene->clusters[0].front);
    const struct json *left = world_object(scene->clusters[0].cluster, GROUP, PLURAL, "default", "owned");
    bool untouched = !json_path(left, "metadata", "annotations", "wharf.dev/cluster", NULL);
    front_unlock(scene->clusters[0].front);
    assert_true(untouched);
    assert_false(stage_is_told(scene, "not-owned", "OwnedByKueue"));
}

static void where_kueue_cannot_be_asked_a_queued_object_waits_and_others_do_not(void **state) {
    struct scene *scene = *state;
    for (size_t c = 0; c < 3; c++)
        install(scene, c, &mpi_job);
    install(scene, SCENE_MANAGEMENT, &kueue_workload);
    front_lock(scene->clusters[0].front);
    world_deny(scene->clusters[0].cluster, "list", "workloads." KUEUE);
    front_unlock(scene->clusters[0].front);
    submit(scene, "queued", QUEUED);
    submit(scene, "plain", "");
    start(scene);
    UNTIL(scene, 15, stage_is_told(scene, "queued", "Forbidden") && count(scene, 1) + count(scene, 2) == 1);
    front_lock(scene->clusters[0].front);
    world_allow_all(scene->clusters[0].cluster);
    front_unlock(scene->clusters[0].front);
    UNTIL(scene, 30, count(scene, 1) + count(scene, 2) == 2);
}

static void a_cluster_without_kueue_has_nothing_of_it(void **state) {
    struct scene *scene = *state;
    for (size_t c = 0; c < 3; c++)
        install(scene, c, &mpi_job);
    start(scene);
    submit(scene, "queued", QUEUED);
    UNTIL(scene, 15, count(scene, 1) + count(scene, 2) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kind_is_used_where_it_is_served_and_as_soon_as_it_is, open_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_serves_another_version_is_not_used, open_two, end),
        cmocka_unit_test_setup_teardown(what_multikueue_owns_is_left_alone_and_nothing_else, open_two, end),
        cmocka_unit_test_setup_teardown(where_kueue_cannot_be_asked_a_queued_object_waits_and_others_do_not, open_two,
                                        end),
        cmocka_unit_test_setup_teardown(a_cluster_without_kueue_has_nothing_of_it, open_two, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
