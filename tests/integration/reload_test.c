// SPDX-License-Identifier: Apache-2.0
// What a reload of the configuration adds and changes while `wharf run` is at work: adapters and their kinds,
// podEvents, memory. The controller of the kinds that are added is this test.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUCCESSFUL "wharf_config_last_reload_successful"

static const struct world_kind mpi_job = {
    .group = "kubeflow.org", .versions = {"v2beta1"}, .plural = "mpijobs", .kind = "MPIJob"};
static const struct world_kind tasks = {.group = "acme.example", .versions = {"v1"}, .plural = "tasks", .kind = "Task"};
static const struct world_kind trips = {.group = "acme.example", .versions = {"v1"}, .plural = "trips", .kind = "Trip"};

static void install(struct scene *scene, const struct world_kind *kind) {
    for (size_t c = 0; c < scene->count; c++) {
        front_lock(scene->clusters[c].front);
        assert_true(world_register(scene->clusters[c].cluster, kind));
        front_unlock(scene->clusters[c].front);
    }
}

// With these items of adapters.enabled besides job, without their list's dash, each ended by a newline.
static void configure(struct scene *scene, const char *adapters, const char *settings) {
    free(scene->adapters);
    scene->adapters = strdup(adapters);
    assert_non_null(scene->adapters);
    struct error *error = scene_configure(scene, "", settings);
    if (error)
        fail_msg("%s", error_text(error));
}

static int apply(struct scene *scene, const struct world_kind *kind, const char *name, const char *spec) {
    AUTO_TEXT text =
        text_format("{\"apiVersion\":\"%s/%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                    "\"default\"},\"spec\":{%s}}",
                    kind->group, kind->versions[0], kind->kind, name, spec);
    return scene_apply(scene, SCENE_MANAGEMENT, kind->group, kind->plural, text);
}

static void submit(struct scene *scene, const struct world_kind *kind, const char *prefix, size_t count) {
    const char *spec = kind == &mpi_job ? "\"runPolicy\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"}"
                                        : "\"managedBy\":\"wharf.dev/host\"";
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("%s%zu", prefix, i);
        assert_int_equal(apply(scene, kind, name, spec), 201);
    }
}

static size_t count(struct scene *scene, size_t cluster, const struct world_kind *kind) {
    front_lock(scene->clusters[cluster].front);
    size_t n = world_count(scene->clusters[cluster].cluster, kind->group, kind->plural);
    front_unlock(scene->clusters[cluster].front);
    return n;
}

static size_t mirrors(struct scene *scene, const struct world_kind *kind) {
    size_t n = 0;
    for (size_t c = 1; c < scene->count; c++)
        n += count(scene, c, kind);
    return n;
}

static bool has_succeeded(const struct json *object) {
    for (const struct json *c = json_first(json_path(object, "status", "conditions", NULL)); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), "Succeeded"))
            return true;
    return false;
}

// As the workers' controllers: everything that is there succeeds.
static void finish(struct scene *scene, const struct world_kind *kind) {
    static const char patch[] = "{\"status\":{\"conditions\":[{\"type\":\"Succeeded\",\"status\":\"True\","
                                "\"lastTransitionTime\":\"2026-03-01T12:00:02Z\"}]}}";
    for (size_t c = 1; c < scene->count; c++) {
        struct world_cluster *cluster = scene->clusters[c].cluster;
        const void *cursor = NULL;
        front_lock(scene->clusters[c].front);
        for (const struct json *o; (o = world_next(cluster, kind->group, kind->plural, &cursor));)
            if (!has_succeeded(o)) {
                AUTO_TEXT name = strdup(json_string_or(json_path(o, "metadata", "name", NULL), ""));
                world_patch(cluster, kind->group, kind->plural, "default", name, "status", patch, front_now_ns());
                cursor = NULL; // the table may have changed
            }
        front_unlock(scene->clusters[c].front);
    }
}

static size_t succeeded(struct scene *scene, const struct world_kind *kind) {
    size_t n = 0;
    const void *cursor = NULL;
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    for (const struct json *o; (o = world_next(management->cluster, kind->group, kind->plural, &cursor));)
        n += has_succeeded(o);
    front_unlock(management->front);
    return n;
}

