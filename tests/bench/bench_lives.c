// SPDX-License-Identifier: Apache-2.0
// Whole lives of Jobs through the running host.
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANKS 4

// Lives that ended in the worker (the mirror was deleted by the host) and wait to be cleared away by the driver; and
// how long statuses were under way.
struct run {
    struct bench *bench;
    pthread_mutex_t mutex;
    pthread_cond_t some;
    size_t count; // of all lives
    uint32_t *finished;
    size_t n_finished;
    int64_t (*told_ns)[RANKS]; // by number: when the worker's status got that far; 0: not yet, or it is shown
    double *ms;
    size_t n_ms;
};

// How far a status of a Job of bench_job is: started, ready, over.
static unsigned rank_of(const struct json *job) {
    const struct json *status = json_get(job, "status");
    if (json_first(json_get(status, "conditions")))
        return 3;
    return json_int64(json_get(status, "ready"), 0) > 0 ? 2 : json_get(status, "startTime") ? 1 : 0;
}

static size_t number_of(const struct world_write *write) {
    return (size_t)strtoul(write->name + 4, NULL, 10);
}

static bool is_status(const struct run *run, const struct world_write *write) {
    return write->verb == WORLD_UPDATE_STATUS && write->now && write->status < 300 && number_of(write) < run->count;
}

static void on_worker_write(void *ctx, const struct world_write *write) {
    struct run *run = ctx;
    if (strcmp(write->plural, "jobs") != 0)
        return;
    pthread_mutex_lock(&run->mutex);
    if (write->verb == WORLD_DELETE && !write->now) {
        run->finished[run->n_finished++] = (uint32_t)number_of(write);
        pthread_cond_signal(&run->some);
    } else if (is_status(run, write)) {
        run->told_ns[number_of(write)][rank_of(write->now)] = clock_now().mono_ns;
    }
    pthread_mutex_unlock(&run->mutex);
}

// A status shows what led to it as well.
static void on_management_write(void *ctx, const struct world_write *write) {
    struct run *run = ctx;
    if (strcmp(write->plural, "jobs") != 0 || !is_status(run, write))
        return;
    pthread_mutex_lock(&run->mutex);
    int64_t *told_ns = run->told_ns[number_of(write)], now_ns = clock_now().mono_ns;
    for (unsigned rank = 1; rank <= rank_of(write->now); rank++) {
        if (told_ns[rank])
            run->ms[run->n_ms++] = (double)(now_ns - told_ns[rank]) / 1e6;
        told_ns[rank] = 0;
    }
    pthread_mutex_unlock(&run->mutex);
}

void bench_submit(struct bench *bench, const struct json *job) {
    front_lock(bench->fronts[0]);
    int status = world_apply(bench->clusters[0], "batch", "jobs", job, front_now_ns());
    front_unlock(bench->fronts[0]);
    if (status != 201)
        bench_fail("a Job was refused");
}

static void submit(struct bench *bench, uint32_t number, const char *changes) {
    char name[32];
    snprintf(name, sizeof name, "job-%u", number);
    AUTO_JSON job = bench_job(name, changes, 0);
    bench_submit(bench, job);
}

static void clear(struct bench *bench, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "job-%u", number);
    front_lock(bench->fronts[0]);
    world_delete(bench->clusters[0], "batch", "jobs", "default", name, "Background", front_now_ns());
    front_unlock(bench->fronts[0]);
}

uint64_t bench_writes(struct bench *bench, uint64_t *events, uint64_t *refused) {
    uint64_t writes = 0;
    for (size_t c = 0; c < bench->n_clusters; c++) {
        front_lock(bench->fronts[c]);
        const struct world_counts *counts = world_counts(bench->clusters[c]);
        for (int v = WORLD_CREATE; v <= WORLD_DELETE; v++)
            writes += counts->writes[v];
        *events += counts->events;
        for (size_t s = 400; s < 600; s++)
            *refused += counts->refused[s];
        front_unlock(bench->fronts[c]);
    }
    return writes;
}

