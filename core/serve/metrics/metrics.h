// SPDX-License-Identifier: Apache-2.0
// The host's metrics as Prometheus text (exposition format 0.0.4). Pure: everything printed comes from the arguments.
// docs/metrics.md has the list.
#pragma once

#include "core/host/host.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_process {
    uint64_t resident_bytes;
    double cpu_seconds;
    double start_seconds; // since 1970
    uint64_t log_lines_lost;
};

// From the operating system, about this process; 0: unknown.
void metrics_process_read(struct metrics_process *out);

// ERROR_LIMIT: the text does not fit the buffer, or memory ran out.
struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out);
