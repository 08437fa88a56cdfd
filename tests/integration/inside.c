// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/inside.h"

#include "core/base/log.h"
#include "core/kube/transport/curl_transport.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_S 60

struct inside {
    struct scene *scene;
    struct config *config;
    struct adapters *adapters;
    struct host *host;
    pthread_t thread;
    int log;
    uint64_t revisions[10]; // of w0 to w9
};

static void must(struct error *error) {
    if (error)
        fail_msg("%s", error_text(error));
}

static void *run_host(void *arg) {
    return host_run(arg);
}

static void load(struct inside *inside) {
    AUTO_TEXT path = text_format("%s/wharf.yaml", inside->scene->directory);
    AUTO_TEXT log = text_format("%s/wharf.log", inside->scene->directory);
    struct problems problems = {0};
    must(config_load(path, &problems, &inside->config));
    assert_non_null(inside->config);
    inside->log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(inside->log >= 0);
    log_to(inside->log);
    log_setup(LOG_TEXT, LOG_INFO);
    struct adapters_options options = config_adapters_of(inside->config, inside->config->controller_name);
    must(adapters_load(&options, &problems, &inside->adapters));
    must(curl_transport_setup());
    must(host_new(inside->config, inside->adapters, &inside->host));
    problems_free(&problems);
}

struct inside *inside_run(struct scene *scene, const char *workers) {
    struct inside *inside = calloc(1, sizeof *inside);
    assert_non_null(inside);
    inside->scene = scene;
    load(inside);
    inside_set(inside, workers, REMOVAL_FINISH);
    assert_int_equal(pthread_create(&inside->thread, NULL, run_host, inside->host), 0);
    AUTO_TEXT copy = strdup(workers);
    for (char *at = copy, *name; (name = strsep(&at, " "));)
        UNTIL(scene, 15, inside_takes_work(inside, name));
    return inside;
}

void inside_end(struct inside *inside) {
    int64_t begin_ns = clock_now().mono_ns;
    void *error = NULL;
    host_stop(inside->host);
    pthread_join(inside->thread, &error);
    must(error);
    host_free(inside->host);
    adapters_free(inside->adapters);
    config_free(inside->config);
    log_to(2);
    close(inside->log);
    assert_true(clock_now().mono_ns - begin_ns < END_S * STAGE_SLOW * CLOCK_SECOND);
    free(inside);
}

static void fill(struct inside *inside, struct worker_spec *spec, const char *token) {
    size_t name = strcspn(token, "=*!");
    const char *from = token[name] == '=' ? token + name + 1 : token, *policy = strchr(token, '!');
    spec->settings.name = strndup(token, name);
    spec->origin_text = strdup("the test");
    spec->kubeconfig_path =
        text_format("%s/%.*s.kubeconfig", inside->scene->directory, (int)strcspn(from, "=*!"), from);
    spec->context = strdup("");
    assert_true(spec->settings.name && spec->origin_text && spec->kubeconfig_path && spec->context);
    uint64_t *revision = &inside->revisions[(token[1] - '0') % 10];
    *revision += strchr(token, '*') ? 1 : 0;
    spec->revision = *revision;
    spec->cordoned = policy && strcmp(policy, "!cordoned") == 0;
    if (policy && !spec->cordoned)
        spec->drain = strcmp(policy, "!move") == 0 ? DRAIN_MOVE : DRAIN_FINISH;
}

void inside_set(struct inside *inside, const char *workers, enum removal removal) {
    struct worker_spec *specs = calloc(SCENE_CLUSTERS, sizeof *specs);
    assert_non_null(specs);
    size_t count = 0;
    AUTO_TEXT copy = strdup(workers);
    for (char *at = copy, *token; (token = strsep(&at, " "));)
        if (*token)
            fill(inside, &specs[count++], token);
    host_set_workers(inside->host, specs, count, removal);
}

// Passes its stats to `read`; 0 if there is no such cluster.
static uint64_t of_cluster(struct inside *inside, const char *name,
                           uint64_t (*read)(const struct stats_cluster *cluster)) {
    struct host_snapshot snapshot;
    must(host_snapshot(inside->host, &snapshot));
    uint64_t result = 0;
    for (size_t c = 0; c < snapshot.stats.n_clusters; c++) {
        assert_ptr_equal(snapshot.names[c], snapshot.stats.clusters[c].name);
        if (strcmp(snapshot.names[c], name) == 0)
            result = read(&snapshot.stats.clusters[c]);
    }
    host_snapshot_free(&snapshot);
    return result;
}

static uint64_t one(const struct stats_cluster *cluster) {
    return cluster->name[0] != '\0';
}

static uint64_t eligible(const struct stats_cluster *cluster) {
    return cluster->watches[0].eligible;
}

static uint64_t leaving(const struct stats_cluster *cluster) {
    return cluster->leaving;
}

static uint64_t refused(const struct stats_cluster *cluster) {
    return *cluster->refused != '\0';
}

static uint64_t losses(const struct stats_cluster *cluster) {
    return cluster->watches[0].losses;
}

static uint64_t failures(const struct stats_cluster *cluster) {
    uint64_t count = 0;
    for (size_t v = 0; v < STATS_VERBS; v++)
        for (size_t r = 0; r < STATS_REASONS; r++)
            if (r != REASON_OK && r != REASON_CONFLICT)
                count += cluster->answers[v][r];
    return count;
}

bool inside_has(struct inside *inside, const char *worker) {
    return of_cluster(inside, worker, one);
}

bool inside_takes_work(struct inside *inside, const char *worker) {
    return of_cluster(inside, worker, eligible);
}

bool inside_is_leaving(struct inside *inside, const char *worker) {
    return of_cluster(inside, worker, leaving);
}

bool inside_is_refused(struct inside *inside, const char *worker) {
    return of_cluster(inside, worker, refused);
}

uint64_t inside_losses(struct inside *inside, const char *worker) {
    return of_cluster(inside, worker, losses);
}

uint64_t inside_failures(struct inside *inside, const char *cluster) {
    return of_cluster(inside, cluster, failures);
}

uint64_t inside_unknown(struct inside *inside, const char *worker) {
    struct host_snapshot snapshot;
    must(host_snapshot(inside->host, &snapshot));
    uint64_t count = 0;
    for (size_t i = 0; i < snapshot.stats.n_unknown; i++)
        if (strcmp(snapshot.stats.unknown[i].name, worker) == 0)
            count = snapshot.stats.unknown[i].workloads;
    host_snapshot_free(&snapshot);
    return count;
}
