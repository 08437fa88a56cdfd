// SPDX-License-Identifier: Apache-2.0
// What the host counts, as Prometheus text (exposition format 0.0.4). Pure: everything that is printed comes in with
// the arguments. docs/metrics.md lists the names for people.
#ifndef WHARF_SERVE_METRICS_H
#define WHARF_SERVE_METRICS_H

#include "core/host/host.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_process {
    uint64_t resident_bytes;
    double cpu_seconds;
    double start_seconds; // since 1970
    uint64_t log_lines_lost;
};

// What the operating system says about this process; 0 where it does not.
void metrics_process_read(struct metrics_process *out);

// ERROR_LIMIT: it does not fit the buffer, or memory ran out.
struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out);

#endif
