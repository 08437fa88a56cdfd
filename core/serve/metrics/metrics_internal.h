// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the metrics.
#ifndef WHARF_SERVE_METRICS_INTERNAL_H
#define WHARF_SERVE_METRICS_INTERNAL_H

#include "core/serve/metrics/metrics.h"

// metrics_clusters.c
void metrics_print_clusters(const struct host_snapshot *snapshot, struct buffer *out);

// metrics_workers.c
void metrics_print_policies(const struct host_snapshot *snapshot, struct buffer *out);

// metrics_capacity.c
void metrics_print_capacity(const struct host_snapshot *snapshot, struct buffer *out);

// metrics_live.c
void metrics_print_live(const struct host_snapshot *snapshot, struct buffer *out);

// metrics.c
void metrics_print_process(const struct metrics_process *process, struct buffer *out);

#endif
