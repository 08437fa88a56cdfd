// SPDX-License-Identifier: Apache-2.0
// The limit of requests in flight to one API server: between 1 and WINDOW_MAX. An overload halves the limit: a 429, a
// 503 with Retry-After, or a timeout. Otherwise the limit grows back to WINDOW_FLOOR, however long answers take,
// since a busy machine answers slowly too, and Priority and Fairness protects the server. Above the floor it grows
// while round trips stay near the shortest one (like Netflix's concurrency limits, with the gradient of TCP Vegas):
// then the network takes the time. Pure: no clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_MAX 32
#define WINDOW_FLOOR 12 // see docs/performance.md, "In a burst, and beside others"

enum window_verb {
    WINDOW_READ,
    WINDOW_WRITE, // slower than a read: each has its own shortest round trip
    WINDOW_VERBS
};

enum window_outcome {
    WINDOW_ANSWERED,
    WINDOW_OVERLOADED, // 429, 503 with Retry-After, or no answer in time
    WINDOW_NOT_HEARD   // no sign of the server's load: not sent, or connection lost
};

struct window {
    double limit; // 1 to `max`
    double max;
    uint32_t in_flight;
    bool full;                      // of the present sample: a request had to wait for the window
    int64_t least_ns[WINDOW_VERBS]; // round trips; 0: none
    int64_t eased_ns;               // last reduction after an overload
    // The sample: round trips since the last decision.
    uint32_t answers;
    int64_t taken_ns, least_sum_ns; // sums of the round trips, and of the shortest ones
    // The upper bound of rateLimit: a token bucket.
    double qps, burst, tokens; // qps <= 0: no bound
    int64_t refilled_ns;
};

// `max`: most in flight, 0: WINDOW_MAX. `qps` <= 0: no rate limit. Times are monotonic.
void window_init(struct window *window, unsigned max, double qps, double burst, int64_t now_ns);

// Sets another rate limit; remaining tokens stay, within the new burst.
void window_set_rate(struct window *window, double qps, double burst, int64_t now_ns);

// Whether a request may go out now.
bool window_has_room(struct window *window, int64_t now_ns);
// The time of the next token: CLOCK_NEVER if only an answer makes room. Meaningful when there is no room.
int64_t window_next_ns(const struct window *window, int64_t now_ns);

// Counts a sent request, also beyond the limit for the few that cannot wait.
void window_sent(struct window *window);
// Takes tokens for requests beside the window.
void window_charge(struct window *window, double tokens);
// Records that work waited for the window.
void window_was_full(struct window *window);
// Counts an answer, `round_trip_ns` after the request (0: not known).
void window_answered(struct window *window, enum window_verb verb, enum window_outcome outcome, int64_t round_trip_ns,
                     int64_t now_ns);
