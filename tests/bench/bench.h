// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of the running host share: clusters served over HTTP in this process, and `wharf run` as a child.
#pragma once

#include "tests/world/http_front.h"

#include <stdbool.h>
#include <sys/types.h>

#define BENCH_WORKERS 3 // unless more are wanted
#define BENCH_CLUSTERS_MAX 51
#define BENCH_ORIGIN "bench"

struct bench_options {
    const char *build; // folder of wharf and the adapters
    size_t workers;    // 0: BENCH_WORKERS
    bool tls;
    bool controllers;         // Jobs are run by the worlds' controllers
    struct service_cost cost; // of each server
};

struct bench {
    char directory[64]; // temporary
    struct certs certs;
    bool tls;
    size_t n_clusters;
    struct world_cluster *clusters[BENCH_CLUSTERS_MAX]; // [0] management
    struct front *fronts[BENCH_CLUSTERS_MAX];
    const char *build;
    char *adapters; // what else is enabled, YAML; NULL: Jobs only
    pid_t host;     // 0: not running
    int64_t host_started_ns;
};

// Ends the process with a sentence.
void bench_fail(const char *what) __attribute__((noreturn));

// Clusters and kubeconfigs.
void bench_start(struct bench *bench, const struct bench_options *options);
void bench_stop(struct bench *bench);

// Starts `wharf run` with a config for these clusters and waits until it is in sync. Returns the seconds that it took.
double bench_host_start(struct bench *bench, const char *retention);
void bench_host_stop(struct bench *bench);

// Resident memory of the host in bytes (VmRSS).
int64_t bench_host_rss(const struct bench *bench);
// Processor time of the host so far, in seconds.
double bench_host_cpu(const struct bench *bench);

// A delegated Job as a user submits it; `extra` bytes of filling, in environment variables. For world_apply.
struct json *bench_job(const char *name, const char *changes, size_t extra);
void bench_submit(struct bench *bench, const struct json *job);

struct bench_latency {
    double p50_ms, p99_ms, max_ms;
    size_t changes;
};
// Of `count` times, which are sorted.
struct bench_latency bench_percentiles(double *ms, size_t count);

// Connections to all clusters since the last bench_count_connections.
struct bench_connections {
    uint64_t opened;
    size_t most_of_one; // open at a time to one cluster, without streams
    size_t most;        // the sum of these
};
void bench_count_connections(struct bench *bench);
struct bench_connections bench_connections(struct bench *bench);

// Whole lives of Jobs, closed loop: `in_flight` at a time until `count` are over.
struct bench_rate {
    double lives_per_second, writes_per_life, events_per_life, host_cpu_us;
    double bytes_per_life;    // of JSON, both ways
    double requests_per_life; // of any kind
    uint64_t refused;
    struct bench_connections connections;
    struct bench_latency status; // from a status in the worker to one in the management cluster that is as new; only
                                 // with `latency`
};
struct bench_rate bench_lives(struct bench *bench, size_t count, size_t in_flight, const char *changes, bool latency);

// The same with all kinds whose fixtures have an end, in turn; `kinds` is set to how many. The clusters were started
// with controllers, the host was not.
struct bench_rate bench_mix(struct bench *bench, size_t count, size_t in_flight, size_t *kinds);

// Bytes of JSON so far, in all clusters.
uint64_t bench_bytes(const struct bench *bench);
// Writes that all clusters took so far, Events among them, and refusals.
uint64_t bench_writes(struct bench *bench, uint64_t *events, uint64_t *refused);

// The same writes by a bare libcurl loop in a process of its own, over as many connections.
struct bench_bare {
    double lives_per_second, cpu_us;
    uint64_t opened; // connections
};
struct bench_bare bench_bare_loop(struct bench *bench, size_t count, const struct bench_connections *as, int changes);

// Changes the statuses of the mirrors of the first `active` workloads in turn, `per_second` in all, and measures the
// time from each to the patch that arrives at the management cluster. A change that is followed by another one before
// its patch arrives is not counted in the latency.
struct bench_changes {
    double seconds; // that it took to make them
    struct bench_latency latency;
    size_t made, written;
};
struct bench_changes bench_changes(struct bench *bench, size_t active, size_t changes, double per_second);

// Puts workloads and their mirrors there, as a host that was stopped left them.
void bench_populate(struct bench *bench, size_t count, size_t extra);

// How the cost of a change, memory and the start grow with workloads and workers: a table in Markdown. `full`: up to
// 100,000 workloads, and longer runs. `only` so many workloads, or workers; 0: all.
void bench_growth(const char *build, bool full, size_t only, size_t only_workers);
