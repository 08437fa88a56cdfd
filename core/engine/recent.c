// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recent.h"

static int64_t window_of(const struct recent *c) {
    return c->window_ns ? c->window_ns : CLOCK_MINUTE;
}

static struct recent at(const struct recent *c, int64_t now_ns) {
    struct recent moved = *c;
    int64_t window_ns = window_of(c), age_ns = now_ns - c->begun_ns;
    if (age_ns >= 2 * window_ns)
        moved.before = moved.now = 0;
    if (age_ns >= window_ns) {
        moved.before = moved.now;
        moved.now = 0;
        moved.begun_ns = age_ns < 2 * window_ns ? c->begun_ns + window_ns : now_ns;
    }
    return moved;
}

void recent_add(struct recent *c, int64_t began_ns, int64_t now_ns) {
    *c = at(c, now_ns);
    uint32_t *count = began_ns >= c->begun_ns ? &c->now : &c->before;
    if (began_ns > c->begun_ns - window_of(c) && *count < UINT32_MAX)
        ++*count;
}

uint64_t recent_thousandths(const struct recent *c, int64_t now_ns) {
    struct recent moved = at(c, now_ns);
    uint64_t window_ms = (uint64_t)(window_of(c) / CLOCK_MS),
             past_ms = (uint64_t)((now_ns - moved.begun_ns) / CLOCK_MS);
    return moved.now * UINT64_C(1000) + moved.before * UINT64_C(1000) * (window_ms - past_ms) / window_ms;
}
