// SPDX-License-Identifier: Apache-2.0
// A histogram of durations with bounds that double. Written and read on one thread, or copied.
#ifndef WHARF_BASE_HISTOGRAM_H
#define WHARF_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 16

// Bucket i counts durations of at most 2^i times the first bound, which its user knows; the last one has no bound.
struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    int64_t sum_ns;
};

static inline void histogram_add(struct histogram *histogram, int64_t first_ns, int64_t duration_ns) {
    size_t bucket = 0;
    while (bucket + 1 < HISTOGRAM_BUCKETS && duration_ns > first_ns << bucket)
        bucket++;
    histogram->buckets[bucket]++;
    histogram->sum_ns += duration_ns;
}

#endif
