// SPDX-License-Identifier: Apache-2.0
// Whether the host is ready, and if not, why. A lost worker is normal operation: once the host has been in
// sync, only the management cluster can make the host unready.
#pragma once

#include "core/host/host.h"
#include "core/host/lease/guard_run.h"

#define HEALTH_STALL_NS (30 * CLOCK_SECOND)
#define GUARD_STALL_NS (60 * CLOCK_SECOND) // the thread of the guard runs every 15 s at least

// Whether the engine makes progress. Appends "ok\n", or a line with the duration of the stall.
bool health_alive(int64_t stalled_ns, struct buffer *out);

// Appends "ok\n", or one line a reason; and a line for each refused worker. `been_in_sync` is kept by the caller from
// call to call, false at first.
bool health_ready(const struct host_snapshot *snapshot, bool *been_in_sync, struct buffer *out);

// The same of `wharf guard`.
bool guard_page_alive(const struct guard_status *status, int64_t now_ns, struct buffer *out);
bool guard_page_ready(const struct guard_status *status, int64_t now_ns, struct buffer *out);
