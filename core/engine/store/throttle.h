// SPDX-License-Identifier: Apache-2.0
// Delays repetitions for one workload: 1 s, doubling to 5 min, reset after 10 min of rest. The first `free` repetitions
// are not delayed, so that occasional ones are immediate.
#pragma once

#include "core/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_FIRST_NS (1 * CLOCK_SECOND)
#define THROTTLE_MAX_NS (5 * CLOCK_MINUTE)
#define THROTTLE_REST_NS (10 * CLOCK_MINUTE)

struct throttle {  // zero-initialised: nothing repeated yet
    int64_t at_ns; // time of the last one; during a delay: time of the next one
    uint32_t count;
};

// Counts one more repetition at `now_ns` (monotonic) and returns when the next one may be made; `now_ns` for the first
// `free` repetitions.
int64_t throttle_next(struct throttle *throttle, int64_t now_ns, uint32_t free);

// Whether the count exceeds `free`.
bool throttle_is_hot(const struct throttle *throttle, int64_t now_ns, uint32_t free);

// A count of starts within a sliding window, by default a minute: the starts in the present window, and a share of
// in the window before.
struct recent {
    int64_t window_ns; // 0: a minute
    int64_t begun_ns;
    uint32_t now, before;
};

void recent_add(struct recent *recent, int64_t began_ns, int64_t now_ns);
uint64_t recent_thousandths(const struct recent *recent, int64_t now_ns);
