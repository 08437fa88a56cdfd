// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window.h"

#include "core/base/clock.h"

#include <math.h>

#define PERIOD_NS (30 * CLOCK_SECOND)
#define PERIOD_ROUNDS 8 // at least so many times the limit are answered in a period
#define SAMPLE_MIN 4    // answers, before the window is changed
#define TOLERANCE 1.5   // times the least: latency varies by so much without a queue

void window_init(struct window *window, unsigned max, double qps, double burst, int64_t now_ns) {
    burst = burst < 1 ? 1 : burst;
    max = max > 0 && max < WINDOW_MAX ? max : WINDOW_MAX;
    *window = (struct window){.limit = max < WINDOW_FIRST ? max : WINDOW_FIRST,
                              .max = max,
                              .doubling = true,
                              .qps = qps,
                              .burst = burst,
                              .tokens = burst,
                              .period_ns = now_ns,
                              .refilled_ns = now_ns};
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

void window_was_full(struct window *window) {
    window->full = window->pressed = true;
}

static int64_t lesser(int64_t a_ns, int64_t b_ns) {
    return a_ns == 0 || (b_ns != 0 && b_ns < a_ns) ? b_ns : a_ns;
}

static void begin_sample(struct window *window) {
    window->answers = 0;
    window->taken_ns = window->least_ns = 0;
    window->full = false;
}

static void bound(struct window *window) {
    if (window->limit < 1)
        window->limit = 1;
    if (window->limit > window->max)
        window->limit = window->max;
}

// While requests wait all the time, each round trip has this host's own queue in it, less than half of the window:
// without a probe it would count as the least of the next period, and the queue would grow with each.
static void begin_period(struct window *window, int64_t now_ns) {
    for (int v = 0; v < WINDOW_VERBS; v++)
        window->least[v] = (struct window_least){.before_ns = window->least[v].now_ns};
    window->period_ns = now_ns;
    window->period_answers = 0;
    if (window->pressed) {
        window->probe = window->in_flight + SAMPLE_MIN;
        window->unprobed = window->limit;
        window->limit /= 2;
        bound(window);
    }
    window->pressed = false;
}

static void end_probe(struct window *window) {
    window->probe = 0;
    window->limit = window->unprobed;
    begin_sample(window);
}

// Those that were sent before it was shrunk do not shrink it again.
static void ease(struct window *window, int64_t sent_ns, int64_t now_ns) {
    if (sent_ns <= window->eased_ns)
        return;
    if (window->probe > 0)
        end_probe(window);
    window->limit /= 2;
    bound(window);
    begin_sample(window);
    window->doubling = false;
    window->eased_ns = now_ns;
}

// As Netflix's Gradient2Limit: of the present window, what the server takes without a queue, and its square root, which
// may wait there. A server whose round trips take ten times the least gets one request at a time, whoever else it is
// that loads it: the window alone, at most as large as the queue, would not show it.
static void decide(struct window *window) {
    double ratio = TOLERANCE * (double)window->least_ns / (double)window->taken_ns;
    double wanted = (ratio < 1 ? ratio : 1) * window->limit + sqrt(window->limit);
    if (ratio < 1)
        window->doubling = false;
    if (window->doubling)
        wanted = 3 * window->limit; // half of the way is taken
    if (wanted < window->limit || window->full)
        window->limit += (wanted - window->limit) / 2;
    bound(window);
    begin_sample(window);
}

void window_answered(struct window *window, enum window_verb verb, enum window_outcome outcome, int64_t round_trip_ns,
                     int64_t now_ns) {
    if (window->in_flight > 0)
        window->in_flight--;
    if (outcome == WINDOW_OVERLOADED)
        ease(window, now_ns - round_trip_ns, now_ns);
    if (window->probe > 0 && --window->probe == 0)
        end_probe(window);
    if (outcome != WINDOW_ANSWERED || round_trip_ns <= 0)
        return;
    if (window->probe == 0 && now_ns - window->period_ns >= PERIOD_NS &&
        window->period_answers >= PERIOD_ROUNDS * (uint32_t)window->limit)
        begin_period(window, now_ns);
    window->period_answers++;
    struct window_least *least = &window->least[verb];
    least->now_ns = lesser(least->now_ns, round_trip_ns);
    window->answers++;
    window->taken_ns += round_trip_ns;
    window->least_ns += lesser(least->now_ns, least->before_ns);
    if (window->probe == 0 && window->answers >= SAMPLE_MIN && window->answers >= (uint32_t)window->limit)
        decide(window);
}
