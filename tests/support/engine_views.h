// SPDX-License-Identifier: Apache-2.0
// The engine's state as tests see it.
#pragma once

#include "core/engine/engine.h"

// Calls `visit` for each delegated workload. Strings are valid during the call.
struct engine_view {
    size_t kind;
    const char *namespace_, *name, *uid, *cluster; // cluster NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    size_t mirrors;     // known now
    const char *mirror; // uid of the source of the status; "": none
    bool being_deleted, suspended;
    bool in_flight;  // a request about the workload or a mirror is in flight or waits
    bool told;       // the reason for the wait was reported
    int64_t wake_ns; // next reconciliation (monotonic), CLOCK_NEVER: at the next event
    const char *why; // of the last decision; may be NULL
};
void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx);

// The objects that wait for a cluster's window, unordered.
struct engine_waiter {
    size_t cluster, kind;
    enum work_class work;
    const char *key; // "namespace/name"
};
void engine_each_waiter(const struct engine *engine, void (*visit)(void *ctx, const struct engine_waiter *waiter),
                        void *ctx);
