// SPDX-License-Identifier: Apache-2.0
// The free resources of a worker's nodes, updated from Node and Pod objects: 16 bytes for each pod, for its node and
// its requests. Each view computes the sums anew.
#pragma once

#include "core/engine/capacity/nodes.h"
#include "core/json/json.h"

enum node_table_part { TABLE_NODES, TABLE_PODS, NODE_TABLE_PARTS };

// The fields that are read, see object.h.
extern const char *const node_table_of_nodes[], *const node_table_of_pods[];

struct node_table;
struct node_table *node_table_new(uint64_t seed); // NULL: out of memory
void node_table_free(struct node_table *table);

// The present state of a node or pod. False: out of memory, and the table is wrong until the next list.
bool node_table_put(struct node_table *table, enum node_table_part part, const struct json *object);
void node_table_remove(struct node_table *table, enum node_table_part part, const struct json *object);

// Before and after a list: an object that is not in the list is gone.
void node_table_list(struct node_table *table, enum node_table_part part);
void node_table_listed(struct node_table *table, enum node_table_part part);

// Whether something has changed since the last call.
bool node_table_take_changed(struct node_table *table);
struct nodes *node_table_view(const struct node_table *table); // NULL: out of memory

struct node_table_size {
    size_t nodes, pods, shapes; // shapes: different sets of requests
    size_t bytes;               // of the table
    size_t view;                // of a view
};
struct node_table_size node_table_size(const struct node_table *table);

// pod_keys.c. The pods of a worker: a hash table of 16 bytes a pod, between a half and 7/8 full (open addressing,
// linear probing, no tombstones).
#define POD_KEY_SHAPES 0x7fffffffU // numbers of shapes

struct pod_key {
    uint64_t uid;  // its hash, never 0
    uint32_t node; // 0: none
    uint32_t shape : 31;
    uint32_t seen : 1; // in the list that is being read
};

struct pod_keys { // zeroed: empty
    struct pod_key *slots;
    size_t capacity, count;
};

uint64_t pod_keys_hash(const char *uid);

// Adds or replaces a pod; *former is the replaced one, with uid 0 if there was none. False: out of memory; nothing
// changed.
bool pod_keys_put(struct pod_keys *keys, const struct pod_key *pod, struct pod_key *former);
bool pod_keys_remove(struct pod_keys *keys, uint64_t uid, struct pod_key *former); // false: the pod is not there

void pod_keys_unsee(struct pod_keys *keys); // none is seen
// Removes the next pod that is not seen; *at is 0 at first. False: there is none left.
bool pod_keys_take_unseen(struct pod_keys *keys, size_t *at, struct pod_key *former);
