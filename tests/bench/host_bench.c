// SPDX-License-Identifier: Apache-2.0
// The running host against simulated clusters over HTTP: rates, memory, start, latency. Prints a table; nothing here
// fails on a time.
#include "tests/bench/bench.h"

#include "core/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIVES 12000
#define IN_FLIGHT 4000
#define COSTLY_LIVES 4000
#define COSTLY_IN_FLIGHT 500
#define MIXED_LIVES 8000
#define CHANGES 3
#define WORKLOADS 50000
#define LATENCY_JOBS 200 // each changes once a second, see core/engine/status/act_status.c

static void row(const char *what, const char *wanted, int digits, double value) {
    printf("%-66s %-18s %10.*f\n", what, wanted, digits, value);
    fflush(stdout);
}

// The host beside a bare loop that has as many connections, on the same kind of servers.
static void lives(const struct bench_options *options, size_t count, size_t in_flight, const char *what) {
    struct bench bench;
    struct bench_options with_controllers = *options;
    const bool costs = options->cost.concurrency > 0;
    with_controllers.controllers = true;
    bench_start(&bench, &with_controllers);
    bench_host_start(&bench, "1ms");
    struct bench_rate rate = bench_lives(&bench, count, in_flight, "3", costs);
    bench_stop(&bench);
    bench_start(&bench, options);
    struct bench_bare bare = bench_bare_loop(&bench, count, &rate.connections, CHANGES);
    bench_stop(&bench);
    char text[128];
    snprintf(text, sizeof text, "whole lives of Jobs %s, a second", what);
    row(text, options->tls ? "" : ">= 1500 or 80 %", 0, rate.lives_per_second);
    row("  the same writes by a bare libcurl loop with as many connections", "", 0, bare.lives_per_second);
    // Under load several changes become one write, which the loop does not do.
    double writes = (rate.writes_per_life + rate.events_per_life) / (3 + CHANGES);
    row("  of the bare loop, percent", costs ? ">= 80" : "", 0, rate.lives_per_second / bare.lives_per_second * 100);
    row("  writes a second, of the bare loop's, percent", "", 0,
        rate.lives_per_second / bare.lives_per_second * writes * 100);
    row("  connections open at a time to one server, without streams", "", 0, (double)rate.connections.most_of_one);
    row("  connections opened", "", 0, (double)rate.connections.opened);
    row("  by the bare loop", "", 0, (double)bare.opened);
    row("  requests a life", "", 3, rate.requests_per_life);
    row("  writes a life, with 3 status changes", "<= 6", 3, rate.writes_per_life);
    row("  Events a life", "<= 1", 3, rate.events_per_life);
    row("  writes refused", "0", 0, (double)rate.refused);
    row("  processor time of the host a life, us", "", 0, rate.host_cpu_us);
    row("  of the bare loop a life, us", "", 0, bare.cpu_us);
    if (!costs)
        return;
    row("  status latency, worker to management, p50 ms", "", 1, rate.status.p50_ms);
    row("    p99 ms", "", 1, rate.status.p99_ms);
}

static void rates(const char *build) {
    lives(&(struct bench_options){.build = build}, LIVES, IN_FLIGHT, "over HTTP");
}

static void tls(const char *build) {
    lives(&(struct bench_options){.build = build, .tls = true}, LIVES, IN_FLIGHT, "over TLS");
}

// With a cost of 2 ms for a write the management server takes 2,000 of them a second, whoever sends them. Where it also
// takes processor time, as a real one does, it competes for the cores with its clients.
static void cost(const char *build) {
    struct bench_options options = {.build = build, .tls = true};
    options.cost = (struct service_cost){.read_ns = 1 * CLOCK_MS, .write_ns = 2 * CLOCK_MS, .concurrency = 4};
    lives(&options, COSTLY_LIVES, COSTLY_IN_FLIGHT, "over TLS, 2 ms a write, 4 at a time");
    options.cost.burn_ns = CLOCK_MS / 2;
    lives(&options, COSTLY_LIVES, COSTLY_IN_FLIGHT, "the same, and 0.5 ms of processor time");
}

static void mix(const char *build) {
    struct bench bench;
    size_t kinds = 0;
    bench_start(&bench, &(struct bench_options){.build = build, .controllers = true});
    bench_host_start(&bench, "1ms");
    struct bench_rate jobs = bench_lives(&bench, LIVES, IN_FLIGHT, "3", false);
    bench_stop(&bench);
    bench_start(&bench, &(struct bench_options){.build = build, .controllers = true});
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
    bench_start(&bench, &(struct bench_options){.build = build, .tls = true});
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
    bench_start(&bench, &(struct bench_options){.build = build});
    bench_populate(&bench, LATENCY_JOBS, 0);
    bench_host_start(&bench, "10m");
    struct bench_latency result = bench_changes(&bench, LATENCY_JOBS, 4000, 200).latency;
    bench_stop(&bench);
    if (result.changes < 2000)
        bench_fail("changes did not arrive");
    row("status latency at 200 changes a second, worker to patch, p50 ms", "", 2, result.p50_ms);
    row("  p99 ms", "< 2", 2, result.p99_ms);
    row("  worst ms", "", 2, result.max_ms);
}

static void growth(const char *build) {
    bench_growth(build, false, 0, 0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const char *build);
    } parts[] = {{"rates", rates},   {"tls", tls},         {"cost", cost},    {"mix", mix},
                 {"memory", memory}, {"latency", latency}, {"growth", growth}};
    const char *build = argc > 1 ? argv[1] : "build", *only = argc > 2 ? argv[2] : NULL;
    bool any = only && strcmp(only, "full-growth") == 0;
    if (any)
        bench_growth(build, true, argc > 3 ? (size_t)strtoull(argv[3], NULL, 10) : 0,
                     argc > 4 ? (size_t)strtoull(argv[4], NULL, 10) : 0);
    else
        printf("%-66s %-18s %10s\n", "what", "to reach", "found");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!only || strcmp(only, parts[i].name) == 0) {
            parts[i].run(build);
            any = true;
        }
    if (!any)
        bench_fail("there is no such part: it is rates, tls, cost, mix, memory, latency, growth or full-growth");
    return 0;
}
