// SPDX-License-Identifier: Apache-2.0
// The nodes of a worker at one moment, as far as placement needs them: what is left of each that takes pods, and what
// tells which pods it takes. Made by core/host/watchers/node_table.h, and not changed afterwards.
#ifndef WHARF_ENGINE_NODES_H
#define WHARF_ENGINE_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODES_RESOURCES 64 // different ones in a worker; further ones are ignored

// NoSchedule and NoExecute; PreferNoSchedule keeps no pod away.
enum taint_effect { TAINT_ANY, TAINT_NO_SCHEDULE, TAINT_NO_EXECUTE };

struct node_taint {
    uint32_t key, value; // hashes of nodes_hash
    enum taint_effect effect;
};

struct node_marks { // of one node: where in the arrays below they are
    uint32_t first_label, n_labels, first_taint, n_taints;
};

struct nodes {
    size_t count, n_resources, n_labels, n_taints, n_waiting;
    size_t unusable;      // further nodes that are not Ready, or unschedulable
    char **names;         // of the resources
    int64_t *left;        // [count][n_resources]: allocatable less what the pods there ask for; may be negative
    int64_t *allocatable; // [n_resources]: sums of the `count` nodes
    struct node_marks *marks;
    uint32_t *labels; // hashes of nodes_hash(key, value)
    struct node_taint *taints;
    int64_t *waiting;       // [n_waiting][n_resources]: what a pod without a node asks for
    int64_t *waiting_count; // [n_waiting]: how many such pods there are
};

// With room for so many of each, zeroed, but names. NULL: out of memory.
struct nodes *nodes_new(size_t count, size_t n_resources, size_t n_labels, size_t n_taints, size_t n_waiting);
void nodes_free(struct nodes *nodes); // NULL is allowed
size_t nodes_bytes(const struct nodes *nodes);

// Of a label ("key", "value"), or of one text (value NULL). Never 0.
uint32_t nodes_hash(const char *key, const char *value);

#endif
