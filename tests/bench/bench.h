// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of the running host share: clusters served over HTTP in this process, and `wharf run` as a child.
#ifndef WHARF_BENCH_BENCH_H
#define WHARF_BENCH_BENCH_H

#include "tests/world/http_front.h"

#include <stdbool.h>
#include <sys/types.h>

#define BENCH_WORKERS 3
#define BENCH_CLUSTERS (BENCH_WORKERS + 1)
#define BENCH_ORIGIN "bench"

struct bench {
    char directory[64]; // temporary
    struct certs certs;
    bool tls;
    struct world_cluster *clusters[BENCH_CLUSTERS]; // [0] management
    struct front *fronts[BENCH_CLUSTERS];
    const char *build; // folder of wharf and the adapters
    char *adapters;    // what else is enabled, YAML; NULL: Jobs only
    pid_t host;        // 0: not running
    int64_t host_started_ns;
};

// Ends the process with a sentence.
void bench_fail(const char *what) __attribute__((noreturn));

// Clusters and kubeconfigs; Jobs are run by the worlds' controllers if `controllers`.
void bench_start(struct bench *bench, const char *build, bool tls, bool controllers);
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

// Whole lives of Jobs, closed loop: `in_flight` at a time until `count` are over.
struct bench_rate {
    double lives_per_second, writes_per_life, events_per_life, host_cpu_us;
    double bytes_per_life; // of JSON, both ways
    uint64_t refused;
};
struct bench_rate bench_lives(struct bench *bench, size_t count, size_t in_flight, const char *changes);

// The same with all kinds whose fixtures have an end, in turn; `kinds` is set to how many. The clusters were started
// with controllers, the host was not.
struct bench_rate bench_mix(struct bench *bench, size_t count, size_t in_flight, size_t *kinds);

// Bytes of JSON so far, in all clusters.
uint64_t bench_bytes(const struct bench *bench);
// Writes that all clusters took so far, Events among them, and refusals.
uint64_t bench_writes(struct bench *bench, uint64_t *events, uint64_t *refused);

// The same writes, by a bare libcurl loop in a process of its own. Lives a second.
double bench_bare_loop(struct bench *bench, size_t count, size_t in_parallel, int changes);

// From a change of a mirror's status in the worker to the patch that arrives at the management cluster.
struct bench_latency {
    double p50_ms, p99_ms, max_ms;
    size_t changes;
};
struct bench_latency bench_latency(struct bench *bench, size_t changes, double per_second);

// Puts workloads and their mirrors there, as a host that was stopped left them.
void bench_populate(struct bench *bench, size_t count, size_t extra);

#endif
