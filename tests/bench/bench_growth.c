// SPDX-License-Identifier: Apache-2.0
// How the host grows: the same changes a second with more workloads, of which most are idle, and more workers.
#include "tests/bench/bench.h"

#include "core/base/clock.h"

#include <stdio.h>
#include <time.h>

#define EXTRA 2200       // bytes of filling: workloads of 3 KB
#define ACTIVE_MAX 50    // of a worker's mirrors
#define ACTIVE_PART 10   // or one in so many
#define SETTLE_SECONDS 6 // what starting needed has been given back

struct state {
    size_t workloads, workers;
    double start_s, memory_mib, each_kib;
    double idle; // processor seconds a second
};

static void sleep_seconds(double seconds) {
    int64_t ns = (int64_t)(seconds * 1e9);
    nanosleep(&(struct timespec){.tv_sec = ns / CLOCK_SECOND, .tv_nsec = ns % CLOCK_SECOND}, NULL);
}

static void print_row(const struct state *state, double rate, const struct bench_changes *changes, double cpu_us) {
    printf("| %zu | %zu | %.0f | %.1f | %.0f | %.1f | %.2f | %.0f | %.0f | %.0f | %.1f | %.1f |\n", state->workloads,
           state->workers, rate, state->start_s, state->memory_mib, state->each_kib, state->idle * 100,
           (double)changes->made / changes->seconds, (double)changes->written / changes->seconds, cpu_us,
           changes->latency.p50_ms, changes->latency.p99_ms);
    fflush(stdout);
}

static void measure_rate(struct bench *bench, const struct state *state, double rate, double seconds) {
    size_t active = state->workloads / state->workers / ACTIVE_PART;
    active = (active < 1 ? 1 : active < ACTIVE_MAX ? active : ACTIVE_MAX) * state->workers;
    double per_second = rate * (double)state->workers;
    double begin = bench_host_cpu(bench);
    int64_t begin_ns = clock_now().mono_ns;
    struct bench_changes changes = bench_changes(bench, active, (size_t)(per_second * seconds), per_second);
    double idle = state->idle * (double)(clock_now().mono_ns - begin_ns) / 1e9;
    double cpu = bench_host_cpu(bench) - begin - idle;
    print_row(state, rate, &changes, cpu / (double)changes.made * 1e6);
}

static void measure(const char *build, size_t workloads, size_t workers, bool full) {
    struct bench bench;
    struct state state = {.workloads = workloads, .workers = workers};
    bench_start(&bench, &(struct bench_options){.build = build, .workers = workers, .tls = true});
    bench_host_start(&bench, "10m");
    double empty = (double)bench_host_rss(&bench);
    bench_host_stop(&bench);
    bench_populate(&bench, workloads, EXTRA);
    state.start_s = bench_host_start(&bench, "10m");
    sleep_seconds(SETTLE_SECONDS);
    double loaded = (double)bench_host_rss(&bench);
    state.memory_mib = loaded / 1048576;
    state.each_kib = (loaded - empty) / (double)workloads / 1024;
    double seconds = full ? 10 : 5, cpu = bench_host_cpu(&bench);
    sleep_seconds(seconds);
    state.idle = (bench_host_cpu(&bench) - cpu) / seconds;
    measure_rate(&bench, &state, 1, seconds);
    // As many in all as 50 workers with 1 and 2 with 100: what a change costs depends on how often threads wake for it.
    if (full)
        measure_rate(&bench, &state, workers == 2 ? 25 : 200 / (double)workers, seconds);
    measure_rate(&bench, &state, 100, seconds);
    bench_stop(&bench);
}

void bench_growth(const char *build, bool full, size_t only, size_t only_workers) {
    static const size_t workloads[] = {1000, 10000, 100000}, workers[] = {2, 50};
    printf("\n| workloads | workers | changes a second and worker | start, s | memory, MiB | each, KiB | idle, %% of a "
           "core "
           "| made a second | written a second | processor time a change, us | p50, ms | p99, ms |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < (full ? 3 : 2); i++)
        for (size_t k = 0; k < 2; k++)
            if ((only == 0 || only == workloads[i]) && (only_workers == 0 || only_workers == workers[k]))
                measure(build, workloads[i], workers[k], full);
}
