// SPDX-License-Identifier: Apache-2.0
// Time: a monotonic clock for durations, the wall clock for timestamps in objects, timers, token buckets, histograms.
// Other modules take a `struct moment` as an argument instead of reading a clock, so that tests control time.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_MS INT64_C(1000000)
#define CLOCK_SECOND INT64_C(1000000000)
#define CLOCK_MINUTE (60 * CLOCK_SECOND)
#define CLOCK_NEVER INT64_MAX

struct moment {
    int64_t mono_ns; // CLOCK_BOOTTIME: includes time suspended
    int64_t wall_ns; // nanoseconds since 1970-01-01T00:00:00Z
};

struct moment clock_now(void);

// CLOCK_MONOTONIC, for short durations.
int64_t clock_ticks(void);

// The processor time that the calling thread has used.
int64_t clock_processor(void);

// A condition with timed waits by CLOCK_MONOTONIC; pthread_cond_destroy().
void clock_condition_init(pthread_cond_t *out);
// Waits for such a condition for at most `for_ns`. False: that time is over.
bool clock_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t for_ns);

static inline int64_t clock_earlier(int64_t a_ns, int64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

static inline int64_t clock_later(int64_t a_ns, int64_t b_ns) {
    return a_ns > b_ns ? a_ns : b_ns;
}

// `for_ns` may be as long as the configuration takes.
static inline int64_t clock_after(int64_t ns, int64_t for_ns) {
    return ns > 0 && for_ns > CLOCK_NEVER - ns ? CLOCK_NEVER : ns + for_ns;
}

// A wait that doubles, from `first_ns`, so many times, to at most `max_ns`.
static inline int64_t clock_doubled(int64_t first_ns, uint32_t times, int64_t max_ns) {
    int64_t wait_ns = first_ns;
    for (uint32_t i = 0; i < times && wait_ns < max_ns; i++)
        wait_ns *= 2;
    return clock_earlier(wait_ns, max_ns);
}

#define CLOCK_RFC3339_MAX 32

// "2026-01-02T03:04:05Z" (metav1.Time: whole seconds, UTC).
void clock_rfc3339(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]);

// "2026-01-02T03:04:05.000000Z" (metav1.MicroTime: exactly six digits).
void clock_rfc3339_micro(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]);

// Reads RFC 3339 with any offset and any number of fraction digits. False if invalid, or not from 1824 to 2116: so the
// difference of any two times is in range.
bool clock_parse_rfc3339(const char *text, int64_t *wall_ns);

// Reads a Go duration ("1h30m", "250ms", "0"), not negative (time.ParseDuration). False if invalid or out of range.
bool clock_parse_duration(const char *text, int64_t *duration_ns);

// Formats a duration ("15m", "1h30m", "250ms").
void clock_duration_text(int64_t duration_ns, char out[CLOCK_RFC3339_MAX]);

// A token bucket in one number: the time when the bucket is full again. A token is the time of one refill.

// Takes a token, also from an empty bucket, which delays the next tokens.
static inline void bucket_spend(int64_t *full_ns, int64_t now_ns, int64_t token_ns) {
    *full_ns = clock_later(*full_ns, now_ns) + token_ns;
}

// Takes one of `burst` tokens. False: the bucket is empty.
static inline bool bucket_take(int64_t *full_ns, int64_t now_ns, int64_t token_ns, int64_t burst) {
    if (*full_ns - (burst - 1) * token_ns > now_ns)
        return false;
    bucket_spend(full_ns, now_ns, token_ns);
    return true;
}

// A histogram of durations with bounds that double. Written and read on one thread, or copied.

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

// A binary heap of timers, earliest first. A timer is embedded in the owner and stores the index, for moves and
// removals in O(log n).

#define HEAP_NOT_IN SIZE_MAX

struct timer {
    int64_t at_ns;
    size_t place; // index in the heap, or HEAP_NOT_IN
};

struct heap {
    struct timer **items;
    size_t count, capacity;
};

void heap_init(struct heap *heap);
void heap_free(struct heap *heap); // does not free the timers

void timer_init(struct timer *timer);

// Sets or moves a timer. False when out of memory; the timer is then unchanged. Moving does not allocate.
bool heap_set(struct heap *heap, struct timer *timer, int64_t at_ns);

// Does nothing if the timer is not in the heap.
void heap_remove(struct heap *heap, struct timer *timer);

// The earliest timer, or NULL. It is not removed.
struct timer *heap_first(const struct heap *heap);
