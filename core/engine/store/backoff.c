// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/backoff.h"

#include "core/engine/engine_internal.h"

// Rule 8.
int64_t backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns) {
    int64_t delay_ns = base_ns;
    for (unsigned i = 1; i < failures && delay_ns < max_ns; i++)
        delay_ns *= 2;
    if (delay_ns > max_ns)
        delay_ns = max_ns;
    return delay_ns + (int64_t)random_below(&engine->random, (uint64_t)delay_ns / 2 + 1);
}
