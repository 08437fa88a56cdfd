// SPDX-License-Identifier: Apache-2.0
// Workers that come and go while the host runs: from a directory, from Secrets, and by the configuration, which is read
// again; and those that the ConfigMap cordons.
#include "core/host/sources/sources.h"
#include "tests/integration/stage.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OURS "namespace: default\nmirrorRetention: 0s\n"

static char *path_in(const struct scene *scene, const char *name) {
    char *path = text_format("%s/%s", scene->directory, name);
    assert_non_null(path);
    return path;
}

// The configuration with these of the scene's workers (their first letter is not shown: "12" is w1 and w2).
static void write_config(const struct scene *scene, const char *workers, const char *settings) {
    AUTO_BUFFER(text, 65536);
    AUTO_TEXT job = built_path("adapters/job.so");
    buffer_printf(&text,
                  "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: scene\n"
                  "management: {kubeconfig: mgmt.kubeconfig}\nserve: {address: \"127.0.0.1:%u\"}\n"
                  "adapters: {enabled: [{name: job, file: %s}]}\nlog: {level: info}\nworkers: [",
                  (unsigned)scene->serve_port, job);
    for (; *workers; workers++)
        buffer_printf(&text, "{name: w%c, kubeconfig: w%c.kubeconfig},", *workers, *workers);
    buffer_printf(&text, "]\n%s", settings);
    AUTO_TEXT path = path_in(scene, "wharf.yaml");
    AUTO_TEXT next = path_in(scene, "wharf.yaml.new");
    assert_null(scene_write(scene, "wharf.yaml.new", text.data));
    assert_int_equal(rename(next, path), 0); // as editors do
}

static struct scene *begin(size_t workers, const char *configured, const char *settings) {
    struct scene *scene = stage_open(workers, true, "");
    write_config(scene, configured, settings);
    return scene;
}

static bool knows(const struct scene *scene, const char *worker) {
    AUTO_TEXT sample = text_format("wharf_worker_eligible{cluster=\"%s\",kind=\"jobs.batch\"}", worker);
    return wharf_metric(scene, sample) >= 0;
}

// A copy of a worker's kubeconfig.
static void copy_kubeconfig(const struct scene *scene, const char *from, const char *directory, const char *to) {
    AUTO_TEXT source = text_format("%s/%s.kubeconfig", scene->directory, from);
    AUTO_TEXT target = text_format("%s/%s/%s", scene->directory, directory, to);
    AUTO_BUFFER(text, 1 << 20);
    assert_null(text_read_file(source, text.max, &text));
    FILE *out = fopen(target, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text.data, 1, text.len, out), text.len);
    assert_int_equal(fclose(out), 0);
}

static void remove_in(const struct scene *scene, const char *directory, const char *name) {
    AUTO_TEXT path = text_format("%s/%s/%s", scene->directory, directory, name);
    assert_int_equal(unlink(path), 0);
}

static void a_directory_of_kubeconfigs_is_followed(void **state) {
    (void)state;
    struct scene *scene = begin(2, "", OURS "workersFrom: {directory: workers.d}\n");
    AUTO_TEXT directory = path_in(scene, "workers.d");
    assert_int_equal(mkdir(directory, 0700), 0);
    copy_kubeconfig(scene, "w1", "workers.d", "w1.kubeconfig");
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    stage_submit(scene, "first");
    UNTIL(scene, 10, stage_is_complete(scene, "first"));
    copy_kubeconfig(scene, "w2", "workers.d", "w2.yaml");
    copy_kubeconfig(scene, "w2", "workers.d", ".hidden.yaml");
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    remove_in(scene, "workers.d", "w1.kubeconfig");
    UNTIL(scene, 10, !knows(scene, "w1"));
    stage_submit(scene, "second");
    UNTIL(scene, 10, stage_is_complete(scene, "second"));
    assert_int_equal(stage_worker_of(scene, "second"), 2);
    // What is not a kubeconfig is refused, and what w2 was stays.
    AUTO_TEXT broken = path_in(scene, "workers.d/w2.yaml");
    FILE *out = fopen(broken, "w");
    assert_non_null(out);
    fputs("apiVersion: v1\nclusters: 7\n", out);
    fclose(out);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 1);
    assert_int_equal(wharf_logged(scene, "worker not changed: its new version cannot be used"), 1);
    stage_submit(scene, "third");
    UNTIL(scene, 10, stage_is_complete(scene, "third"));
    remove_in(scene, "workers.d", "w2.yaml");
    remove_in(scene, "workers.d", ".hidden.yaml");
    UNTIL(scene, 10, !knows(scene, "w2"));
    stage_close(scene);
}

