// SPDX-License-Identifier: Apache-2.0
// Sums and products of amounts that other programs chose: beyond the range of an int64_t they are its nearest value.
#pragma once

#include <stdint.h>

static inline int64_t int64_plus(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t int64_times(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}