static size_t take_finished(struct run *run, uint32_t *numbers) {
    pthread_mutex_lock(&run->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    while (run->n_finished == 0)
        if (pthread_cond_timedwait(&run->some, &run->mutex, &until) != 0)
            bench_fail("no Job came to its end for 30 s");
    size_t count = run->n_finished;
    memcpy(numbers, run->finished, count * sizeof *numbers);
    run->n_finished = 0;
    pthread_mutex_unlock(&run->mutex);
    return count;
}

// A hook makes writes slower. That of the management cluster is only set where its servers cost more than that.
static void set_hooks(struct run *run, bool set) {
    for (size_t c = 0; c < run->bench->n_clusters; c++) {
        struct front *front = run->bench->fronts[c];
        front_lock(front);
        if (c > 0 || run->ms)
            world_set_hook(run->bench->clusters[c], !set ? NULL : c > 0 ? on_worker_write : on_management_write, run);
        front_unlock(front);
    }
}

static void begin_run(struct run *run, struct bench *bench, size_t count, bool latency) {
    *run = (struct run){.bench = bench, .count = count, .finished = calloc(count, sizeof(uint32_t))};
    run->told_ns = calloc(count, sizeof *run->told_ns);
    run->ms = latency ? calloc(count * RANKS, sizeof(double)) : NULL;
    if (!run->finished || !run->told_ns || (latency && !run->ms))
        bench_fail("memory");
    pthread_mutex_init(&run->mutex, NULL);
    pthread_cond_init(&run->some, NULL);
    set_hooks(run, true);
}

static void end_run(struct run *run) {
    set_hooks(run, false);
    free(run->finished);
    free(run->told_ns);
    free(run->ms);
}

static void run_lives(struct run *run, size_t in_flight, const char *changes) {
    uint32_t *numbers = calloc(run->count, sizeof *numbers);
    if (!numbers)
        bench_fail("memory");
    size_t submitted = 0, over = 0;
    for (; submitted < in_flight && submitted < run->count; submitted++)
        submit(run->bench, (uint32_t)submitted, changes);
    while (over < run->count) {
        size_t n = take_finished(run, numbers);
        for (size_t i = 0; i < n; i++) {
            clear(run->bench, numbers[i]);
            if (submitted < run->count)
                submit(run->bench, (uint32_t)submitted++, changes);
        }
        over += n;
    }
    free(numbers);
}

static uint64_t requests_of(const struct bench *bench) {
    uint64_t requests = 0;
    for (size_t c = 0; c < bench->n_clusters; c++)
        requests += front_requests(bench->fronts[c]);
    return requests;
}

struct bench_rate bench_lives(struct bench *bench, size_t count, size_t in_flight, const char *changes, bool latency) {
    struct run run;
    begin_run(&run, bench, count, latency);
    bench_count_connections(bench);
    double cpu = bench_host_cpu(bench), n = (double)count;
    uint64_t bytes = bench_bytes(bench), requests = requests_of(bench);
    int64_t begin_ns = clock_now().mono_ns;
    run_lives(&run, in_flight, changes);
    double seconds = (double)(clock_now().mono_ns - begin_ns) / 1e9;
    struct bench_rate rate = {.lives_per_second = n / seconds,
                              .host_cpu_us = (bench_host_cpu(bench) - cpu) / n * 1e6,
                              .bytes_per_life = (double)(bench_bytes(bench) - bytes) / n};
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL); // the last Events
    uint64_t events = 0, writes = bench_writes(bench, &events, &rate.refused);
    // The user's own create and delete are not the host's.
    rate.writes_per_life = (double)(writes - events) / n - 2;
    rate.events_per_life = (double)events / n;
    rate.requests_per_life = (double)(requests_of(bench) - requests) / n;
    rate.connections = bench_connections(bench);
    if (latency)
        rate.status = bench_percentiles(run.ms, run.n_ms);
    end_run(&run);
    return rate;
}
