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
    int64_t wait_ns = THROTTLE_FIRST_NS;
    for (uint32_t i = free + 1; i < throttle->count && wait_ns < THROTTLE_MAX_NS; i++)
        wait_ns *= 2;
    wait_ns = wait_ns < THROTTLE_MAX_NS ? wait_ns : THROTTLE_MAX_NS;
    throttle->at_ns = now_ns + wait_ns; // the rest period starts with the permitted repetition
    return now_ns + wait_ns;
}

bool throttle_is_hot(const struct throttle *throttle, int64_t now_ns, uint32_t free) {
    return !rested(throttle, now_ns) && throttle->count > free;
}
