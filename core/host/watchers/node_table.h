// SPDX-License-Identifier: Apache-2.0
// The free resources of a worker's nodes, updated from Node and Pod objects: 16 bytes for each pod, for its node and
// its requests. Each view computes the sums anew.
#pragma once

#include "core/engine/capacity/nodes.h"
#include "core/json/json.h"

// The fields that are read, see prune.h.
extern const char *const node_table_of_nodes[], *const node_table_of_pods[];

struct node_table;
struct node_table *node_table_new(uint64_t seed); // NULL: out of memory
void node_table_free(struct node_table *table);

// The present state of an object. False: out of memory, and the table is wrong until the next list.
bool node_table_node(struct node_table *table, const struct json *object);
bool node_table_pod(struct node_table *table, const struct json *object);
void node_table_node_gone(struct node_table *table, const struct json *object);
void node_table_pod_gone(struct node_table *table, const struct json *object);

// Before and after a list of them: an object that is not in the list is gone.
void node_table_list_nodes(struct node_table *table);
void node_table_list_pods(struct node_table *table);
void node_table_nodes_listed(struct node_table *table);
void node_table_pods_listed(struct node_table *table);

// Whether something has changed since the last call.
bool node_table_take_changed(struct node_table *table);
struct nodes *node_table_view(const struct node_table *table); // NULL: out of memory

struct node_table_size {
    size_t nodes, pods, shapes; // shapes: different sets of requests
    size_t bytes;               // of the table
    size_t view;                // of a view
};
struct node_table_size node_table_size(const struct node_table *table);
