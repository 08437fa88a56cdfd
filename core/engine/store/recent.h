// SPDX-License-Identifier: Apache-2.0
// A count of starts within a sliding window, by default a minute: those of the present window, and a share of the
// window before.
#pragma once

#include "core/base/clock.h"

#include <stdint.h>

struct recent {
    int64_t window_ns; // 0: a minute
    int64_t begun_ns;
    uint32_t now, before;
};

void recent_add(struct recent *recent, int64_t began_ns, int64_t now_ns);
uint64_t recent_thousandths(const struct recent *recent, int64_t now_ns);
