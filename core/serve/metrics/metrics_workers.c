// SPDX-License-Identifier: Apache-2.0
// Metrics of what workers are used for, and of workloads on workers that there are not.
#include "core/serve/metrics/metrics_internal.h"
#include "core/serve/metrics/metrics_text.h"

static void print_policies(const struct host_snapshot *s, struct buffer *out) {
    static const char *const policies[] = {[WORKER_ACTIVE] = "active",
                                           [WORKER_CORDONED] = "cordoned",
                                           [WORKER_DRAIN_FINISH] = "drain_finish",
                                           [WORKER_DRAIN_MOVE] = "drain_move"};
    const char *name = "wharf_worker_policy";
    metrics_family(out, name, "gauge", "What a worker is used for: 1 for the present policy, else 0.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"policy", policies[i]}),
                           (size_t)s->stats.clusters[c].policy == i);
    name = "wharf_worker_leaving";
    metrics_family(out, name, "gauge",
                   "1 where a worker is no longer configured and what it has is waited for, else 0.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), s->stats.clusters[c].leaving);
}

// The names are those that annotations have: anybody who may change a workload can write one.
static void print_unknown(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_workloads_on_unknown_worker";
    metrics_family(out, name, "gauge", "Unfinished workloads that are placed in a worker that is not configured.");
    for (size_t i = 0; i < s->stats.n_unknown; i++)
        metrics_sample(out, name, LABELS({"cluster", s->stats.unknown[i].name}), s->stats.unknown[i].workloads);
    if (s->stats.unknown_rest > 0)
        metrics_sample(out, name, LABELS({"cluster", "others"}), s->stats.unknown_rest);
}

void metrics_print_policies(const struct host_snapshot *s, struct buffer *out) {
    print_policies(s, out);
    print_unknown(s, out);
}
