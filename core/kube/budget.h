// SPDX-License-Identifier: Apache-2.0
// What one cluster may cost in memory, and how that is shared out. docs/memory.md has the table.
#ifndef WHARF_KUBE_BUDGET_H
#define WHARF_KUBE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BUDGET_DEFAULT ((size_t)64 << 20)
#define BUDGET_LEAST ((size_t)32 << 20)
#define BUDGET_OBJECT_SIZE ((size_t)2 << 20) // more than etcd stores
#define BUDGET_OBJECT_NODES ((size_t)100000)

// Of one cluster; belongs to its thread. NULL stands for the defaults, without a stop.
struct budget {
    size_t max_object_size;  // bytes of an object's text, without what is stripped
    size_t max_object_nodes; // JSON values of an object
    size_t max_answer;       // decoded bytes of one answer
    size_t max_frame;        // bytes of one event of a watch
    size_t max_buffered;     // bytes of all answers and frames that are not complete yet
    size_t max_queued;       // of what waits for the engine, see inbox.h
    const atomic_bool *stop; // once true, reading ends; may be NULL
    size_t buffered;         // now
};

// Shares out `per_cluster` bytes (0: the default); an object size or number of nodes of 0 is the default.
void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop);

// The defaults if `budget` is NULL.
const struct budget *budget_or_default(const struct budget *budget);

// Counts `bytes` as buffered; false if that is over the maximum, and nothing was counted. NULL: no bound.
bool budget_take(struct budget *budget, size_t bytes);
void budget_give(struct budget *budget, size_t bytes);

#endif
