// SPDX-License-Identifier: Apache-2.0
// The exposition format: families, series and samples.
#pragma once

#include "core/serve/metrics/metrics.h"

struct label {
    const char *name, *value; // the last one has no name
};
#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})

// `labels` may be NULL, here as below.
void metrics_family(struct buffer *out, const char *name, const char *type, const char *help);
void metrics_sample(struct buffer *out, const char *name, const struct label *labels, uint64_t value);
void metrics_sample_double(struct buffer *out, const char *name, const struct label *labels, double value);
void metrics_sample_seconds(struct buffer *out, const char *name, const struct label *labels, int64_t value_ns);

// A family of one series without labels.
void metrics_single(struct buffer *out, const char *name, const char *type, const char *help, uint64_t value);

// The series of a histogram: `bounds_ns` has a bound for each bucket but the last. At most 3 labels.
void metrics_buckets(struct buffer *out, const char *name, const struct label *labels, const uint64_t *buckets,
                     const int64_t *bounds_ns, size_t n_buckets, int64_t sum_ns);

// A family of one histogram without labels.
void metrics_histogram(struct buffer *out, const char *name, const char *help, const struct histogram *histogram,
                       int64_t first_ns);

// metrics_families.c. The families that are fields of the snapshot.
void metrics_print_families(const struct host_snapshot *s, struct buffer *out);

// metrics.c
void metrics_print_process(const struct metrics_process *process, struct buffer *out);