// What /metrics says of the watches of Jobs, in all clusters.
static double of_jobs(struct scene *scene, const char *metric) {
    double sum = 0;
    for (size_t c = 0; c < scene->count; c++) {
        AUTO_TEXT sample = text_format("%s{cluster=\"%s\",kind=\"jobs.batch\"}", metric,
                                       c == 0 ? "management" : scene->clusters[c].name);
        sum += wharf_metric(scene, sample);
    }
    return sum;
}

static double restarts(struct scene *scene) {
    double sum = 0;
    for (size_t c = 0; c < scene->count; c++) {
        AUTO_TEXT sample =
            text_format("wharf_watch_restarts_total{cluster=\"%s\"}", c == 0 ? "management" : scene->clusters[c].name);
        sum += wharf_metric(scene, sample);
    }
    return sum;
}

static void assert_jobs_undisturbed(struct scene *scene) {
    assert_true(of_jobs(scene, "wharf_watch_losses_total") == 0);
    assert_true(of_jobs(scene, "wharf_watch_lists_total") == (double)scene->count);
    assert_true(restarts(scene) == 0);
}

static bool is_followed(struct scene *scene, const char *cluster, const char *kind) {
    AUTO_TEXT sample = text_format("wharf_watch_state{cluster=\"%s\",kind=\"%s\",state=\"connected\"}", cluster, kind);
    return wharf_metric(scene, sample) == 1;
}

static size_t reloads(struct scene *scene) {
    return wharf_logged(scene, "configuration reloaded") + wharf_logged(scene, "configuration not reloaded");
}

static void reload(struct scene *scene, const char *adapters, const char *settings, bool used) {
    size_t before = reloads(scene);
    configure(scene, adapters, settings);
    UNTIL(scene, 10, reloads(scene) > before);
    UNTIL(scene, 10, wharf_metric(scene, SUCCESSFUL) == used);
}

static void a_kind_is_added_under_load_of_another_one(void **state) {
    (void)state;
    static const char mpi[] = "mpijobs.kubeflow.org";
    struct scene *scene = stage_run(2, true, "mirrorRetention: 0s\n");
    install(scene, &mpi_job);
    submit(scene, &mpi_job, "early", 20);
    stage_submit_many(scene, "first", 60);
    reload(scene, "  - name: mpijob\n", "mirrorRetention: 0s\n", true);
    stage_submit_many(scene, "second", 60);
    UNTIL(scene, 20, is_followed(scene, "w1", mpi) && is_followed(scene, "w2", mpi)); // else one gets all
    submit(scene, &mpi_job, "late", 20);
    UNTIL(scene, 20, mirrors(scene, &mpi_job) == 40);
    assert_true(count(scene, 1, &mpi_job) > 0 && count(scene, 2, &mpi_job) > 0);
    finish(scene, &mpi_job);
    UNTIL(scene, 20, succeeded(scene, &mpi_job) == 40 && mirrors(scene, &mpi_job) == 0);
    UNTIL(scene, 20, stage_complete(scene, "first") == 60 && stage_complete(scene, "second") == 60);
    assert_jobs_undisturbed(scene);
    assert_int_equal(stage_creates(scene, 1, 3), 160); // nothing ran twice
    assert_int_equal(wharf_logged(scene, "a kind is added"), 1);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    assert_true(stage_page_has(scene, "/api/v1/status", "\"adapters\":2"));
    assert_true(stage_page_has(scene, "/api/v1/adapters", "\"resource\":\"mpijobs\""));
    assert_true(stage_page_has(scene, "/api/v1/workloads?kind=mpijob", "\"late7\""));
    assert_true(stage_page_has(scene, "/api/v1/workers", "\"kind\":\"MPIJob\""));
    assert_true(wharf_is_ready(scene));
    stage_close(scene);
}