static char *base64(const char *text, size_t len) {
    char *out = malloc(4 * ((len + 2) / 3) + 1);
    assert_non_null(out);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
    return out;
}

// The data of a Secret with a worker's kubeconfig.
static char *data_of(const struct scene *scene, const char *worker) {
    AUTO_TEXT path = text_format("%s/%s.kubeconfig", scene->directory, worker);
    AUTO_BUFFER(text, 1 << 20);
    assert_null(text_read_file(path, text.max, &text));
    return base64(text.data, text.len);
}

// `annotations`: the members of an object.
static void add_secret_with(struct scene *scene, const char *name, const char *worker, const char *annotations) {
    AUTO_TEXT data = data_of(scene, worker);
    AUTO_TEXT text = text_format("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"default\","
                                 "\"name\":\"%s\",\"labels\":{\"wharf.dev/worker\":\"true\"},\"annotations\":{%s}},"
                                 "\"data\":{\"kubeconfig\":\"%s\"}}",
                                 name, annotations, data);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "", "secrets", text), 201);
}

static void add_secret(struct scene *scene, const char *name, const char *worker) {
    add_secret_with(scene, name, worker, "");
}

static void patch_secret(struct scene *scene, const char *name, const char *data) {
    AUTO_TEXT change = text_format("{\"data\":{\"kubeconfig\":\"%s\"}}", data);
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "", "secrets", name, change), 200);
}

static void secrets_add_change_and_remove_workers(void **state) {
    (void)state;
    struct scene *scene = begin(3, "3", OURS "workersFrom: {secrets: true}\n");
    add_secret(scene, "w1", "w1");
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w3"));
    add_secret(scene, "w2", "w2");
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    stage_submit_many(scene, "job", 12);
    UNTIL(scene, 20, stage_complete(scene, "job") == 12);
    // One that cannot be used is named, and w2 goes on.
    patch_secret(scene, "w2", "e30="); // {}
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 1);
    assert_int_equal(wharf_logged(scene, "from=\"Secret default/w2\""), 1);
    assert_int_equal(wharf_logged(scene, "key kubeconfig"), 1);
    assert_true(stage_takes_work(scene, "w2"));
    AUTO_TEXT data = data_of(scene, "w2");
    patch_secret(scene, "w2", data);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 0);
    AUTO_BUFFER(status, 65536);
    assert_int_equal(http_ask(scene->serve_port, "GET", "/api/v1/status", &status), 200);
    assert_non_null(strstr(status.data, "\"problems\":[]"));
    // The name of w3 belongs to the configuration.
    add_secret(scene, "w3", "w2");
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 1);
    UNTIL(scene, 5, wharf_logged(scene, "its name is taken") == 1);
    buffer_reset(&status);
    assert_int_equal(http_ask(scene->serve_port, "GET", "/api/v1/status", &status), 200);
    assert_non_null(strstr(status.data,
                           "{\"from\":\"Secret default/w3\",\"worker\":\"w3\",\"message\":\"worker w3 comes "
                           "from "));
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "secrets", "w1"), 200);
    UNTIL(scene, 10, !knows(scene, "w1"));
    assert_true(knows(scene, "w2") && knows(scene, "w3"));
    stage_close(scene);
}

