// SPDX-License-Identifier: Apache-2.0
// What the nodes of workers have and have left.
#include "core/serve/metrics/metrics_internal.h"
#include "core/serve/metrics/metrics_text.h"

#include <string.h>

static bool is_looked_at(const struct stats_cluster *cluster) {
    return cluster->capacity.state != CAPACITY_OFF;
}

// As Prometheus has it: cpu in cores, everything else in its unit.
static double in_units(const char *resource, int64_t amount) {
    return strcmp(resource, "cpu") == 0 ? (double)amount / 1000 : (double)amount;
}

static void print_amounts(const struct host_snapshot *s, struct buffer *out, const char *name, const char *help,
                          bool left) {
    metrics_family(out, name, "gauge", help);
    for (size_t c = 1; c < s->stats.n_clusters; c++) {
        const struct stats_capacity *capacity = &s->stats.clusters[c].capacity;
        for (size_t r = 0; r < capacity->n_resources; r++) {
            const struct stats_resource *resource = &capacity->resources[r];
            metrics_sample_double(out, name, LABELS({"cluster", s->names[c]}, {"resource", resource->name}),
                                  in_units(resource->name, left ? resource->left : resource->allocatable));
        }
    }
}

void metrics_print_capacity(const struct host_snapshot *s, struct buffer *out) {
    bool any = false;
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        any |= is_looked_at(&s->stats.clusters[c]);
    if (!any)
        return;
    const char *name = "wharf_worker_capacity_known";
    metrics_family(out, name, "gauge", "1 where what a worker's nodes have left is known, 0 where it should be.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        if (is_looked_at(&s->stats.clusters[c]))
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}),
                           s->stats.clusters[c].capacity.state == CAPACITY_KNOWN);
    name = "wharf_worker_nodes";
    metrics_family(out, name, "gauge", "Nodes of a worker that take pods.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        if (is_looked_at(&s->stats.clusters[c]))
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}), s->stats.clusters[c].capacity.nodes);
    print_amounts(s, out, "wharf_worker_allocatable", "What these nodes offer to pods, cpu in cores.", false);
    print_amounts(s, out, "wharf_worker_unused",
                  "The part of it that no pod asks for; what was placed a moment ago is not taken off.", true);
}
