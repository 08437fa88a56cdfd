// SPDX-License-Identifier: Apache-2.0
// How long a change of a mirror's status takes to the management cluster; and a world as a stopped host leaves it.
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LATENCY_JOBS 100

struct arrivals {
    pthread_mutex_t mutex;
    int64_t sent_ns[LATENCY_JOBS];
    double *ms;
    size_t count, max;
};

static void on_status(void *ctx, const struct world_write *write) {
    struct arrivals *arrivals = ctx;
    if (write->verb != WORLD_UPDATE_STATUS || !write->now || write->status >= 300)
        return;
    size_t number = strtoul(write->name + 4, NULL, 10) % LATENCY_JOBS;
    pthread_mutex_lock(&arrivals->mutex);
    if (arrivals->sent_ns[number] && arrivals->count < arrivals->max)
        arrivals->ms[arrivals->count++] = (double)(clock_now().mono_ns - arrivals->sent_ns[number]) / 1e6;
    arrivals->sent_ns[number] = 0;
    pthread_mutex_unlock(&arrivals->mutex);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// The k-th change of one Job: a pod becomes ready, or another one fails. Never refused, never the same twice in a row.
static void change(struct bench *bench, struct arrivals *arrivals, size_t number, size_t round) {
    char name[32], patch[128];
    snprintf(name, sizeof name, "job-%zu", number);
    snprintf(patch, sizeof patch,
             "{\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\",\"active\":1,\"ready\":%zu,\"failed\":%zu}}",
             round % 2, round);
    for (size_t c = 1; c < BENCH_CLUSTERS; c++) {
        front_lock(bench->fronts[c]);
        bool here = world_object(bench->clusters[c], "batch", "jobs", "default", name);
        if (here) {
            pthread_mutex_lock(&arrivals->mutex);
            arrivals->sent_ns[number] = clock_now().mono_ns;
            pthread_mutex_unlock(&arrivals->mutex);
            world_patch(bench->clusters[c], "batch", "jobs", "default", name, "status", patch, front_now_ns());
        }
        front_unlock(bench->fronts[c]);
        if (here)
            return;
    }
}

struct bench_latency bench_latency(struct bench *bench, size_t changes, double per_second) {
    struct arrivals arrivals = {.ms = calloc(changes, sizeof(double)), .max = changes};
    if (!arrivals.ms)
        bench_fail("memory");
    pthread_mutex_init(&arrivals.mutex, NULL);
    bench_populate(bench, LATENCY_JOBS, 0);
    bench_host_start(bench, "10m");
    front_lock(bench->fronts[0]);
    world_set_hook(bench->clusters[0], on_status, &arrivals);
    front_unlock(bench->fronts[0]);
    int64_t begin_ns = clock_now().mono_ns;
    for (size_t i = 0; i < changes; i++) {
        int64_t at_ns = begin_ns + (int64_t)((double)i / per_second * 1e9), left_ns = at_ns - clock_now().mono_ns;
        if (left_ns > 0)
            nanosleep(&(struct timespec){.tv_sec = left_ns / CLOCK_SECOND, .tv_nsec = left_ns % CLOCK_SECOND}, NULL);
        change(bench, &arrivals, i % LATENCY_JOBS, i / LATENCY_JOBS + 1);
    }
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    front_lock(bench->fronts[0]);
    world_set_hook(bench->clusters[0], NULL, NULL);
    front_unlock(bench->fronts[0]);
    size_t n = arrivals.count;
    if (n < changes / 2)
        bench_fail("changes did not arrive");
    qsort(arrivals.ms, n, sizeof *arrivals.ms, by_size);
    struct bench_latency result = {
        .p50_ms = arrivals.ms[n / 2], .p99_ms = arrivals.ms[n * 99 / 100], .max_ms = arrivals.ms[n - 1], .changes = n};
    free(arrivals.ms);
    return result;
}

static void put_mark(struct json *object, const char *map, const char *key, const char *value) {
    struct json *metadata = json_get(object, "metadata");
    if (!json_get(metadata, map) && !json_set(metadata, map, json_new_object()))
        bench_fail("memory");
    if (!json_set(json_get(metadata, map), key, json_new_string(value)))
        bench_fail("memory");
}

void bench_populate(struct bench *bench, size_t count, size_t extra) {
    static const char *const names[] = {"", "w1", "w2", "w3"};
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "job-%zu", i);
        size_t worker = 1 + i % BENCH_WORKERS;
        AUTO_JSON job = bench_job(name, NULL, extra);
        AUTO_JSON mirror = json_copy(job);
        put_mark(job, "annotations", MARK_CLUSTER, names[worker]);
        put_mark(job, "annotations", MARK_ATTEMPT, "1");
        front_lock(bench->fronts[0]);
        world_apply(bench->clusters[0], "batch", "jobs", job, front_now_ns());
        const struct json *stored = world_object(bench->clusters[0], "batch", "jobs", "default", name);
        put_mark(mirror, "labels", MARK_UID, object_uid(stored));
        front_unlock(bench->fronts[0]);
        put_mark(mirror, "labels", MARK_ORIGIN, BENCH_ORIGIN);
        put_mark(mirror, "labels", MARK_KIND, "jobs.batch");
        put_mark(mirror, "annotations", MARK_ATTEMPT, "1");
        json_remove(json_get(mirror, "spec"), "managedBy");
        front_lock(bench->fronts[worker]);
        world_apply(bench->clusters[worker], "batch", "jobs", mirror, front_now_ns());
        front_unlock(bench->fronts[worker]);
    }
}