// A backup from before w2 joined: nobody has removed its Secret.
static void workers_stay_when_a_restored_management_cluster_lacks_their_secrets(void **state) {
    (void)state;
    struct scene *scene = begin(2, "", OURS "workersFrom: {secrets: true}\n");
    add_secret(scene, "w1", "w1");
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    struct world_copy *backup = world_copy(management->cluster);
    front_unlock(management->front);
    add_secret(scene, "w2", "w2");
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    front_lock(management->front);
    world_restore(management->cluster, backup, front_now_ns());
    world_copy_free(backup);
    front_unlock(management->front);
    UNTIL(scene, 60, wharf_logged(scene, "lacks objects of workers") == 1);
    assert_true(knows(scene, "w1") && knows(scene, "w2"));
    add_secret(scene, "w2", "w2");
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "secrets", "w2"), 200);
    UNTIL(scene, 20, !knows(scene, "w2"));
    stage_close(scene);
}

// {"alg":"none"}.{"iat":1000000000,"exp":9000000000}.x: due for renewal in the year 2206, and one that is long due.
#define LATER "eyJhbGciOiJub25lIn0.eyJpYXQiOjEwMDAwMDAwMDAsImV4cCI6OTAwMDAwMDAwMH0.x"
// {"iat":1000000000,"exp":1000003600}
#define DUE "eyJhbGciOiJub25lIn0.eyJpYXQiOjEwMDAwMDAwMDAsImV4cCI6MTAwMDAwMzYwMH0.x"

static void add_token_secret(struct scene *scene, const char *worker, const char *token) {
    AUTO_TEXT path = text_format("%s/%s.kubeconfig", scene->directory, worker);
    AUTO_BUFFER(text, 1 << 20);
    assert_null(text_read_file(path, text.max, &text));
    char *with_token = NULL;
    assert_null(kubeconfig_with_token(text.data, NULL, token, &with_token));
    AUTO_TEXT data = base64(with_token, strlen(with_token));
    free(with_token);
    AUTO_TEXT secret = text_format("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"default\","
                                   "\"name\":\"%s\",\"labels\":{\"wharf.dev/worker\":\"true\"},\"annotations\":"
                                   "{\"wharf.dev/token-service-account\":\"wharf-system/wharf\"}},"
                                   "\"data\":{\"kubeconfig\":\"%s\"}}",
                                   worker, data);
    assert_int_equal(scene_apply(scene, SCENE_MANAGEMENT, "", "secrets", secret), 201);
}

// The simulated workers do not serve TokenRequests.
static void a_token_that_cannot_be_renewed_is_told_and_stays_in_use(void **state) {
    (void)state;
    struct scene *scene = stage_open(2, false, "");
    write_config(scene, "", OURS "workersFrom: {secrets: true}\n");
    add_token_secret(scene, "w1", DUE);
    add_token_secret(scene, "w2", LATER);
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    UNTIL(scene, 10, wharf_logged(scene, "token of a worker cannot be renewed") == 1);
    assert_int_equal(wharf_logged(scene, "secret=default/w1"), 1);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 1);
    assert_true(wharf_metric(scene, "wharf_worker_token_expiry_timestamp_seconds{cluster=\"w1\"}") == 1000003600.0);
    assert_true(wharf_metric(scene, "wharf_worker_token_expiry_timestamp_seconds{cluster=\"w2\"}") == 9000000000.0);
    assert_true(wharf_metric(scene, "wharf_worker_token_lifetime_seconds{cluster=\"w1\"}") == 3600.0);
    stage_submit_many(scene, "job", 4);
    UNTIL(scene, 20, stage_complete(scene, "job") == 4);
    stage_close(scene);
}

static void a_worker_whose_secret_goes_finishes_what_it_has(void **state) {
    (void)state;
    struct scene *scene = begin(1, "", OURS "workersFrom: {secrets: true}\n");
    add_secret(scene, "w1", "w1");
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    stage_submit_held(scene, "long");
    UNTIL(scene, 10, scene_jobs(scene, 1) == 1);
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "secrets", "w1"), 200);
    UNTIL(scene, 10, !stage_takes_work(scene, "w1"));
    stage_submit(scene, "waits");
    stage_let_end(scene);
    UNTIL(scene, 20, stage_is_complete(scene, "long"));
    UNTIL(scene, 20, !knows(scene, "w1"));
    assert_int_equal(stage_worker_of(scene, "waits"), 0);
    add_secret(scene, "w1", "w1");
    UNTIL(scene, 20, stage_is_complete(scene, "waits"));
    stage_close(scene);
}

