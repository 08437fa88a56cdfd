// SPDX-License-Identifier: Apache-2.0
// The free capacity of one worker: the nodes of the last view, less the pods that wait for a node there (as many as the
// engine can compare in a few milliseconds), less the placed workloads that are not in the view yet. Each pod gets the
// first node with enough resources, so a worker may be fuller than the result, but never emptier.
//
// A pod shape is a pod as the scheduler sees it: requests, nodeSelector and tolerations. Equal pods share a shape. Node
// and pod affinity, topology spread and volumes do not count.
#pragma once

#include "core/base/map.h"
#include "core/engine/capacity/nodes.h"

struct shape_memo { // of one worker
    uint64_t stamp; // of the free capacity
    int64_t most;   // at most so many such pods fit, as long as the stamp is the same
    size_t hint;    // the last node that accepted such a pod
};

struct pod_shape {
    char *key; // the whole shape as a text
    uint32_t refs;
    struct amounts *request;
    struct node_marks *marks;
    struct shape_memo *memos; // by worker
    size_t n_memos;
};

struct pod_shapes {
    struct resource_names names;
    struct map by_key;
    uint64_t stamp; // the last one
};

struct pod_set { // equal pods
    struct pod_shape *shape;
    int64_t count;
};

void pod_shapes_init(struct pod_shapes *shapes, uint64_t seed);
void pod_shapes_free(struct pod_shapes *shapes);

// The shape of a PodSpec, with one more reference; NULL: out of memory.
struct pod_shape *pod_shape_ref(struct pod_shapes *shapes, const struct json *spec);
void pod_shape_unref(struct pod_shapes *shapes, struct pod_shape *shape);

struct free_capacity {
    struct nodes *nodes; // NULL: unknown
    int64_t *left;       // as in nodes
    size_t worker;       // number, for shape_memo
    uint64_t stamp;      // changes when resources become free
    struct pod_shapes *shapes;
};

void free_capacity_clear(struct free_capacity *spare);
// Takes `nodes`; false: out of memory, and the free capacity is unknown.
bool free_capacity_set(struct free_capacity *spare, struct nodes *nodes);
// Back to the nodes of the view, less the pods that wait there.
void free_capacity_reset(struct free_capacity *spare);
// Takes off as many of these pods as fit. Returns how many.
int64_t free_capacity_take(struct free_capacity *spare, const struct pod_set *set);
// Whether all of these pods fit at the same time. Changes nothing.
bool free_capacity_fits(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets);

// Appends why the pods do not fit: "lacks 3 nvidia.com/gpu".
void free_capacity_explain(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets, struct buffer *out);
// The highest use of a requested resource, in thousandths of the nodes' allocatable.
unsigned free_capacity_fullness(const struct free_capacity *spare, const struct pod_set *sets, size_t n_sets);
