// SPDX-License-Identifier: Apache-2.0
// Time: a monotonic clock for durations, the wall clock for timestamps in objects. Other modules take a `struct moment`
// as an argument instead of reading a clock, so that tests control time.
#pragma once

#include <pthread.h>
#include <stdbool.h>
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
