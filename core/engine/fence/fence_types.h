// SPDX-License-Identifier: Apache-2.0
// What the engine is told of fencing, and keeps of it; see fence.h.
#pragma once

#include "core/config/engine_settings.h"

#include <stdbool.h>
#include <stdint.h>

// What the connection to a worker knows of the guards there, see fence_lease.h. Masks of shards; without shards, bit 0.
struct fence_news {
    unsigned guards;  // that are alive
    uint64_t guarded; // one of them watches the shard's Lease
    uint64_t fencing; // one of them stops the shard's mirrors now, or may
    uint32_t epoch;   // how often fencing had been enabled while the engine ran, when this was read
    int64_t sure_ns;  // if none is heard again, what runs there was stopped by then (monotonic)
};

// Of one worker.
struct fence {
    bool known; // what the guard does, since the worker is connected
    struct fence_news news;
};
