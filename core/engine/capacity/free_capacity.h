// SPDX-License-Identifier: Apache-2.0
// The free capacity of one worker: the nodes of the last view, less the pods that wait for a node there (as many as can
// be compared in a few milliseconds), less the workloads that were placed there and are not in the view yet. Pods are
// put onto the first nodes that have room, so a worker may be fuller than this says, but never emptier.
#pragma once

#include "core/engine/capacity/pod_shape.h"

struct free_capacity {
    struct nodes *nodes; // NULL: unknown
    int64_t *left;       // as in nodes
    size_t worker;       // its number, for shape_memo
    uint64_t stamp;      // a new one when anything was given back
    struct pod_shapes *shapes;
    struct capacity_change { // scratch: to be undone
        size_t at;           // in `left`
        int64_t amount;
    } * changes;
    size_t cap_changes;
};

void free_capacity_clear(struct free_capacity *spare);
// Takes `nodes`; false: out of memory, and the free capacity is unknown.
bool free_capacity_set(struct free_capacity *spare, struct nodes *nodes);
// Back to the nodes of the view, less the pods that wait there.
void free_capacity_reset(struct free_capacity *spare);
// Takes off as many of these pods as fit. Returns how many.
int64_t free_capacity_take(struct free_capacity *spare, const struct pod_set *set);
// Whether all of them fit at once. Takes nothing off.
bool free_capacity_fits(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets);

// Why they do not fit: "lacks 3 nvidia.com/gpu". Appends.
void free_capacity_explain(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets, struct buffer *out);
// Of the resources that the pods request the one that is used most: its use in thousandths of the nodes' allocatable.
unsigned free_capacity_fullness(const struct free_capacity *spare, const struct pod_set *sets, size_t n_sets);