static void a_valid_configuration_takes_effect_and_an_invalid_one_does_not(void **state) {
    (void)state;
    struct scene *scene = begin(2, "1", OURS);
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    assert_true(wharf_metric(scene, "wharf_config_last_reload_successful") == 1);
    double since = wharf_metric(scene, "wharf_config_last_reload_success_timestamp_seconds");
    assert_true(since > 1e9);
    write_config(scene, "12", OURS);
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    UNTIL(scene, 10, wharf_logged(scene, "configuration reloaded") == 1);
    assert_true(wharf_metric(scene, "wharf_config_last_reload_success_timestamp_seconds") >= since);
    // An invalid one: both workers go on.
    write_config(scene, "2", OURS "kueue: perhaps\n");
    UNTIL(scene, 10, wharf_metric(scene, "wharf_config_last_reload_successful") == 0);
    assert_int_equal(wharf_logged(scene, "strip or carry"), 1);
    write_config(scene, "26", OURS); // w6 has no kubeconfig
    UNTIL(scene, 10, wharf_logged(scene, "w6.kubeconfig") >= 1);
    assert_true(stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    stage_submit_many(scene, "job", 4);
    UNTIL(scene, 20, stage_complete(scene, "job") == 4);
    // A valid one again, with changes that have to wait.
    write_config(scene, "2",
                 OURS "massDeletion: {max: 7}\nmemory: {perCluster: 65MiB}\nseal: {file: /nowhere/key}\n"
                      "controllerName: a.b/c\n");
    UNTIL(scene, 10, wharf_metric(scene, "wharf_config_last_reload_successful") == 1);
    assert_int_equal(wharf_logged(scene, "takes effect after a restart"), 1);
    assert_int_equal(wharf_logged(scene, "seal, controllerName"), 1);
    UNTIL(scene, 10, !knows(scene, "w1"));
    stage_close(scene);
}

static void sighup_reads_the_configuration_again(void **state) {
    (void)state;
    struct scene *scene = begin(2, "1", OURS);
    stage_start(scene);
    assert_false(wharf_end(scene, SIGHUP, 0));
    UNTIL(scene, 10, wharf_logged(scene, "configuration reloaded") == 1);
    stage_submit(scene, "job");
    UNTIL(scene, 10, stage_is_complete(scene, "job"));
    stage_close(scene);
}

// A mount of a ConfigMap: wharf.yaml -> ..data/wharf.yaml, and ..data -> a directory, which is replaced.
static void swap_mount(struct scene *scene, const char *directory, const char *workers, const char *settings) {
    write_config(scene, workers, settings);
    AUTO_TEXT fresh = path_in(scene, directory);
    AUTO_TEXT file = path_in(scene, "wharf.yaml");
    AUTO_TEXT inside = text_format("%s/wharf.yaml", fresh);
    AUTO_TEXT link = path_in(scene, "..data_tmp");
    AUTO_TEXT data = path_in(scene, "..data");
    assert_int_equal(mkdir(fresh, 0700), 0);
    assert_int_equal(rename(file, inside), 0);
    assert_int_equal(symlink(directory, link), 0);
    assert_int_equal(rename(link, data), 0);
    assert_int_equal(symlink("..data/wharf.yaml", file), 0);
}

static void a_mounted_config_map_is_followed(void **state) {
    (void)state;
    struct scene *scene = begin(2, "1", OURS);
    swap_mount(scene, "..2026_1", "1", OURS);
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    AUTO_TEXT fresh = path_in(scene, "..2026_2");
    AUTO_TEXT link = path_in(scene, "..data_tmp");
    AUTO_TEXT data = path_in(scene, "..data");
    AUTO_TEXT old = path_in(scene, "..2026_1/wharf.yaml");
    AUTO_TEXT inside = path_in(scene, "..2026_2/wharf.yaml");
    AUTO_BUFFER(text, 65536);
    assert_null(text_read_file(old, text.max, &text));
    char *at = strstr(text.data, "{name: w1, kubeconfig: w1.kubeconfig}");
    assert_non_null(at);
    at[strlen("{name: w")] = at[strlen("{name: w1, kubeconfig: w")] = '2';
    assert_int_equal(mkdir(fresh, 0700), 0);
    FILE *out = fopen(inside, "w");
    assert_non_null(out);
    fputs(text.data, out);
    fclose(out);
    assert_int_equal(symlink("..2026_2", link), 0);
    assert_int_equal(rename(link, data), 0);
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    UNTIL(scene, 10, !knows(scene, "w1"));
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    char *const gone[] = {old, inside, data};
    for (size_t i = 0; i < 3; i++)
        unlink(gone[i]);
    AUTO_TEXT first = path_in(scene, "..2026_1");
    rmdir(first);
    rmdir(fresh);
    scene_close(scene);
}

// A plugin that brings the client certificate of the scene.
static void write_plugin(const struct scene *scene) {
    AUTO_BUFFER(credential, 65536);
    buffer_text(&credential, "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
                             "\"status\":{\"clientCertificateData\":");
    buffer_json_string(&credential, scene->certs.client_cert, strlen(scene->certs.client_cert));
    buffer_text(&credential, ",\"clientKeyData\":");
    buffer_json_string(&credential, scene->certs.client_key, strlen(scene->certs.client_key));
    buffer_text(&credential, "}}");
    assert_null(scene_write(scene, "credential.json", credential.data));
    AUTO_TEXT script = text_format("#!/bin/sh\ncat '%s/credential.json'\n", scene->directory);
    assert_null(scene_write(scene, "plugin", script));
    AUTO_TEXT path = path_in(scene, "plugin");
    assert_int_equal(chmod(path, 0700), 0);
}

static int put_profile(struct scene *scene, const char *name, const char *provider, size_t worker) {
    AUTO_TEXT ca = base64(scene->certs.ca, strlen(scene->certs.ca));
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"multicluster.x-k8s.io/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":"
        "{\"namespace\":\"default\",\"name\":\"%s\"},\"spec\":{},\"status\":{\"accessProviders\":[{\"name\":"
        "\"%s\",\"cluster\":{\"server\":\"%s\",\"certificate-authority-data\":\"%s\"}}]}}",
        name, provider, front_url(scene->clusters[worker].front), ca);
    return scene_apply(scene, SCENE_MANAGEMENT, "multicluster.x-k8s.io", "clusterprofiles", text);
}

