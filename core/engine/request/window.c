// SPDX-License-Identifier: Apache-2.0
#include "core/engine/request/command.h"

#include <math.h>

#define SAMPLE_MIN 4  // answers before a change of the window
#define TOLERANCE 1.5 // times the shortest round trip: latency varies by this factor without a queue
#define AGING 64      // samples until the shortest round trip has nearly adapted to longer ones

void window_init(struct window *window, unsigned max, double qps, double burst, int64_t now_ns) {
    max = max > 0 && max < WINDOW_MAX ? max : WINDOW_MAX;
    *window = (struct window){.limit = max < WINDOW_FLOOR ? max : WINDOW_FLOOR, .max = max};
    window_set_rate(window, qps, burst, now_ns);
}

static void refill(struct window *window, int64_t now_ns) {
    if (now_ns <= window->refilled_ns)
        return;
    window->tokens += (double)(now_ns - window->refilled_ns) * window->qps / (double)CLOCK_SECOND;
    if (window->tokens > window->burst)
        window->tokens = window->burst;
    window->refilled_ns = now_ns;
}

void window_set_rate(struct window *window, double qps, double burst, int64_t now_ns) {
    bool had_limit = window->qps > 0;
    if (had_limit)
        refill(window, now_ns);
    window->qps = qps;
    window->burst = burst < 1 ? 1 : burst;
    window->refilled_ns = now_ns;
    if (!had_limit || window->tokens > window->burst)
        window->tokens = window->burst;
}

bool window_has_room(struct window *window, int64_t now_ns) {
    if (window->in_flight >= (uint32_t)window->limit)
        return false;
    if (window->qps <= 0)
        return true;
    refill(window, now_ns);
    return window->tokens >= 1;
}

int64_t window_next_ns(const struct window *window, int64_t now_ns) {
    if (window->in_flight >= (uint32_t)window->limit || window->qps <= 0)
        return CLOCK_NEVER;
    double wait_ns = (1 - window->tokens) / window->qps * (double)CLOCK_SECOND;
    return now_ns + (wait_ns < (double)CLOCK_MINUTE ? (int64_t)wait_ns + 1 : CLOCK_MINUTE);
}

void window_charge(struct window *window, double tokens) {
    if (window->qps > 0)
        window->tokens -= tokens;
}

void window_sent(struct window *window) {
    window->in_flight++;
    window_charge(window, 1);
}

static void begin_sample(struct window *window) {
    window->answers = 0;
    window->taken_ns = window->least_sum_ns = 0;
    window->full = false;
}

static void set_limit(struct window *window, double limit) {
    limit = limit < window->max ? limit : window->max;
    window->limit = limit > 1 ? limit : 1;
    begin_sample(window);
}

// Requests sent before a reduction do not reduce the window again.
static void ease(struct window *window, int64_t sent_ns, int64_t now_ns) {
    if (sent_ns <= window->eased_ns)
        return;
    set_limit(window, window->limit / 2);
    window->eased_ns = now_ns;
}

// As Netflix's Gradient2Limit: the part of the window that the server handles without a queue, and the square root of
// the window, which may wait there. The window moves half of the way, and up to the floor grows by at least one.
static void adjust(struct window *window) {
    double ratio = TOLERANCE * (double)window->least_sum_ns / (double)window->taken_ns;
    double limit = window->limit, wanted = (ratio < 1 ? ratio : 1) * limit + sqrt(limit);
    double least = limit >= WINDOW_FLOOR ? WINDOW_FLOOR : limit + (window->full ? 1 : 0);
    if (wanted < limit || window->full)
        limit += (wanted - limit) / 2;
    set_limit(window, limit > least ? limit : least);
}

// While no request waits, a longer round trip shows that the server has become slower.
static void learn(struct window *window, int64_t *least_ns, int64_t round_trip_ns) {
    if (*least_ns == 0 || round_trip_ns < *least_ns)
        *least_ns = round_trip_ns;
    else if (!window->full)
        *least_ns += (round_trip_ns - *least_ns) / AGING;
}

void window_answered(struct window *window, enum window_verb verb, enum window_outcome outcome, int64_t round_trip_ns,
                     int64_t now_ns) {
    if (window->in_flight > 0)
        window->in_flight--;
    if (outcome == WINDOW_OVERLOADED)
        ease(window, now_ns - round_trip_ns, now_ns);
    if (outcome != WINDOW_ANSWERED || round_trip_ns <= 0)
        return;
    learn(window, &window->least_ns[verb], round_trip_ns);
    window->answers++;
    window->taken_ns += round_trip_ns;
    window->least_sum_ns += window->least_ns[verb];
    if (window->answers >= SAMPLE_MIN && window->answers >= (uint32_t)window->limit)
        adjust(window);
}
