// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/nodes.h"

#include "core/base/text.h"

#include <stdlib.h>

struct nodes *nodes_new(size_t count, size_t n_resources, size_t n_labels, size_t n_taints, size_t n_waiting) {
    struct nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes)
        return NULL;
    *nodes = (struct nodes){.count = count,
                            .n_resources = n_resources,
                            .n_labels = n_labels,
                            .n_taints = n_taints,
                            .n_waiting = n_waiting,
                            .names = calloc(n_resources + 1, sizeof *nodes->names),
                            .left = calloc(count * n_resources + 1, sizeof *nodes->left),
                            .allocatable = calloc(n_resources + 1, sizeof *nodes->allocatable),
                            .marks = calloc(count + 1, sizeof *nodes->marks),
                            .labels = calloc(n_labels + 1, sizeof *nodes->labels),
                            .taints = calloc(n_taints + 1, sizeof *nodes->taints),
                            .waiting = calloc(n_waiting * n_resources + 1, sizeof *nodes->waiting),
                            .waiting_count = calloc(n_waiting + 1, sizeof *nodes->waiting_count)};
    if (nodes->names && nodes->left && nodes->allocatable && nodes->marks && nodes->labels && nodes->taints &&
        nodes->waiting && nodes->waiting_count)
        return nodes;
    nodes_free(nodes);
    return NULL;
}

void nodes_free(struct nodes *nodes) {
    if (!nodes)
        return;
    for (size_t i = 0; nodes->names && i < nodes->n_resources; i++)
        free(nodes->names[i]);
    free(nodes->names);
    free(nodes->left);
    free(nodes->allocatable);
    free(nodes->marks);
    free(nodes->labels);
    free(nodes->taints);
    free(nodes->waiting);
    free(nodes->waiting_count);
    free(nodes);
}

size_t nodes_bytes(const struct nodes *nodes) {
    return nodes ? sizeof *nodes + nodes->count * (sizeof *nodes->marks + nodes->n_resources * sizeof *nodes->left) +
                       nodes->n_resources * 64 + nodes->n_labels * sizeof *nodes->labels +
                       nodes->n_taints * sizeof *nodes->taints +
                       nodes->n_waiting * (nodes->n_resources + 1) * sizeof *nodes->waiting
                 : 0;
}

uint32_t nodes_hash(const char *key, const char *value) {
    uint64_t wide = text_hash(TEXT_HASH, key);
    if (value)
        wide = text_hash(text_hash(wide, "="), value);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    return hash ? hash : 1;
}
