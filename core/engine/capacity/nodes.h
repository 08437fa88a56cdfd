// SPDX-License-Identifier: Apache-2.0
// A view of the nodes of a worker at one moment, for placement: the free resources of each node that accepts pods, and
// the labels and taints that decide which pods. core/host/watchers/node_table.h makes a view, which never changes.
// Nodes and pods share the types here: resources by number, and labels, taints, selectors and tolerations as marks.
#pragma once

#include "core/base/buffer.h"
#include "core/json/json.h"
#include "core/kube/api/pod_request.h"

#include <stdatomic.h>

#define NODES_RESOURCES 64 // of a worker, or of all workloads; the host ignores further resources

// Resources by number, in the order of the first sight.
struct resource_names {
    char *list[NODES_RESOURCES];
    size_t count;
};
// The number of the name, or NODES_RESOURCES.
size_t resource_names_find(const struct resource_names *names, const char *name);
void resource_names_free(struct resource_names *names);

struct amount {
    uint32_t resource; // number
    int64_t amount;    // more than 0
};
struct amounts { // by ascending number
    size_t count;
    struct amount items[];
};
// Adds the names that are new. NULL: out of memory.
struct amounts *amounts_new(struct resource_names *names, const struct resource_list *list);
void amounts_put(const struct amounts *amounts, struct buffer *out); // equal amounts give equal texts

// A label of a node or a nodeSelector (MARK_LABEL), a taint, or a toleration. PreferNoSchedule keeps no pod away.
enum node_mark_type { MARK_ANY_TAINT, MARK_NO_SCHEDULE, MARK_NO_EXECUTE, MARK_LABEL };
struct node_mark {
    uint32_t key, value; // hashes; 0 in a toleration: any
    enum node_mark_type type;
};
// Those of a node are shared by the table and its views, in two threads.
struct node_marks {
    atomic_uint refs;
    size_t count;
    struct node_mark items[];
};
// Of a node: its labels and taints. Of pods: nodeSelector and tolerations. NULL: out of memory.
struct node_marks *node_marks_of_node(const struct json *labels, const struct json *taints);
struct node_marks *node_marks_of_pod(const struct json *selector, const struct json *tolerations);
void node_marks_unref(struct node_marks *marks); // NULL is allowed
// Whether labels and taints let such pods onto the node.
bool node_marks_permit(const struct node_marks *pod, const struct node_marks *node);

struct nodes {
    size_t count, n_waiting;
    struct resource_names names;
    int64_t *left;             // [count][names.count]: allocatable less the requests of the pods there; may be negative
    int64_t *allocatable;      // [names.count]: sums of the `count` nodes
    struct node_marks **marks; // [count]
    struct waiting_pods {      // [n_waiting]: equal pods without a node
        struct amounts *request;
        int64_t count;
    } * waiting;
};

// For so many nodes, with zeroed amounts and no marks. NULL: out of memory.
struct nodes *nodes_new(size_t count, const char *const *names, size_t n_names, size_t n_waiting);
void nodes_free(struct nodes *nodes);          // NULL is allowed
size_t nodes_bytes(const struct nodes *nodes); // at most, without texts and marks, which the table has too
