// SPDX-License-Identifier: Apache-2.0
// The host's metrics as Prometheus text (exposition format 0.0.4). Pure: everything printed comes from the arguments.
// docs/metrics.md has the list.
#pragma once

#include "core/host/host.h"
#include "core/host/lease/guard_run.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_process {
    uint64_t resident_bytes;
    double cpu_seconds;
    double start_seconds; // since 1970
    uint64_t log_lines_lost;
};

// From the operating system, about this process; 0: unknown.
void metrics_process_read(struct metrics_process *out);

// ERROR_LIMIT: the text does not fit the buffer, or memory ran out.
struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out);
// The same of `wharf guard`.
void guard_page_metrics(const struct guard_status *status, const struct metrics_process *process, struct buffer *out);

// metrics_text.c. The exposition format: families, series and samples.
struct label {
    const char *name, *value; // the last one has no name
};
#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})

// `labels` may be NULL, here as below. `type` NULL: a counter if the name ends with "_total", else a gauge.
void metrics_family(struct buffer *out, const char *name, const char *type, const char *help);
void metrics_sample(struct buffer *out, const char *name, const struct label *labels, uint64_t value);
void metrics_sample_double(struct buffer *out, const char *name, const struct label *labels, double value);
void metrics_sample_seconds(struct buffer *out, const char *name, const struct label *labels, int64_t value_ns);

// A family of one series without labels.
void metrics_single(struct buffer *out, const char *name, const char *help, uint64_t value);

// The series of a histogram: `bounds_ns` has a bound for each bucket but the last. At most 3 labels.
void metrics_buckets(struct buffer *out, const char *name, const struct label *labels, const uint64_t *buckets,
                     const int64_t *bounds_ns, size_t n_buckets, int64_t sum_ns);

// A family of one histogram without labels.
void metrics_histogram(struct buffer *out, const char *name, const char *help, const struct histogram *histogram,
                       int64_t first_ns);

// metrics_families.c. The families that are fields of the snapshot.
void metrics_print_families(const struct host_snapshot *s, struct buffer *out);

// health.c
// Whether the host is ready, and if not, why. A lost worker is normal operation: once the host has been in
// sync, only the management cluster can make the host unready.
#define HEALTH_STALL_NS (30 * CLOCK_SECOND)
#define GUARD_STALL_NS (60 * CLOCK_SECOND) // the thread of the guard runs every 15 s at least

// Whether the engine makes progress. Appends "ok\n", or a line with the duration of the stall.
bool health_alive(int64_t stalled_ns, struct buffer *out);

// Appends "ok\n", or one line a reason; and a line for each refused worker. `been_in_sync` is kept by the caller from
// call to call, false at first.
bool health_ready(const struct host_snapshot *snapshot, bool *been_in_sync, struct buffer *out);

// The same of `wharf guard`.
bool guard_page_alive(const struct guard_status *status, int64_t now_ns, struct buffer *out);
bool guard_page_ready(const struct guard_status *status, int64_t now_ns, struct buffer *out);