static void serve_profiles(struct scene *scene) {
    static const struct world_kind profiles = {.group = "multicluster.x-k8s.io",
                                               .versions = {"v1alpha1"},
                                               .plural = "clusterprofiles",
                                               .kind = "ClusterProfile",
                                               .no_status = true};
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    front_lock(management->front);
    assert_true(world_register(management->cluster, &profiles));
    front_unlock(management->front);
}

#define PROVIDER(name, command)                                                                                        \
    "{name: " name ", execConfig: {apiVersion: client.authentication.k8s.io/v1, command: " command "}}"

static void cluster_profiles_are_opened_with_the_plugin_of_the_configuration(void **state) {
    (void)state;
    struct scene *scene = stage_open(2, false, "");
    write_plugin(scene);
    AUTO_TEXT plugin = path_in(scene, "plugin");
    AUTO_TEXT settings = text_format(OURS "credentialPlugins: {allow: [%s]}\nworkersFrom: {clusterProfiles: "
                                          "{namespace: default, accessProviders: [" PROVIDER(
                                              "ours", "%s") ", " PROVIDER("others", "/nowhere/plugin") "]}}\n",
                                     plugin, plugin);
    write_config(scene, "", settings);
    stage_start(scene);
    UNTIL(scene, 10, wharf_logged(scene, "kind of workers is not served") == 1);
    serve_profiles(scene); // it is found later
    assert_int_equal(put_profile(scene, "fleet-1", "ours", 1), 201);
    assert_int_equal(put_profile(scene, "fleet-2", "nobody's", 2), 201); // not for us
    assert_int_equal(put_profile(scene, "fleet-3", "others", 2), 201);   // a command that is not allowed
    UNTIL(scene, 60, stage_takes_work(scene, "fleet-1"));
    stage_submit(scene, "job");
    UNTIL(scene, 10, stage_is_complete(scene, "job"));
    UNTIL(scene, 10, wharf_metric(scene, "wharf_worker_sources_refused") == 1);
    assert_int_equal(wharf_logged(scene, "from=\"ClusterProfile default/fleet-3\""), 1);
    assert_true(!knows(scene, "fleet-2") && !knows(scene, "fleet-3"));
    stage_close(scene);
}

