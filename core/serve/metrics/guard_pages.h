// SPDX-License-Identifier: Apache-2.0
// The answers of `wharf guard` to probes and Prometheus. Pure: all output comes from the arguments.
#pragma once

#include "core/host/lease/guard_run.h"
#include "core/serve/metrics/metrics.h"

#define GUARD_STALL_NS (60 * CLOCK_SECOND) // the thread of the guard runs every 15 s at least

// Each appends a page. False: not alive, or not ready.
bool guard_page_alive(const struct guard_status *status, int64_t now_ns, struct buffer *out);
bool guard_page_ready(const struct guard_status *status, int64_t now_ns, struct buffer *out);
void guard_page_metrics(const struct guard_status *status, const struct metrics_process *process, struct buffer *out);
