// SPDX-License-Identifier: Apache-2.0
// The running host against simulated clusters over HTTP: rates, memory, start, latency. Prints a table; nothing here
// fails on a time.
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIVES 12000
#define MIXED_LIVES 8000
#define CHANGES 3
#define WORKLOADS 50000

static void row(const char *what, const char *wanted, int digits, double value) {
    printf("%-66s %-18s %10.*f\n", what, wanted, digits, value);
    fflush(stdout);
}

static void rates(const char *build) {
    struct bench bench;
    bench_start(&bench, build, false, false);
    double bare = bench_bare_loop(&bench, LIVES, 32, CHANGES);
    bench_stop(&bench);
    bench_start(&bench, build, false, true);
    bench_host_start(&bench, "1ms");
    struct bench_rate rate = bench_lives(&bench, LIVES, 4000, "3");
    bench_stop(&bench);
    row("the same writes by a bare libcurl loop, lives a second", "", 0, bare);
    row("whole lives of Jobs over HTTP, a second", ">= 1500 or 80 %", 0, rate.lives_per_second);
    row("  of the bare loop, percent", "", 0, rate.lives_per_second / bare * 100);
    row("  writes a life, with 3 status changes", "<= 6", 3, rate.writes_per_life);
    row("  Events a life", "<= 1", 3, rate.events_per_life);
    row("  writes refused", "0", 0, (double)rate.refused);
    row("  processor time of the host a life, us", "", 0, rate.host_cpu_us);
}

static void tls(const char *build) {
    struct bench bench;
    bench_start(&bench, build, true, true);
    bench_host_start(&bench, "1ms");
    struct bench_rate rate = bench_lives(&bench, LIVES, 4000, "3");
    bench_stop(&bench);
    row("whole lives of Jobs over TLS, a second", "", 0, rate.lives_per_second);
    row("  processor time of the host a life, us", "", 0, rate.host_cpu_us);
}

static void mix(const char *build) {
    struct bench bench;
    size_t kinds = 0;
    bench_start(&bench, build, false, true);
    bench_host_start(&bench, "1ms");
    struct bench_rate jobs = bench_lives(&bench, LIVES, 4000, "3");
    bench_stop(&bench);
    bench_start(&bench, build, false, true);
    struct bench_rate mixed = bench_mix(&bench, MIXED_LIVES, 2000, &kinds);
    bench_stop(&bench);
    double of_jobs = jobs.lives_per_second * jobs.bytes_per_life,
           of_all = mixed.lives_per_second * mixed.bytes_per_life;
    row("kinds in the mix", "", 0, (double)kinds);
    row("  whole lives over HTTP, a second", "", 0, mixed.lives_per_second);
    row("  JSON a life, all kinds, KB", "", 1, mixed.bytes_per_life / 1000);
    row("  JSON a life, Jobs only, KB", "", 1, jobs.bytes_per_life / 1000);
    row("  MB of JSON a second, all kinds", "", 1, of_all / 1e6);
    row("  MB of JSON a second, Jobs only", "", 1, of_jobs / 1e6);
    row("  rate of the mix, of Jobs only, for each byte of JSON, percent", ">= 70", 0, of_all / of_jobs * 100);
    row("  processor time of the host for each byte, of Jobs only, percent", "", 0,
        mixed.host_cpu_us / mixed.bytes_per_life / (jobs.host_cpu_us / jobs.bytes_per_life) * 100);
    row("  writes refused", "0", 0, (double)mixed.refused);
}

static void memory(const char *build) {
    struct bench bench;
    bench_start(&bench, build, true, false);
    bench_host_start(&bench, "10m");
    double idle = (double)bench_host_rss(&bench);
    bench_host_stop(&bench);
    bench_populate(&bench, WORKLOADS, 2200);
    double seconds = bench_host_start(&bench, "10m");
    nanosleep(&(struct timespec){.tv_sec = 6}, NULL); // at rest: what starting needed has been given back
    double full = (double)bench_host_rss(&bench);
    bench_stop(&bench);
    row("resident memory idle, 1 + 3 clusters over TLS, MiB", "< 12", 1, idle / 1048576);
    row("start with 50000 workloads and mirrors of 3 KB, in sync after s", "< 10", 1, seconds);
    row("resident memory with them, MiB", "", 1, full / 1048576);
    row("  more for each, KiB", "<= 8", 2, (full - idle) / WORKLOADS / 1024);
}

static void latency(const char *build) {
    struct bench bench;
    bench_start(&bench, build, false, false);
    struct bench_latency result = bench_latency(&bench, 4000, 200);
    bench_stop(&bench);
    row("status latency at 200 changes a second, worker to patch, p50 ms", "", 2, result.p50_ms);
    row("  p99 ms", "< 2", 2, result.p99_ms);
    row("  worst ms", "", 2, result.max_ms);
}

int main(int argc, char **argv) {
    const char *build = argc > 1 ? argv[1] : "build", *only = argc > 2 ? argv[2] : "";
    printf("%-66s %-18s %10s\n", "what", "to reach", "found");
    if (!*only || strcmp(only, "rates") == 0)
        rates(build);
    if (!*only || strcmp(only, "tls") == 0)
        tls(build);
    if (!*only || strcmp(only, "mix") == 0)
        mix(build);
    if (!*only || strcmp(only, "memory") == 0)
        memory(build);
    if (!*only || strcmp(only, "latency") == 0)
        latency(build);
    return 0;
}