// w2 cannot be reached when the kind is added.
static void it_is_watched_in_a_worker_that_comes_back_later(void **state) {
    (void)state;
    struct scene *scene = stage_run(2, true, "");
    install(scene, &mpi_job);
    front_down(scene->clusters[2].front);
    UNTIL(scene, 10, !stage_is_connected(scene, "w2"));
    reload(scene, "  - name: mpijob\n", "", true);
    submit(scene, &mpi_job, "early", 4);
    UNTIL(scene, 10, count(scene, 1, &mpi_job) == 4);
    UNTIL(scene, 10, wharf_is_ready(scene));
    assert_null(front_up(scene->clusters[2].front));
    UNTIL(scene, 60, is_followed(scene, "w2", "mpijobs.kubeflow.org"));
    submit(scene, &mpi_job, "late", 4);
    UNTIL(scene, 20, count(scene, 2, &mpi_job) == 4);
    stage_close(scene);
}

#define TASK_BUT_PHASES                                                                                                \
    "group: acme.example, versions: [v1], kind: Task, plural: tasks, managedBy: {field: /spec/managedBy}"
#define SUCCEEDED "phases: [{condition: Succeeded, phase: Succeeded}]"
#define TASK "{" TASK_BUT_PHASES ", " SUCCEEDED "}"
#define TRIP                                                                                                           \
    "{group: acme.example, versions: [v1], kind: Trip, plural: trips, managedBy: {field: /spec/managedBy}, " SUCCEEDED \
    "}"
#define GENERIC(kinds) "  - name: generic\n    settings: {kinds: [" kinds "]}\n"

static void a_kind_of_the_generic_adapter_is_added_beside_those_that_it_has(void **state) {
    (void)state;
    struct scene *scene = stage_open(1, true, "");
    install(scene, &tasks);
    install(scene, &trips);
    configure(scene, GENERIC(TASK), "");
    stage_start(scene);
    submit(scene, &tasks, "task", 2);
    submit(scene, &trips, "trip", 3);
    UNTIL(scene, 10, mirrors(scene, &tasks) == 2);
    reload(scene, GENERIC(TRIP "," TASK), "", true);
    UNTIL(scene, 10, mirrors(scene, &trips) == 3);
    finish(scene, &tasks);
    finish(scene, &trips);
    UNTIL(scene, 10, succeeded(scene, &tasks) == 2 && succeeded(scene, &trips) == 3);
    assert_true(stage_page_has(scene, "/api/v1/status", "\"adapters\":2"));
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    assert_true(restarts(scene) == 0);
    // In another order, nothing is new; without one of them, it goes on.
    reload(scene, GENERIC(TASK "," TRIP), "", true);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    reload(scene, GENERIC(TASK), "", true);
    assert_int_equal(wharf_logged(scene, "adapter generic (other settings)"), 1);
    submit(scene, &trips, "more", 1);
    UNTIL(scene, 10, mirrors(scene, &trips) >= 1);
    assert_int_equal(wharf_logged(scene, "a kind is added"), 1);
    stage_close(scene);
}

// What `wharf check` prints of the scene's configuration has the sentence that is in the log.
static void assert_check_says(struct scene *scene, const char *sentence) {
    AUTO_TEXT wharf = built_path("wharf");
    AUTO_TEXT command = text_format("'%s' check --config '%s/wharf.yaml' 2>&1", wharf, scene->directory);
    FILE *check = popen(command, "r"); // NOLINT(cert-env33-c)
    char said[65536] = "";
    assert_non_null(check);
    size_t len = fread(said, 1, sizeof said - 1, check);
    said[len] = '\0';
    pclose(check);
    if (!strstr(said, sentence))
        fail_msg("wharf check says %s, expected %s", said, sentence);
}

// The first fifth of mpijob.so, as while it is copied: its last segments are missing.
static char *write_part(struct scene *scene) {
    AUTO_TEXT whole = built_path("adapters/mpijob.so");
    char *part = text_format("%s/part.so", scene->directory);
    AUTO_BUFFER(content, 16 << 20);
    assert_null(text_read_file(whole, content.max, &content));
    FILE *file = fopen(part, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content.data, 1, content.len / 5, file), content.len / 5);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(part, 0644), 0);
    return part;
}

