// SPDX-License-Identifier: Apache-2.0
// The memory limits of one cluster. docs/memory.md has the table.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BUDGET_DEFAULT ((size_t)64 << 20)
#define BUDGET_LEAST ((size_t)32 << 20)
#define BUDGET_OBJECT_SIZE ((size_t)2 << 20) // more than etcd stores
#define BUDGET_OBJECT_NODES ((size_t)100000)
#define BUDGET_STATUS_SIZE ((size_t)256 << 10)

// One cluster's limits, owned by its thread. NULL means the defaults, without `stop`.
struct budget {
    size_t max_object_size;  // bytes of an object's JSON text after stripping
    size_t max_object_nodes; // JSON values in an object
    size_t max_status_size;  // bytes of an object's status (status_limit.h); 0, which is so at first: any
    size_t max_answer;       // decoded bytes of one response body
    size_t max_frame;        // bytes of one event of a watch
    size_t max_buffered;     // bytes of all incomplete responses and frames together
    size_t max_queued;       // bytes queued for the engine, see inbox.h
    size_t max_kept;         // bytes kept about other objects than workloads and mirrors: nodes, pods
    const atomic_bool *stop; // once true, parsing stops; may be NULL
    size_t buffered, kept;   // currently
};

// Divides `per_cluster` bytes among the limits; 0 selects the default for each argument.
void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop);

// The same for a budget in use: buffered and kept bytes stay counted. A message keeps a maximum that was set before.
void budget_resize(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes);

// The defaults if `budget` is NULL.
const struct budget *budget_or_default(const struct budget *budget);

// Counts `bytes` as buffered. False: over the maximum; counts nothing then. NULL: no limit.
bool budget_take(struct budget *budget, size_t bytes);
void budget_give(struct budget *budget, size_t bytes);

// Kept data of `before` counted bytes now has `bytes`. False: all kept data together would exceed the maximum; counts
// nothing then. A decrease always counts. NULL: no limit.
bool budget_keep(struct budget *budget, size_t before, size_t bytes);
