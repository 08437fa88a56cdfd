// SPDX-License-Identifier: Apache-2.0
// Fencing in the host's decisions (docs/fencing.md): from when on the guard has certainly stopped the mirrors in an
// unreachable worker, and whether the guard of a reachable worker stops new mirrors.
#pragma once

#include "core/base/clock.h"
#include "core/config/engine_settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct entry;
struct json;
struct mirror;
struct worker_facts;

// The state of a worker's guards, see fence_lease.h. Masks of shards; without shards, bit 0.
struct fence_news {
    unsigned guards;  // number of live guards
    uint64_t guarded; // a guard watches the Lease of the shard
    uint64_t fencing; // a guard stops the mirrors of the shard now, or may
    uint32_t epoch;   // how often the configuration had enabled fencing when the connection read the Leases
    int64_t sure_ns;  // without another beat, the guards have stopped all mirrors by then (monotonic)
};

// Of one worker.
struct fence {
    bool known; // `news` is about the present connection
    struct fence_news news;
};

uint32_t engine_fence_epoch(const struct engine *engine);

// The shards of this host with Leases for the worker's guard that the host renews, if fencing is on: none unless the
// host has identified and accepted the worker and watches some kind there. Without shards, bit 0.
uint64_t engine_renews(const struct engine *engine, size_t cluster);

// Reads from a mirror whether the guard suspended the mirror.
void fence_read_mirror(struct engine *engine, struct mirror *mirror, const struct json *object);

// The connection is lost: the state of the guard is unknown from now on.
void fence_forget(struct engine *engine, size_t cluster);
// Rule 2: the host keeps the mirrors in the worker until then, however long the worker is unreachable; 0: no such time.
int64_t fence_until_ns(const struct engine *engine, const struct entry *entry, size_t cluster);
// The facts for decide().
void fence_refresh(const struct engine *engine, size_t cluster, struct worker_facts *facts);
// This host acquires the shard: the former holder may have renewed the Leases until now.
void fence_begin(struct engine *engine, uint32_t shard, struct moment now);