#define WORKERS_MAP(data)                                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"default\",\"name\":\"wharf-"          \
    "workers\"},"                                                                                                      \
    "\"data\":{" data "}}"

static void the_config_map_cordons_and_drains(void **state) {
    (void)state;
    struct scene *scene = begin(2, "12", OURS);
    assert_int_equal(
        scene_apply(scene, SCENE_MANAGEMENT, "", "configmaps", WORKERS_MAP("\"w1\":\"{\\\"cordoned\\\":true}\"")), 201);
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    stage_submit_many(scene, "job", 6);
    UNTIL(scene, 20, stage_complete(scene, "job") == 6);
    assert_int_equal(stage_creates(scene, 1, 2), 0); // from the very start
    assert_int_equal(wharf_logged(scene, "the worker is cordoned"), 1);
    assert_int_equal(wharf_logged(scene, "the worker gets new workloads"), 0);
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "", "configmaps", "wharf-workers",
                                 "{\"data\":{\"w1\":null,\"w2\":\"{\\\"drain\\\":\\\"finish\\\"}\"}}"),
                     200);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && !stage_takes_work(scene, "w2"));
    // An entry that cannot be read changes nothing.
    assert_int_equal(
        scene_patch(scene, SCENE_MANAGEMENT, "", "configmaps", "wharf-workers", "{\"data\":{\"w2\":\"x\"}}"), 200);
    UNTIL(scene, 10, wharf_logged(scene, "its entry cannot be read") == 1);
    assert_false(stage_takes_work(scene, "w2"));
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "configmaps", "wharf-workers"), 200);
    UNTIL(scene, 10, stage_takes_work(scene, "w2"));
    stage_close(scene);
}

// What the host has recorded of a worker; NULL: nothing. free()
static char *record_of(struct scene *scene, const char *worker) {
    struct scene_cluster *management = &scene->clusters[SCENE_MANAGEMENT];
    AUTO_TEXT key = text_format("known.wharf.dev/%s", worker);
    front_lock(management->front);
    const struct json *map = world_object(management->cluster, "", "configmaps", "default", "wharf-workers");
    const char *value = json_string(json_path(map, "metadata", "annotations", key, NULL));
    char *copy = value ? strdup(value) : NULL;
    front_unlock(management->front);
    return copy;
}

static bool is_recorded(struct scene *scene, const char *worker, const char *source) {
    AUTO_TEXT record = record_of(scene, worker);
    const char *space = record ? strchr(record, ' ') : NULL;
    return source ? space && strcmp(space + 1, source) == 0 : record && !space;
}

static bool is_refused(struct scene *scene, const char *worker) {
    AUTO_TEXT sample = text_format("wharf_cluster_refused{cluster=\"%s\"}", worker);
    return wharf_metric(scene, sample) == 1;
}

