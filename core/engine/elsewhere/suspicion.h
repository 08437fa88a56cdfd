// SPDX-License-Identifier: Apache-2.0
// Whether a worker gets no new work since several workloads failed there for the same reason, see suspects.c.
#pragma once

#include "core/engine/engine_internal.h"

// The suspension: NULL: none. `until_ns` and `reason` are for messages.
static inline const struct suspect *suspicion_of(const struct engine *engine, size_t cluster) {
    const struct suspect *suspect = &engine->clusters[cluster].elsewhere;
    return suspect->until_ns > 0 ? suspect : NULL;
}
