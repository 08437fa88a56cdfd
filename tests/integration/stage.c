// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READY_S 15

int64_t stage_deadline_ns(int64_t seconds) {
    return clock_now().mono_ns + seconds * STAGE_SLOW * CLOCK_SECOND;
}

void stage_wait(struct scene *scene, int64_t looked_ns, int64_t until_ns, const char *condition, const char *file,
                int line) {
    if (looked_ns < until_ns) {
        usleep(10000);
        return;
    }
    wharf_print_log(scene, 40, stderr);
    print_error("not in time: %s\n", condition);
    _fail(file, line);
}

// A failure here is one of a setup, after which no teardown runs.
static void check(struct scene *scene, struct error *error) {
    if (!error)
        return;
    print_error("%s\n", error_text(error));
    error_free(error);
    scene_close(scene);
    fail();
}

struct scene *stage_open(size_t workers, bool plain, const char *settings) {
    struct scene_options options = {.workers = workers,
                                    .plain = plain,
                                    .world = {.seed = 1,
                                              .managed_fields = true,
                                              .controller_delay_ns = 20 * CLOCK_MS,
                                              .pod_start_ns = 40 * CLOCK_MS,
                                              .pod_run_ns = 200 * CLOCK_MS}};
    struct scene *scene = NULL;
    check(NULL, scene_open(&options, &scene));
    check(scene, scene_configure(scene, "", settings));
    return scene;
}

struct scene *stage_run(size_t workers, bool plain, const char *settings) {
    struct scene *scene = stage_open(workers, plain, settings);
    check(scene, wharf_start(scene));
    UNTIL(scene, READY_S, wharf_is_ready(scene));
    return scene;
}

void stage_start(struct scene *scene) {
    struct error *error = wharf_start(scene);
    if (error)
        fail_msg("%s", error_text(error));
    UNTIL(scene, READY_S, wharf_is_ready(scene));
}

void stage_close(struct scene *scene) {
    bool ended = wharf_end(scene, SIGTERM, STAGE_END_NS);
    if (!ended || wharf_exit_code(scene) != 0)
        wharf_print_log(scene, 40, stderr);
    int code = ended ? wharf_exit_code(scene) : -1;
    uint64_t invalid = 0;
    for (size_t i = 0; i < scene->count; i++) {
        front_lock(scene->clusters[i].front);
        invalid += world_counts(scene->clusters[i].cluster)->refused[422];
        front_unlock(scene->clusters[i].front);
    }
    scene_close(scene);
    assert_int_equal(code, 0);
    assert_int_equal(invalid, 0);
}

void stage_submit_with(struct scene *scene, const char *name, const char *annotations, const char *spec) {
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
        "\"annotations\":{%s}},\"spec\":{%s\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/task:1\"}]}}}}",
        name, annotations, spec);
    assert_non_null(text);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "batch", "jobs", text), 201);
}

void stage_submit(struct scene *scene, const char *name) {
    stage_submit_with(scene, name, "", "\"managedBy\":\"wharf.dev/host\",");
}

void stage_submit_held(struct scene *scene, const char *name) {
    stage_submit_with(scene, name, "\"world.test/hold\":\"true\"", "\"managedBy\":\"wharf.dev/host\",");
}

static void let(struct scene *scene, bool end) {
    for (size_t i = 0; i < scene->count; i++) {
        front_lock(scene->clusters[i].front);
        world_let_end(scene->clusters[i].cluster, end, front_now_ns());
        front_unlock(scene->clusters[i].front);
    }
}

void stage_let_end(struct scene *scene) {
    let(scene, true);
}

void stage_hold(struct scene *scene) {
    let(scene, false);
}

static void submit_each(struct scene *scene, const char *prefix, size_t count,
                        void (*submit)(struct scene *scene, const char *name)) {
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("%s%zu", prefix, i);
        assert_non_null(name);
        submit(scene, name);
    }
}

void stage_submit_many(struct scene *scene, const char *prefix, size_t count) {
    submit_each(scene, prefix, count, stage_submit);
}

