// SPDX-License-Identifier: Apache-2.0
// A histogram of durations with bounds that double. Written and read on one thread, or copied.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 16

// Bucket i counts durations of at most 2^i times the first bound, which its user knows; the last one has no bound.
struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    int64_t sum_ns;
};

static inline size_t histogram_bucket(int64_t first_ns, int64_t duration_ns) {
    size_t bucket = 0;
    while (bucket + 1 < HISTOGRAM_BUCKETS && duration_ns > first_ns << bucket)
        bucket++;
    return bucket;
}

static inline void histogram_add(struct histogram *histogram, int64_t first_ns, int64_t duration_ns) {
    histogram->buckets[histogram_bucket(first_ns, duration_ns)]++;
    histogram->sum_ns += duration_ns;
}

// The duration that `part` of all took at most, by interpolation in the bucket, or the last bound; 0: there is none.
static inline int64_t histogram_quantile(const struct histogram *histogram, int64_t first_ns, double part) {
    uint64_t total = 0, below = 0;
    for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
        total += histogram->buckets[b];
    double wanted = part * (double)total;
    for (size_t b = 0; b < HISTOGRAM_BUCKETS && total > 0; below += histogram->buckets[b++]) {
        uint64_t count = histogram->buckets[b];
        if ((double)(below + count) < wanted || count == 0)
            continue;
        int64_t low_ns = b > 0 ? first_ns << (b - 1) : 0, high_ns = first_ns << b;
        double share = (wanted - (double)below) / (double)count;
        return b + 1 == HISTOGRAM_BUCKETS ? low_ns : low_ns + (int64_t)(share * (double)(high_ns - low_ns));
    }
    return 0;
}
