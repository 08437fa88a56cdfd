// SPDX-License-Identifier: Apache-2.0
// How long a change of a mirror's status takes to the management cluster; and a world as a stopped host leaves it.
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arrivals {
    pthread_mutex_t mutex;
    size_t active;
    int64_t *sent_ns; // by number; 0: nothing is under way
    double *ms;
    size_t count, max, written;
};

static void on_status(void *ctx, const struct world_write *write) {
    struct arrivals *arrivals = ctx;
    if (write->verb != WORLD_UPDATE_STATUS || !write->now || write->status >= 300)
        return;
    size_t number = strtoul(write->name + 4, NULL, 10);
    pthread_mutex_lock(&arrivals->mutex);
    arrivals->written++;
    if (number < arrivals->active && arrivals->sent_ns[number] && arrivals->count < arrivals->max)
        arrivals->ms[arrivals->count++] = (double)(clock_now().mono_ns - arrivals->sent_ns[number]) / 1e6;
    if (number < arrivals->active)
        arrivals->sent_ns[number] = 0;
    pthread_mutex_unlock(&arrivals->mutex);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct bench_latency bench_percentiles(double *ms, size_t count) {
    if (count == 0)
        return (struct bench_latency){0};
    qsort(ms, count, sizeof *ms, by_size);
    return (struct bench_latency){
        .p50_ms = ms[count / 2], .p99_ms = ms[count * 99 / 100], .max_ms = ms[count - 1], .changes = count};
}

static size_t worker_of(const struct bench *bench, size_t number) {
    return 1 + number % (bench->n_clusters - 1);
}

// The k-th change of one Job: a pod becomes ready, or another one fails. Never refused, never the same twice in a row.
static void change(struct bench *bench, struct arrivals *arrivals, size_t number, size_t round) {
    char name[32], patch[128];
    size_t worker = worker_of(bench, number);
    snprintf(name, sizeof name, "job-%zu", number);
    snprintf(patch, sizeof patch,
             "{\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\",\"active\":1,\"ready\":%zu,\"failed\":%zu}}",
             round % 2, round);
    front_lock(bench->fronts[worker]);
    pthread_mutex_lock(&arrivals->mutex);
    arrivals->sent_ns[number] = clock_now().mono_ns;
    pthread_mutex_unlock(&arrivals->mutex);
    int status =
        world_patch(bench->clusters[worker], "batch", "jobs", "default", name, "status", patch, front_now_ns());
    front_unlock(bench->fronts[worker]);
    if (status != 200)
        bench_fail("a change was refused");
}

static void make_changes(struct bench *bench, struct arrivals *arrivals, size_t changes, double per_second) {
    static size_t round; // the statuses of one run are not those of the one before
    int64_t begin_ns = clock_now().mono_ns;
    for (size_t i = 0; i < changes; i++) {
        int64_t at_ns = begin_ns + (int64_t)((double)i / per_second * 1e9), left_ns = at_ns - clock_now().mono_ns;
        if (left_ns > 0)
            nanosleep(&(struct timespec){.tv_sec = left_ns / CLOCK_SECOND, .tv_nsec = left_ns % CLOCK_SECOND}, NULL);
        if (i % arrivals->active == 0)
            round++;
        change(bench, arrivals, i % arrivals->active, round);
    }
}

struct bench_changes bench_changes(struct bench *bench, size_t active, size_t changes, double per_second) {
    struct arrivals arrivals = {.active = active,
                                .sent_ns = calloc(active, sizeof(int64_t)),
                                .ms = calloc(changes, sizeof(double)),
                                .max = changes};
    if (!arrivals.ms || !arrivals.sent_ns)
        bench_fail("memory");
    pthread_mutex_init(&arrivals.mutex, NULL);
    front_lock(bench->fronts[0]);
    world_set_hook(bench->clusters[0], on_status, &arrivals);
    front_unlock(bench->fronts[0]);
    int64_t begin_ns = clock_now().mono_ns;
    make_changes(bench, &arrivals, changes, per_second);
    double seconds = (double)(clock_now().mono_ns - begin_ns) / 1e9;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    front_lock(bench->fronts[0]);
    world_set_hook(bench->clusters[0], NULL, NULL);
    front_unlock(bench->fronts[0]);
    struct bench_changes result = {.seconds = seconds,
                                   .latency = bench_percentiles(arrivals.ms, arrivals.count),
                                   .made = changes,
                                   .written = arrivals.written};
    free(arrivals.ms);
    free(arrivals.sent_ns);
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
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "job-%zu", i);
        size_t worker = worker_of(bench, i);
        AUTO_JSON job = bench_job(name, NULL, extra);
        AUTO_JSON mirror = json_copy(job);
        put_mark(job, "annotations", MARK_CLUSTER, world_name(bench->clusters[worker]));
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
