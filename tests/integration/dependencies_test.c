// SPDX-License-Identifier: Apache-2.0
// `wharf run` and the objects that Jobs refer to, while watches, connections, rights and the configuration come and go.
#include "tests/integration/stage.h"
#include "tests/support/traces.h"

#include <signal.h>
#include <string.h>

#define COPIED "dependencies: {copy: [configmaps, secrets], secrets: all}\n"
#define SETTINGS "mirrorRetention: 0s\nworkerLostTimeout: 300s\n"
#define NEEDS                                                                                                          \
    "\"volumes\":[{\"name\":\"c\",\"configMap\":{\"name\":\"c\"}},{\"name\":\"s\",\"secret\":{\"secretName\":\"s\"}}]" \
    ","

// A ConfigMap "c" and a Secret "s".
static void create_sources(struct scene *scene) {
    static const char *const sources[][2] = {
        {"configmaps", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":"
                       "\"default\"},\"data\":{\"k\":\"b25l\"}}"},
        {"secrets", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":"
                    "\"default\"},\"type\":\"Opaque\",\"data\":{\"k\":\"b25l\"}}"}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "", sources[i][0], sources[i][1]), 201);
}

static void change(struct scene *scene, const char *plural, const char *name, const char *value) {
    AUTO_TEXT patch = text_format("{\"data\":{\"k\":\"%s\"}}", value);
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "", plural, name, patch), 200);
}

static void change_sources(struct scene *scene, const char *value) {
    change(scene, "configmaps", "c", value);
    change(scene, "secrets", "s", value);
}

static bool has_value(struct scene *scene, size_t cluster, const char *plural, const char *name, const char *value) {
    struct scene_cluster *at = &scene->clusters[cluster];
    front_lock(at->front);
    const struct json *object = world_object(at->cluster, "", plural, "default", name);
    bool has = text_equal(json_string(json_path(object, "data", "k", NULL)), value);
    front_unlock(at->front);
    return has;
}

static bool are_copied(struct scene *scene, size_t cluster, const char *value) {
    return has_value(scene, cluster, "configmaps", "c", value) && has_value(scene, cluster, "secrets", "s", value);
}

static void submit_needy(struct scene *scene, const char *name) {
    AUTO_TEXT text = text_format("{\"apiVersion\":\"batch/"
                                 "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                                 "\"annotations\":{\"world.test/hold\":\"true\"}},\"spec\":{"
                                 "\"managedBy\":\"wharf.dev/host\",\"template\":{\"spec\":{" NEEDS
                                 "\"restartPolicy\":\"Never\",\"containers\":[{"
                                 "\"name\":\"main\",\"image\":\"i\"}]}}}}",
                                 name);
    assert_int_equal(scene_apply(scene, 0, "batch", "jobs", text), 201);
}

static struct scene *run(const char *settings) {
    struct scene *scene = stage_run(1, false, settings);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    return scene;
}

static void end(struct scene *scene) {
    stage_let_end(scene);
    UNTIL(scene, 20, stage_mirrors(scene) == 0);
    stage_close(scene);
}

static void a_changed_source_reaches_the_copies_also_after_a_lost_connection(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS COPIED);
    create_sources(scene);
    submit_needy(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    assert_true(are_copied(scene, 1, "b25l")); // before the mirror
    change_sources(scene, "dHdv");
    UNTIL(scene, 5, are_copied(scene, 1, "dHdv"));
    for (size_t c = 0; c < 2; c++) { // of the sources, and of the copies
        front_down(scene->clusters[c].front);
        front_lock(scene->clusters[c].front);
        world_compact(scene->clusters[c].cluster);
        front_unlock(scene->clusters[c].front);
        change_sources(scene, c ? "Zm91cg==" : "dGhyZWU=");
        assert_null(front_up(scene->clusters[c].front));
        UNTIL(scene, 20, are_copied(scene, 1, c ? "Zm91cg==" : "dGhyZWU="));
    }
    end(scene);
}

