// SPDX-License-Identifier: Apache-2.0
// What pods ask for, each different one kept once: amounts of resources, the labels that their node must have
// (nodeSelector), and the taints that they tolerate. Node and pod affinity, topology spread and volumes are not looked
// at.
#ifndef WHARF_ENGINE_POD_SHAPE_H
#define WHARF_ENGINE_POD_SHAPE_H

#include "core/base/map.h"
#include "core/engine/capacity/nodes.h"
#include "core/json/json.h"

#define SHAPE_RESOURCES 64 // different ones that all workloads ask for; further ones are ignored

struct shape_amount {
    uint32_t resource; // its number in pod_shapes
    int64_t amount;    // more than 0
};

struct shape_toleration {
    uint32_t key, value; // hashes of nodes_hash; 0: any
    enum taint_effect effect;
};

struct pod_shape {
    char *key; // says it all
    uint32_t refs, number;
    size_t n_amounts, n_labels, n_tolerations;
    struct shape_amount *amounts;
    uint32_t *labels; // hashes of nodes_hash(key, value)
    struct shape_toleration *tolerations;
};

struct pod_shapes {
    char *resources[SHAPE_RESOURCES];
    size_t n_resources;
    struct map by_key;
    struct pod_shape **list; // by number; NULL: free
    size_t count, capacity;
};

void pod_shapes_init(struct pod_shapes *shapes, uint64_t seed);
void pod_shapes_free(struct pod_shapes *shapes);

// Of a PodSpec, with one more reference; NULL: out of memory.
struct pod_shape *pod_shape_take(struct pod_shapes *shapes, const struct json *spec);
// One reference less. True: it is gone, and its number is free.
bool pod_shape_give(struct pod_shapes *shapes, struct pod_shape *shape);

// Whether its labels and taints let such pods onto the node.
bool pod_shape_allowed(const struct pod_shape *shape, const struct nodes *nodes, size_t node);

#endif