// w1 is that of Secret w1, and what reports the uid of w2 is "aaa"; the configuration's w2 comes after it.
static void check_established(struct scene *scene) {
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2") && is_refused(scene, "aaa"));
    assert_true(wharf_logged(scene, "from=\"Secret default/a\" used=\"Secret default/w1\"") >= 1);
    assert_false(is_refused(scene, "w1") || is_refused(scene, "w2"));
    assert_true(is_recorded(scene, "w1", "Secret default/w1") && is_recorded(scene, "w2", NULL));
}

static void neither_a_name_nor_a_uid_is_lost_to_a_newcomer(void **state) {
    (void)state;
    struct scene *scene = begin(3, "2", OURS "workersFrom: {secrets: true, directory: workers.d}\n");
    AUTO_TEXT directory = path_in(scene, "workers.d");
    assert_int_equal(mkdir(directory, 0700), 0);
    add_secret(scene, "w1", "w1");
    stage_start(scene);
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    UNTIL(scene, 10, is_recorded(scene, "w1", "Secret default/w1") && is_recorded(scene, "w2", NULL));
    add_secret_with(scene, "a", "w3", "\"wharf.dev/worker-name\":\"w1\"");
    AUTO_TEXT record = record_of(scene, "w2"); // it knows even the uid
    AUTO_TEXT annotation = text_format("\"wharf.dev/cluster-uid\":\"%s\"", record);
    add_secret_with(scene, "aaa", "w2", annotation);
    check_established(scene);
    for (int i = 0; i < 2; i++) { // before w2 answers, too: the newcomer is connected first
        assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
        if (i == 1)
            write_config(scene, "", OURS "workersFrom: {secrets: true, directory: workers.d}\n");
        if (i == 1)
            copy_kubeconfig(scene, "w2", "workers.d", "w2.yaml");
        stage_start(scene);
        check_established(scene);
    }
    // A worker that has left is not known any longer.
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "secrets", "a"), 200);
    assert_int_equal(scene_delete(scene, SCENE_MANAGEMENT, "", "secrets", "w1"), 200);
    UNTIL(scene, 10, !knows(scene, "w1") && !is_recorded(scene, "w1", "Secret default/w1"));
    remove_in(scene, "workers.d", "w2.yaml");
    UNTIL(scene, 10, stage_takes_work(scene, "aaa") && is_recorded(scene, "aaa", "Secret default/aaa"));
    stage_close(scene);
}

static void a_secret_of_another_cluster_is_refused(void **state) {
    (void)state;
    struct scene *scene = begin(1, "", OURS "workersFrom: {secrets: true}\n");
    add_secret_with(scene, "w1", "w1", "\"wharf.dev/cluster-uid\":\"another\"");
    stage_start(scene);
    UNTIL(scene, 10, is_refused(scene, "w1"));
    assert_int_equal(wharf_logged(scene, "expected another as in annotation wharf.dev/cluster-uid"), 1);
    assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "", "secrets", "w1",
                                 "{\"metadata\":{\"annotations\":{\"wharf.dev/cluster-uid\":null}}}"),
                     200);
    UNTIL(scene, 10, stage_takes_work(scene, "w1"));
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_of_kubeconfigs_is_followed),
        cmocka_unit_test(secrets_add_change_and_remove_workers),
        cmocka_unit_test(workers_stay_when_a_restored_management_cluster_lacks_their_secrets),
        cmocka_unit_test(a_token_that_cannot_be_renewed_is_told_and_stays_in_use),
        cmocka_unit_test(a_worker_whose_secret_goes_finishes_what_it_has),
        cmocka_unit_test(a_valid_configuration_takes_effect_and_an_invalid_one_does_not),
        cmocka_unit_test(sighup_reads_the_configuration_again),
        cmocka_unit_test(a_mounted_config_map_is_followed),
        cmocka_unit_test(the_config_map_cordons_and_drains),
        cmocka_unit_test(neither_a_name_nor_a_uid_is_lost_to_a_newcomer),
        cmocka_unit_test(a_secret_of_another_cluster_is_refused),
        cmocka_unit_test(cluster_profiles_are_opened_with_the_plugin_of_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