void stage_submit_many_held(struct scene *scene, const char *prefix, size_t count) {
    submit_each(scene, prefix, count, stage_submit_held);
}

bool stage_has_condition(struct scene *scene, size_t cluster, const char *name, const char *type) {
    AUTO_JSON job = scene_job(scene, cluster, name);
    for (const struct json *item = json_first(json_path(job, "status", "conditions", NULL)); item;
         item = json_next(item))
        if (text_equal(json_string(json_get(item, "type")), type) &&
            text_equal(json_string(json_get(item, "status")), "True"))
            return true;
    return false;
}

bool stage_is_complete(struct scene *scene, const char *name) {
    return stage_has_condition(scene, SCENE_MANAGEMENT, name, "Complete");
}

size_t stage_complete(struct scene *scene, const char *prefix) {
    size_t complete = 0;
    for (size_t i = 0;; i++) {
        AUTO_TEXT name = text_format("%s%zu", prefix, i);
        AUTO_JSON job = name ? scene_job(scene, SCENE_MANAGEMENT, name) : NULL;
        if (!job)
            return complete;
        complete += stage_is_complete(scene, name);
    }
}

static char *annotation(struct scene *scene, const char *name, const char *key) {
    AUTO_JSON job = scene_job(scene, SCENE_MANAGEMENT, name);
    const char *text = json_string(json_path(job, "metadata", "annotations", key, NULL));
    return text ? strdup(text) : NULL;
}

int stage_worker_of(struct scene *scene, const char *name) {
    AUTO_TEXT cluster = annotation(scene, name, "wharf.dev/cluster");
    if (!cluster)
        return 0;
    for (size_t i = 1; i < scene->count; i++)
        if (strcmp(scene->clusters[i].name, cluster) == 0)
            return (int)i;
    return -1;
}

bool stage_is_told(struct scene *scene, const char *name, const char *reason) {
    bool found = false;
    const void *cursor = NULL;
    const struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    for (const struct json *e; !found && (e = world_next(management->cluster, "events.k8s.io", "events", &cursor));)
        found = text_equal(json_string(json_get(e, "reason")), reason) &&
                text_equal(json_string(json_path(e, "regarding", "name", NULL)), name);
    front_unlock(management->front);
    return found;
}

int64_t stage_attempt_of(struct scene *scene, const char *name) {
    AUTO_TEXT attempt = annotation(scene, name, "wharf.dev/attempt");
    return attempt ? strtoll(attempt, NULL, 10) : 0;
}

size_t stage_mirrors(struct scene *scene) {
    size_t count = 0;
    for (size_t i = 1; i < scene->count; i++)
        count += scene_jobs(scene, i);
    return count;
}

uint64_t stage_creates(struct scene *scene, size_t from, size_t end) {
    uint64_t count = 0;
    for (size_t i = from; i < end; i++) {
        front_lock(scene->clusters[i].front);
        count += world_counts(scene->clusters[i].cluster)->writes[WORLD_CREATE];
        front_unlock(scene->clusters[i].front);
    }
    return count;
}

bool stage_is_connected(struct scene *scene, const char *cluster) {
    AUTO_TEXT sample =
        text_format("wharf_watch_state{cluster=\"%s\",kind=\"jobs.batch\",state=\"connected\"}", cluster);
    return sample && wharf_metric(scene, sample) == 1;
}

// It gets new work: later than it is connected, as it is identified and in good contact then.
bool stage_takes_work(struct scene *scene, const char *worker) {
    AUTO_TEXT sample = text_format("wharf_worker_eligible{cluster=\"%s\",kind=\"jobs.batch\"}", worker);
    return sample && wharf_metric(scene, sample) == 1;
}

bool stage_page_has(struct scene *scene, const char *path, const char *text) {
    AUTO_BUFFER(body, 1 << 20);
    return http_ask(scene->serve_port, "GET", path, &body) == 200 && body.data && strstr(body.data, text);
}
