// SPDX-License-Identifier: Apache-2.0
// Why a worker would not get a workload now.
#ifndef WHARF_ENGINE_WORKER_REASON_H
#define WHARF_ENGINE_WORKER_REASON_H

#include "core/engine/engine_internal.h"

enum worker_obstacle {
    OBSTACLE_NONE,
    OBSTACLE_REFUSED,     // its identity
    OBSTACLE_UNREACHABLE, // its API server
    OBSTACLE_CONNECTING,
    OBSTACLE_KIND,     // does not serve it
    OBSTACLE_PAUSED,   // too many orphans
    OBSTACLE_SUSPECT,  // answers late
    OBSTACLE_CLOSED,   // cordoned, drained or leaving
    OBSTACLE_REJECTED, // it rejected the mirror
    OBSTACLE_OCCUPIED  // an object of the name is there
};

struct worker_reason {
    enum worker_obstacle obstacle; // NONE: it fits
    char brief[64];                // "quota exceeded"
    char text[384];                // a sentence without an end
    int64_t since_ns;              // monotonic; 0: not known
    int64_t until_ns;              // monotonic; CLOCK_NEVER: until something changes
    const char *reason;            // of a rejection, static; or NULL
};

void worker_reason_find(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t now_ns,
                        struct worker_reason *out);

// "0/3 workers accept it: w1 quota exceeded; w2 namespace missing; w3 cordoned". Appends.
void worker_reasons_put(const struct engine *engine, const struct entry *entry, int64_t now_ns, struct buffer *out);

#endif
