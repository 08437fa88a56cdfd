// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/throttle.h"

static bool rested(const struct throttle *throttle, int64_t now_ns) {
    return throttle->count == 0 || now_ns - throttle->at_ns >= THROTTLE_REST_NS;
}

int64_t throttle_next(struct throttle *throttle, int64_t now_ns, uint32_t free) {
    if (rested(throttle, now_ns))
        throttle->count = 0;
    if (throttle->count < UINT32_MAX)
        throttle->count++;
    throttle->at_ns = now_ns;
    if (throttle->count <= free)
        return now_ns;
    // The rest period starts with the permitted repetition.
    throttle->at_ns = now_ns + clock_doubled(THROTTLE_FIRST_NS, throttle->count - free - 1, THROTTLE_MAX_NS);
    return throttle->at_ns;
}

bool throttle_is_hot(const struct throttle *throttle, int64_t now_ns, uint32_t free) {
    return !rested(throttle, now_ns) && throttle->count > free;
}

static int64_t window_of(const struct recent *recent) {
    return recent->window_ns ? recent->window_ns : CLOCK_MINUTE;
}

static struct recent at(const struct recent *recent, int64_t now_ns) {
    struct recent moved = *recent;
    int64_t window_ns = window_of(recent), age_ns = now_ns - recent->begun_ns;
    if (age_ns >= 2 * window_ns)
        moved.before = moved.now = 0;
    if (age_ns >= window_ns) {
        moved.before = moved.now;
        moved.now = 0;
        moved.begun_ns = age_ns < 2 * window_ns ? recent->begun_ns + window_ns : now_ns;
    }
    return moved;
}

void recent_add(struct recent *recent, int64_t began_ns, int64_t now_ns) {
    *recent = at(recent, now_ns);
    uint32_t *count = began_ns >= recent->begun_ns ? &recent->now : &recent->before;
    if (began_ns > recent->begun_ns - window_of(recent) && *count < UINT32_MAX)
        ++*count;
}

uint64_t recent_thousandths(const struct recent *recent, int64_t now_ns) {
    struct recent moved = at(recent, now_ns);
    uint64_t window_ms = (uint64_t)(window_of(recent) / CLOCK_MS),
             past_ms = (uint64_t)((now_ns - moved.begun_ns) / CLOCK_MS);
    return moved.now * UINT64_C(1000) + moved.before * UINT64_C(1000) * (window_ms - past_ms) / window_ms;
}
