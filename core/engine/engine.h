// SPDX-License-Identifier: Apache-2.0
// The engine: all decisions of the host, without I/O. It is given one event and the time, and answers with what is
// to be done. It opens no socket, reads no clock, starts no thread, and draws random numbers only from its seed. All of
// it runs on one thread, the adapter thread.
#ifndef WHARF_ENGINE_ENGINE_H
#define WHARF_ENGINE_ENGINE_H

#include "core/adapter/adapters.h"
#include "core/engine/event.h"
#include "core/engine/seal.h"
#include "core/engine/stats.h"
#include "core/engine/update.h"

struct engine_options {
    const char *origin;              // copied
    const char *const *worker_names; // copied
    size_t n_workers;
    struct kind *const *kinds; // not owned
    size_t n_kinds;
    bool create_namespaces;
    bool kueue_carried;    // labels of Kueue go to the mirrors of what Kueue of the management cluster admitted
    bool mirror_finalizer; // mirrors are made with MARK_FINALIZER
    int64_t worker_lost_timeout_ns;
    int64_t mirror_retention_ns;
    const char *management_uid; // of its namespace kube-system, if that is known already; else NULL. Copied
    size_t max_orphans;         // mirrors without a workload that are kept of a cluster; 0: no limit
    int64_t mass_deletion_max, mass_deletion_percent, orphan_grace_ns; // see orphans.c
    const struct seal_keys *seals; // not owned; NULL, or none: mirrors are not sealed
    bool adopt_unsealed;           // what has our marks and no seal in a first list is a mirror, to be sealed
    bool log_decisions;            // each of them is a log message, LOG_DEBUG
    uint64_t seed;
};

struct engine;
struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out);
void engine_free(struct engine *engine);

// Adds to `update`, which the caller empties in between (update_clear, after taking what it keeps).
void engine_step(struct engine *engine, struct engine_event *event, struct update *update);

// No workload is placed any more; what is placed goes on (a host that is about to stop).
void engine_drain(struct engine *engine);

// Commands sent and not answered.
size_t engine_pending(const struct engine *engine);

const struct stats *engine_stats(const struct engine *engine);

// True when every watch that can be reached is complete and nothing waits to be looked at.
bool engine_in_sync(const struct engine *engine);

// For people and for tests: calls `visit` for each workload that is ours. Strings are valid during the call.
struct engine_view {
    size_t kind;
    const char *namespace_, *name, *uid, *cluster; // cluster NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    size_t mirrors;     // known at present
    const char *mirror; // uid of the one that is followed; "": none
    bool being_deleted, suspended;
    bool in_flight;  // a request about it or its mirrors
    bool told;       // people were told why it waits
    int64_t wake_ns; // it is looked at again then (monotonic), CLOCK_NEVER: when something is heard of it
    const char *why; // of the last decision; may be NULL
};
void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx);

#endif
