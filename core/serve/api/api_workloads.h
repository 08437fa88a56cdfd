// SPDX-License-Identifier: Apache-2.0
// Workloads as JSON: all, the changed ones, or one.
#pragma once

#include "core/engine/history/inspect.h"
#include "core/serve/api/api_internal.h"

#define WORKLOADS_SLICE ((size_t)500) // visited in one turn of the engine

struct listing { // a query and the progress
    const struct api_source *source;
    struct writer *out;
    // Filters; NULL: any.
    const struct kind *kind;
    const char *namespace_, *name, *cluster, *phase;
    bool changes;   // only workloads that changed, or went, after `after`
    size_t limit;   // of items; 0: none
    uint64_t after; // the last sequence visited
    uint64_t start; // the last one when the listing began; 0: not yet
    // Results.
    bool more;          // there may be more after `after`
    bool expired;       // `changes`: not all changes are known any more
    size_t count;       // items written
    struct buffer gone; // items of `gone`, with a maximum
    uint64_t *seen;     // hashes of the written ones, so that a workload that changes meanwhile is written once
    size_t cap_seen;
    bool out_of_memory;
};
// Appends items to the open array of `out`. Follow with listing_clear.
struct error *listing_run(struct listing *listing);
void listing_clear(struct listing *listing);
// The members `gone` and `sequence`.
void listing_put_end(const struct listing *listing, struct writer *out);

// The members of one workload.
void api_put_workload(const struct api_source *source, const struct workload_view *view, struct writer *out);
