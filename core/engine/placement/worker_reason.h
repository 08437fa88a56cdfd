// SPDX-License-Identifier: Apache-2.0
// Why a worker would not get a workload now.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/placement/placement_view.h"

struct worker_reason {
    enum worker_obstacle obstacle; // NONE: it fits
    char brief[64];                // "quota exceeded"
    char text[384];                // a sentence without an end
    int64_t since_ns;              // monotonic; 0: not known
    int64_t until_ns;              // monotonic; CLOCK_NEVER: until something changes
    const char *reason;            // of a rejection, static; or NULL
};

// `view` (or NULL) is that of the entry as it is now.
void worker_reason_find(const struct engine *engine, const struct entry *entry, const struct placement_view *view,
                        size_t cluster, int64_t now_ns, struct worker_reason *out);

// "0/3 workers accept it: w1 quota exceeded; w2 namespace missing; w3 cordoned". Of many workers: "0/40 workers accept
// it: 38 cordoned; 2 unreachable". Appends.
void worker_reasons_put(struct engine *engine, struct entry *entry, int64_t now_ns, struct buffer *out);
