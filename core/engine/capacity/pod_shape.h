// SPDX-License-Identifier: Apache-2.0
// Pods as the scheduler sees them, each different one stored once: requests, nodeSelector and tolerations. Node and pod
// affinity, topology spread and volumes are ignored.
#pragma once

#include "core/base/map.h"
#include "core/engine/capacity/nodes.h"

struct shape_memo { // of one worker, see free_capacity.h
    uint64_t stamp; // of the free capacity that it describes
    int64_t most;   // at most so many such pods fit, as long as the stamp is the same
    size_t hint;    // the node that had room last
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