// The same server under another name.
static void a_new_connection_watches_the_same_objects(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS COPIED);
    create_sources(scene);
    submit_needy(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    AUTO_TEXT path = text_format("%s/w1.kubeconfig", scene->directory);
    AUTO_BUFFER(text, 1 << 20);
    AUTO_BUFFER(other, 1 << 20);
    assert_null(text_read_file(path, 1 << 20, &text));
    const char *address = strstr(text.data, "127.0.0.1");
    assert_non_null(address);
    buffer_printf(&other, "%.*slocalhost%s", (int)(address - text.data), text.data, address + strlen("127.0.0.1"));
    assert_null(scene_write(scene, "w1.kubeconfig", other.data));
    assert_int_equal(kill(scene->child, SIGHUP), 0);
    UNTIL(scene, 10, wharf_logged(scene, "INFO  the connection is replaced") == 1 && stage_takes_work(scene, "w1"));
    // A stranger deletes a copy: only the new watch shows that.
    assert_int_equal(scene_delete(scene, 1, "", "configmaps", "c"), 200);
    UNTIL(scene, 10, are_copied(scene, 1, "b25l"));
    change_sources(scene, "dHdv");
    UNTIL(scene, 10, are_copied(scene, 1, "dHdv"));
    end(scene);
}

static void set_rights(struct scene *scene, bool all) {
    for (size_t c = 0; c < 2; c++) {
        front_lock(scene->clusters[c].front);
        if (all)
            world_allow_all(scene->clusters[c].cluster);
        else
            world_deny_unnamed(scene->clusters[c].cluster, "secrets");
        world_end_watches(scene->clusters[c].cluster);
        front_unlock(scene->clusters[c].front);
    }
}

static void without_rights_to_all_the_sources_are_watched_by_name(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS COPIED);
    create_sources(scene);
    submit_needy(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    assert_true(are_copied(scene, 1, "b25l"));
    set_rights(scene, false);
    // Once for each cluster.
    UNTIL(scene, 20, wharf_logged(scene, "does not let the host watch all objects") == 2);
    change_sources(scene, "dHdv");
    UNTIL(scene, 10, are_copied(scene, 1, "dHdv"));
    set_rights(scene, true);
    change_sources(scene, "dGhyZWU=");
    UNTIL(scene, 10, are_copied(scene, 1, "dGhyZWU="));
    end(scene);
}

// A former host has left a copy, and there is no workload.
static void the_copies_in_a_worker_are_watched_without_any_workload(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS COPIED "log: {level: debug}\n");
    UNTIL(scene, 10, wharf_logged(scene, "stream opened cluster=w1 verb=watch path=\"/api/v1/secrets?") == 1);
    assert_int_equal(wharf_logged(scene, "cluster=management verb=watch path=\"/api/v1/secrets?"), 0);
    stage_close(scene);
}

// The value is in the memory of the host only on its way.
static void what_a_secret_contains_stays_in_the_clusters(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS COPIED "log: {level: debug}\n");
    struct trace traces[3];
    create_sources(scene);
    submit_needy(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    for (size_t i = 0; i < 3; i++) {
        AUTO_BUFFER(value, 256);
        trace_make(&traces[i]);
        trace_put_encoded(&value, &traces[i]);
        change(scene, "secrets", "s", value.data);
        UNTIL(scene, 10, has_value(scene, 1, "secrets", "s", value.data));
        UNTIL(scene, 10, STAGE_SLOW > 1 || trace_count_in_process(&traces[i], scene->child, false) == 0);
        assert_int_equal(wharf_logged(scene, value.data), 0);
    }
    end(scene);
}

static void a_reload_that_enables_copies_brings_them(void **state) {
    (void)state;
    struct scene *scene = run(SETTINGS);
    create_sources(scene);
    submit_needy(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    assert_false(are_copied(scene, 1, "b25l"));
    size_t before = wharf_logged(scene, "configuration reloaded");
    assert_null(scene_configure(scene, "", SETTINGS COPIED));
    assert_int_equal(kill(scene->child, SIGHUP), 0);
    UNTIL(scene, 10, wharf_logged(scene, "configuration reloaded") > before);
    UNTIL(scene, 10, are_copied(scene, 1, "b25l"));
    change_sources(scene, "dHdv");
    UNTIL(scene, 5, are_copied(scene, 1, "dHdv"));
    end(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_source_reaches_the_copies_also_after_a_lost_connection),
        cmocka_unit_test(a_new_connection_watches_the_same_objects),
        cmocka_unit_test(without_rights_to_all_the_sources_are_watched_by_name),
        cmocka_unit_test(the_copies_in_a_worker_are_watched_without_any_workload),
        cmocka_unit_test(what_a_secret_contains_stays_in_the_clusters),
        cmocka_unit_test(a_reload_that_enables_copies_brings_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