static void one_that_fails_a_check_refuses_the_reload_as_a_whole(void **state) {
    (void)state;
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    struct scene *scene = stage_run(1, true, "");
    AUTO_TEXT pinned = text_format("  - {name: mpijob, sha256: \"%s\"}\n", zeros);
    AUTO_TEXT trust = text_format("  - {name: mpijob, file: %s/mpijob.so}\n", scene->directory);
    AUTO_TEXT own = built_path("adapters/job.so");
    AUTO_TEXT link = text_format("%s/mpijob.so", scene->directory);
    AUTO_TEXT hang = built_path("hang_adapters/hang.so");
    AUTO_TEXT second = text_format("  - {name: hang, file: %s}\n  - {name: again, file: %s}\n", hang, hang);
    assert_int_equal(symlink(own, link), 0);
    AUTO_TEXT part = write_part(scene);
    AUTO_TEXT truncated = text_format("  - {name: mpijob, file: %s}\n", part);
    const struct {
        const char *adapters, *sentence;
    } cases[] = {
        {pinned, "wrong hash: found sha256"},
        {trust, "found a symlink, expected the file itself"},
        {truncated, "part.so: truncated: found a file of"},
        {"  - name: mpijobs\n", "did you mean"},
        {"  - name: generic\n    settings: {kinds: []}\n", "expected a list that is not empty"},
        {"  - name: mpijob\n    settings: {depth: 7}\n", "depth"},
        {"  - name: mpijob\n    managedBy: wharf.dev/host\n", "expected what the kind's API accepts"},
        {second, "found the same file as adapter hang"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t logged = wharf_logged(scene, cases[i].sentence);
        reload(scene, cases[i].adapters, "createNamespaces: true\n", false);
        if (wharf_logged(scene, cases[i].sentence) == logged)
            fail_msg("not logged: %s", cases[i].sentence);
        assert_check_says(scene, cases[i].sentence);
    }
    assert_int_equal(wharf_logged(scene, "configuration reloaded"), 0);
    stage_submit_many(scene, "job", 3);
    UNTIL(scene, 10, stage_complete(scene, "job") == 3);
    // Corrected: the files that were loaded for nothing are loaded again.
    install(scene, &tasks);
    install(scene, &mpi_job);
    reload(scene, GENERIC(TASK) "  - name: mpijob\n", "", true);
    submit(scene, &tasks, "task", 2);
    submit(scene, &mpi_job, "mpi", 2);
    UNTIL(scene, 10, mirrors(scene, &tasks) == 2 && mirrors(scene, &mpi_job) == 2);
    assert_jobs_undisturbed(scene);
    stage_close(scene);
}

static void a_resource_that_no_kind_refers_to_refuses_the_reload_as_a_whole(void **state) {
    (void)state;
    static const char wrong[] = "dependencies: {copy: [configmap]}\n", right[] = "dependencies: {copy: [configmaps]}\n";
    struct scene *scene = stage_run(1, true, "");
    install(scene, &mpi_job);
    reload(scene, "  - name: mpijob\n", wrong, false);
    assert_int_equal(wharf_logged(scene, "did you mean \\\"configmaps\\\"?"), 1);
    assert_int_equal(wharf_logged(scene, "a kind is added"), 0);
    reload(scene, "  - name: mpijob\n", right, true);
    assert_int_equal(wharf_logged(scene, "a kind is added"), 1);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    assert_true(stage_page_has(scene, "/api/v1/rights", "\"configmaps\""));
    assert_jobs_undisturbed(scene);
    stage_close(scene);
}

#define BAD_TRIP(more)                                                                                                 \
    "{group: acme.example, versions: [v1], kind: Trip, plural: trips, managedBy: {field: /spec/managedBy}" more "}"
#define MPI                                                                                                            \
    "{group: kubeflow.org, versions: [v1], kind: MPIJob, plural: mpijobs, managedBy: {field: "                         \
    "/spec/managedBy}, " SUCCEEDED "}"

static void a_bad_kind_of_the_generic_adapter_is_refused_alone(void **state) {
    (void)state;
    struct scene *scene = stage_open(1, true, "");
    install(scene, &tasks);
    install(scene, &trips);
    install(scene, &mpi_job);
    configure(scene, GENERIC(BAD_TRIP("") "," TASK), "");
    stage_start(scene);
    assert_check_says(scene, "settings.kinds[0]: kind 1 (Trip): phase: found neither");
    assert_int_equal(wharf_logged(scene, "settings.kinds[0]: kind 1 (Trip): phase: found neither"), 1);
    submit(scene, &tasks, "task", 2);
    submit(scene, &trips, "trip", 1);
    UNTIL(scene, 10, mirrors(scene, &tasks) == 2);
    const struct {
        const char *adapters, *sentence;
    } cases[] = {
        {GENERIC(TASK "," BAD_TRIP("")), "settings.kinds[1]: kind 2 (Trip): phase: found neither"},
        {GENERIC(TASK "," BAD_TRIP(", phases: [{condition: A, phase: Won}]")), "expected Pending, Suspended"},
        {GENERIC(TASK "," TASK), "found the kind or the plural of tasks.acme.example a second time"},
        {"  - name: mpijob\n" GENERIC(TASK "," MPI), "found a second adapter for it, expected one: adapter mpijob"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t logged = wharf_logged(scene, cases[i].sentence);
        reload(scene, cases[i].adapters, "", true);
        UNTIL(scene, 5, wharf_logged(scene, cases[i].sentence) > logged);
        assert_true(stage_page_has(scene, "/api/v1/status", "adapter generic: "));
        assert_check_says(scene, cases[i].sentence);
    }
    submit(scene, &mpi_job, "mpi", 2);
    UNTIL(scene, 10, mirrors(scene, &mpi_job) == 2);
    assert_int_equal(mirrors(scene, &trips), 0);
    reload(scene, "  - name: mpijob\n" GENERIC(TRIP "," TASK), "", true); // corrected
    UNTIL(scene, 10, mirrors(scene, &trips) == 1 && mirrors(scene, &tasks) == 2);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    assert_true(restarts(scene) == 0);
    stage_close(scene);
}

static void what_cannot_change_is_told_and_goes_on_as_it_was(void **state) {
    (void)state;
    struct scene *scene = stage_open(1, true, "");
    install(scene, &mpi_job);
    configure(scene, "  - name: mpijob\n", "");
    stage_start(scene);
    reload(scene, "", "", true);
    UNTIL(scene, 5, stage_page_has(scene, "/api/v1/status", "after a restart: adapter mpijob (removed)"));
    // Its kind by another adapter: only once it has gone.
    reload(scene,
           GENERIC("{group: kubeflow.org, versions: [v2beta1], kind: MPIJob, plural: mpijobs, managedBy: {field: "
                   "/spec/managedBy}, " SUCCEEDED "}"),
           "", true);
    UNTIL(scene, 5,
          stage_page_has(scene, "/api/v1/status",
                         "adapter mpijob (removed), adapter generic (a kind of it is still that of a former adapter)"));
    submit(scene, &mpi_job, "mpi", 2);
    UNTIL(scene, 10, mirrors(scene, &mpi_job) == 2);
    reload(scene, "  - name: mpijob\n", "", true);
    UNTIL(scene, 5, stage_page_has(scene, "/api/v1/status", "\"message\":null"));
    assert_true(stage_page_has(scene, "/api/v1/status", "\"adapters\":2"));
    stage_close(scene);
}

static void assert_pods_watched(struct scene *scene, const char *worker, bool watched) {
    AUTO_TEXT sample = text_format("wharf_pod_events_watched{cluster=\"%s\"}", worker);
    UNTIL(scene, 10, wharf_metric(scene, sample) == watched);
}

static void happen(struct scene *scene, const char *name, const char *type) {
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\"},\"type\":\"%s\",\"reason\":\"Happened\",\"note\":\"%s\",\"action\":\"Act\",\"eventTime\":"
        "\"2026-03-01T12:00:02.000000Z\",\"reportingController\":\"example.com/test\",\"reportingInstance\":\"t\","
        "\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"u\"}}",
        name, type, name);
    assert_int_equal(scene_apply(scene, 1, "events.k8s.io", "events", text), 201);
}

static void pod_events_are_switched_on_and_off(void **state) {
    (void)state;
    static const char received[] = "wharf_pod_events_received_total{cluster=\"w1\"}";
    struct scene *scene = stage_open(2, true, "podEvents: none\n");
    stage_start(scene);
    stage_submit_with(scene, "long", "\"world.test/duration\":\"60s\"", "\"managedBy\":\"wharf.dev/host\",");
    UNTIL(scene, 10, scene_jobs(scene, 1) == 1);
    assert_pods_watched(scene, "w1", false);
    reload(scene, "", "podEvents: warnings\n", true);
    assert_pods_watched(scene, "w1", true); // although its mirror does not change
    assert_pods_watched(scene, "w2", false);
    happen(scene, "first", "Normal");
    happen(scene, "second", "Warning");
    UNTIL(scene, 10, wharf_metric(scene, received) == 1);
    double opened = wharf_metric(scene, received);
    reload(scene, "", "podEvents: all\n", true);
    UNTIL(scene, 10, wharf_logged(scene, "configuration reloaded") == 2);
    assert_pods_watched(scene, "w1", true);
    for (size_t i = 0; wharf_metric(scene, received) == opened; i++) { // the other watch may not be open yet
        AUTO_TEXT name = text_format("normal%zu", i);
        happen(scene, name, "Normal");
        assert_true(i < 100);
        usleep(100000);
    }
    reload(scene, "", "podEvents: none\nlastWords: none\n", true);
    assert_pods_watched(scene, "w1", false);
    assert_jobs_undisturbed(scene);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    stage_close(scene);
}

static void submit_large(struct scene *scene, const char *name) {
    char *padding = malloc(100001);
    assert_non_null(padding);
    memset(padding, 'x', 100000);
    padding[100000] = '\0';
    AUTO_TEXT annotations = text_format("\"example.com/padding\":\"%s\"", padding);
    free(padding);
    stage_submit_with(scene, name, annotations, "\"managedBy\":\"wharf.dev/host\",");
}

static void larger_objects_are_accepted_and_no_longer(void **state) {
    (void)state;
    struct scene *scene = stage_run(1, true, "memory: {maxObjectSize: 64KiB}\n");
    submit_large(scene, "large");
    UNTIL(scene, 10, wharf_logged(scene, "maxObjectSize is 65536") > 0);
    assert_int_equal(scene_jobs(scene, 1), 0);
    reload(scene, "", "memory: {maxObjectSize: 1MiB, perCluster: 32MiB}\n", true);
    UNTIL(scene, 10, stage_is_complete(scene, "large"));
    reload(scene, "", "memory: {maxObjectSize: 70KiB}\n", true);
    submit_large(scene, "later");
    UNTIL(scene, 10, wharf_logged(scene, "maxObjectSize is 71680") > 0);
    stage_submit(scene, "small");
    UNTIL(scene, 10, stage_is_complete(scene, "small"));
    assert_int_equal(stage_creates(scene, 1, 2), 2);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 0);
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_is_added_under_load_of_another_one),
        cmocka_unit_test(it_is_watched_in_a_worker_that_comes_back_later),
        cmocka_unit_test(a_kind_of_the_generic_adapter_is_added_beside_those_that_it_has),
        cmocka_unit_test(one_that_fails_a_check_refuses_the_reload_as_a_whole),
        cmocka_unit_test(a_resource_that_no_kind_refers_to_refuses_the_reload_as_a_whole),
        cmocka_unit_test(a_bad_kind_of_the_generic_adapter_is_refused_alone),
        cmocka_unit_test(what_cannot_change_is_told_and_goes_on_as_it_was),
        cmocka_unit_test(pod_events_are_switched_on_and_off),
        cmocka_unit_test(larger_objects_are_accepted_and_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
