// SPDX-License-Identifier: Apache-2.0
// Workers where namespaces have other names, one of them the management cluster itself, and maps that change.
#include "tests/integration/stage.h"

#include "core/kube/object/object.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS "createNamespaces: true\nmirrorRetention: 0s\nworkerLostTimeout: 60s\n"
#define SELF "- {name: own, self: true, namespaces: {map: {\"*\": \"own-{namespace}\"}}}\n"

static void must(struct error *error) {
    if (error)
        print_error("%s\n", error_text(error));
    assert_null(error);
}

static void map_worker(struct scene *scene, size_t cluster, const char *rule) {
    char *settings = scene->clusters[cluster].settings;
    snprintf(settings, sizeof scene->clusters[cluster].settings, "namespaces: {map: {%s}}", rule);
}

// Jobs of the cluster in the namespace.
static size_t jobs_in(struct scene *scene, size_t cluster, const char *namespace_) {
    const void *cursor = NULL;
    size_t count = 0;
    front_lock(scene->clusters[cluster].front);
    for (const struct json *job; (job = world_next(scene->clusters[cluster].cluster, "batch", "jobs", &cursor));)
        count += strcmp(object_namespace(job), namespace_) == 0;
    front_unlock(scene->clusters[cluster].front);
    return count;
}

static bool page_has(struct scene *scene, const char *name, const char *text) {
    AUTO_TEXT path = text_format("/api/v1/workloads/jobs.batch/default/%s", name);
    return stage_page_has(scene, path, text);
}

static bool has_mark(struct scene *scene, const char *name) {
    front_lock(scene->clusters[1].front);
    const struct json *job = world_object(scene->clusters[1].cluster, "batch", "jobs", "scene-default", name);
    bool has = text_equal(object_annotation(job, "wharf.dev/namespace"), "default");
    front_unlock(scene->clusters[1].front);
    return has;
}

static void workloads_run_under_other_names_and_are_known_by_their_own(void **state) {
    (void)state;
    struct scene *scene = stage_open(3, false, SETTINGS);
    map_worker(scene, 1, "\"*\": \"{origin}-{namespace}\"");
    map_worker(scene, 2, "default: team");
    must(scene_configure(scene, SELF, SETTINGS));
    stage_start(scene);
    UNTIL(scene, 10,
          stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2") && stage_takes_work(scene, "w3") &&
              stage_takes_work(scene, "own"));
    stage_submit_many_held(scene, "job", 12);
    UNTIL(scene, 20,
          jobs_in(scene, 1, "scene-default") == 3 && jobs_in(scene, 2, "team") == 3 &&
              jobs_in(scene, 3, "default") == 3 && jobs_in(scene, 0, "own-default") == 3);
    assert_int_equal(jobs_in(scene, 0, "default"), 12);
    assert_int_equal(stage_mirrors(scene), 9);
    size_t shown = 0;
    for (size_t i = 0; i < 12; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        shown += page_has(scene, name, "\"namespace\":\"scene-default\"") && has_mark(scene, name);
        shown +=
            page_has(scene, name, "\"namespace\":\"team\"") || page_has(scene, name, "\"namespace\":\"own-default\"");
    }
    assert_int_equal(shown, 9);
    stage_let_end(scene);
    UNTIL(scene, 20,
          stage_complete(scene, "job") == 12 && stage_mirrors(scene) == 0 && jobs_in(scene, 0, "own-default") == 0);
    assert_int_equal(stage_creates(scene, 1, 4), 9 + 2); // each ran once; and two namespaces
    assert_int_equal(jobs_in(scene, 0, "default"), 12);
    stage_close(scene);
}

static void a_workload_of_a_namespace_without_a_name_waits(void **state) {
    (void)state;
    struct scene *scene = stage_open(1, false, SETTINGS);
    map_worker(scene, 1, "other: default");
    must(scene_configure(scene, "", SETTINGS));
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    stage_submit(scene, "job");
    UNTIL(scene, 10,
          page_has(scene, "job", "gives namespace default the name default, which is that of namespace other"));
    assert_int_equal(scene_jobs(scene, 1), 0);
    stage_close(scene);
}

static void end_under_the_former_name(struct scene *scene) {
    UNTIL(scene, 10, wharf_logged(scene, "namespaces.map of the worker has changed") == 1);
    stage_submit_held(scene, "late");
    UNTIL(scene, 10, page_has(scene, "late", "cordoned"));
    assert_int_equal(jobs_in(scene, 1, "first"), 2);
    assert_int_equal(jobs_in(scene, 1, "second"), 0);
    stage_let_end(scene);
    UNTIL(scene, 20, stage_complete(scene, "job") == 2);
    UNTIL(scene, 20, stage_is_complete(scene, "late") && stage_mirrors(scene) == 0);
    assert_int_equal(wharf_logged(scene, "the new namespaces.map of the worker applies"), 1);
    assert_int_equal(stage_creates(scene, 1, 2), 3 + 2);
}

static bool is_in_second(const struct world_write *write) {
    return write->verb == WORLD_CREATE && write->status == 201 && strcmp(write->plural, "jobs") == 0 &&
           strcmp(write->namespace_, "second") == 0;
}

