// SPDX-License-Identifier: Apache-2.0
// The requests of workloads against the free capacity of workers (docs/capacity.md). A placed workload has a
// reservation in the worker until the view of the nodes should have the pods. A worker with
// unknown free capacity gets no workload that requests pods.
#pragma once

#include "core/engine/engine_internal.h"

#define CAPACITY_STALE_NS (60 * CLOCK_SECOND)   // how long a view counts after the loss of the watch
#define CAPACITY_RESERVE_NS (30 * CLOCK_SECOND) // how long a mirror may take to get pods
#define CAPACITY_SEEN_NS (3 * CLOCK_SECOND)     // from the start of the mirror, until the pods are in the view
#define CAPACITY_RETRY_NS (30 * CLOCK_SECOND)   // at most, until the next try of a waiting workload

void capacity_left(struct engine *engine, size_t cluster); // the worker left

// Whether the workload fits into the worker's free capacity. If not, lowers *next_ns to the time of the next try.
bool capacity_fits(struct engine *engine, struct entry *entry, size_t cluster, int64_t *next_ns);
// Reserves the requests of an entry, after the placement.
void capacity_placed(struct engine *engine, struct entry *entry, size_t cluster);

// Why a waiting workload does not fit, in a few words ("lacks 3 nvidia.com/gpu"); false: the workload fits.
bool capacity_lacks(const struct engine *engine, const struct entry *entry, size_t cluster, char *out, size_t size);
// Why the free capacity of a worker is unknown; NULL: known or unlimited.
const char *capacity_problem(const struct engine *engine, size_t cluster);
// See free_capacity_fullness; 0: unknown.
unsigned capacity_fullness(struct engine *engine, struct entry *entry, size_t cluster);
// {"cpu": 61.5, "memory": 4096}: the sums of the worker's free resources, as in wharf_module.score. NULL: unknown or
// unlimited, or out of memory.
struct json *capacity_sums(const struct engine *engine, size_t cluster);

bool capacity_is_used(const struct engine *engine); // for some worker, free capacity has limits
