// SPDX-License-Identifier: Apache-2.0
// A token bucket in one number: the time when the bucket is full again. A token is the time of one refill.
#pragma once

#include "core/base/clock.h"

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