static void count_second(void *ctx, const struct world_write *write) {
    size_t *count = ctx;
    *count += is_in_second(write);
}

// The host's, for its records.
static void add_own_namespace(struct scene *scene) {
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"wharf-system\"}}";
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "", "namespaces", text), 201);
}

static bool is_recorded(struct scene *scene, const char *worker, const char *names) {
    AUTO_TEXT key = text_format("known.wharf.dev/%s", worker);
    front_lock(scene->clusters[0].front);
    const struct json *map =
        world_object(scene->clusters[0].cluster, "", "configmaps", "wharf-system", "wharf-workers");
    const char *record = object_annotation(map, key);
    bool recorded = record && strstr(record, names);
    front_unlock(scene->clusters[0].front);
    return recorded;
}

static void check_changed_map(bool restarts) {
    size_t in_second = 0;
    struct scene *scene = stage_open(1, false, SETTINGS);
    map_worker(scene, 1, "default: first");
    must(scene_configure(scene, "", SETTINGS));
    add_own_namespace(scene);
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    stage_submit_many_held(scene, "job", 2);
    UNTIL(scene, 10, jobs_in(scene, 1, "first") == 2);
    front_lock(scene->clusters[1].front);
    world_set_hook(scene->clusters[1].cluster, count_second, &in_second);
    front_unlock(scene->clusters[1].front);
    if (restarts) {
        UNTIL(scene, 10, is_recorded(scene, "w1", " names=default=first"));
        assert_true(wharf_end(scene, SIGKILL, STAGE_END_NS));
    }
    map_worker(scene, 1, "default: second");
    must(scene_configure(scene, "", SETTINGS));
    if (restarts)
        stage_start(scene);
    end_under_the_former_name(scene);
    front_lock(scene->clusters[1].front);
    world_set_hook(scene->clusters[1].cluster, NULL, NULL);
    front_unlock(scene->clusters[1].front);
    assert_int_equal(in_second, 1);
    stage_close(scene);
}

static void a_changed_map_waits_for_the_end_of_the_mirrors(void **state) {
    (void)state;
    check_changed_map(false);
}

static void a_map_that_was_changed_while_no_host_ran_waits_too(void **state) {
    (void)state;
    check_changed_map(true);
}

// Threads of wharf with this name: one for each connection to the worker.
static size_t count_threads(const struct scene *scene, const char *name) {
    AUTO_TEXT folder = text_format("/proc/%d/task", (int)scene->child);
    size_t count = 0;
    DIR *tasks = opendir(folder);
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        AUTO_TEXT path = text_format("%s/%s/comm", folder, task->d_name);
        AUTO_BUFFER(comm, 64);
        error_free(text_read_file(path, comm.max, &comm));
        count += comm.len == strlen(name) + 1 && strncmp(comm.data, name, strlen(name)) == 0;
    }
    if (tasks)
        closedir(tasks);
    return count;
}

// Also in workers that no host has used with a map before.
static void an_unused_worker_gets_its_new_names_at_once(void **state) {
    (void)state;
    struct scene *scene = stage_open(2, false, SETTINGS);
    add_own_namespace(scene);
    stage_start(scene);
    UNTIL(scene, 10, is_recorded(scene, "w1", "") && is_recorded(scene, "w2", ""));
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    map_worker(scene, 1, "default: first");
    map_worker(scene, 2, "default: second");
    must(scene_configure(scene, "", SETTINGS));
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    UNTIL(scene, 10, count_threads(scene, "w1") == 1 && count_threads(scene, "w2") == 1);
    stage_submit_many_held(scene, "job", 2);
    UNTIL(scene, 10, jobs_in(scene, 1, "first") == 1 && jobs_in(scene, 2, "second") == 1);
    UNTIL(scene, 10,
          is_recorded(scene, "w1", " names=default=first") && is_recorded(scene, "w2", " names=default=second"));
    assert_true(wharf_end(scene, SIGKILL, STAGE_END_NS)); // the same map is no change
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    assert_int_equal(wharf_logged(scene, "namespaces.map of the worker has changed"), 2);
    map_worker(scene, 2, "default: third"); // while the other worker is in use
    map_worker(scene, 1, "default: third");
    must(scene_configure(scene, "", SETTINGS));
    UNTIL(scene, 10, wharf_logged(scene, "namespaces.map of the worker has changed") == 4);
    stage_let_end(scene);
    UNTIL(scene, 20, stage_complete(scene, "job") == 2 && stage_mirrors(scene) == 0);
    UNTIL(scene, 10,
          is_recorded(scene, "w1", " names=default=third") && is_recorded(scene, "w2", " names=default=third"));
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workloads_run_under_other_names_and_are_known_by_their_own),
        cmocka_unit_test(a_workload_of_a_namespace_without_a_name_waits),
        cmocka_unit_test(a_changed_map_waits_for_the_end_of_the_mirrors),
        cmocka_unit_test(a_map_that_was_changed_while_no_host_ran_waits_too),
        cmocka_unit_test(an_unused_worker_gets_its_new_names_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
