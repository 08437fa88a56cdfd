// SPDX-License-Identifier: Apache-2.0
// The engine: all decisions of the host, without I/O. A step takes one event and the time, and returns what to do. It
// opens no socket, reads no clock, starts no thread, and draws random numbers only from its seed. All of it runs on one
// thread.
#ifndef WHARF_ENGINE_ENGINE_H
#define WHARF_ENGINE_ENGINE_H

#include "core/adapter/adapters.h"
#include "core/config/engine_settings.h"
#include "core/engine/event.h"
#include "core/engine/mirror/seal.h"
#include "core/engine/stats.h"
#include "core/engine/update.h"

struct engine_options {
    const char *origin;              // copied
    const char *const *worker_names; // copied
    size_t n_workers;
    struct kind *const *kinds; // not owned
    size_t n_kinds;
    struct engine_settings settings; // copied
    const char *management_uid;      // of namespace kube-system; NULL: not known yet. Copied
    const struct seal_keys *seals;   // not owned; NULL, or none: mirrors are not sealed
    int64_t adopt_until_ns;          // objects with the marks and no seal, in first lists before that, are adopted
    unsigned window_max;             // most requests in flight to each cluster; 0: as window.h finds it
    int64_t (*ticks)(void);          // a clock for what adapters take, for metrics; NULL: it is not measured
    int64_t (*processor)(void);      // the processor time of the engine's thread, see queue.h; NULL: it is not measured
    uint32_t shards;                 // into which the workloads are divided, see shard.h; 0: all are this host's
    uint64_t seed;
};

struct engine;
struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out);
void engine_free(struct engine *engine);

// Adds to `update`, which the caller empties between steps (update_clear, after taking what it keeps).
void engine_step(struct engine *engine, struct engine_event *event, struct update *update);

// Places no further workloads; placed ones are still handled (for shutdown).
void engine_drain(struct engine *engine);

// Commands in flight, and what waits to be sent.
size_t engine_pending(const struct engine *engine);

const struct stats *engine_stats(struct engine *engine); // valid until the next step

// Zero without engine_options.processor, and for a cluster that is not known.
struct engine_time engine_time_of(const struct engine *engine, size_t cluster);

// Of EVENT_WORKER: whether the worker is known (it is not if there was no memory), and whether a worker that is to
// leave has nothing left that runs or is placed there, or that could be waited for.
bool engine_has_worker(const struct engine *engine, size_t cluster);
bool engine_may_leave(const struct engine *engine, size_t cluster);

// The uid by which a worker is known: "" if it is refused, or has not been read.
const char *engine_identity(const struct engine *engine, size_t cluster);

// True when every reachable watch is complete and no entry is queued.
bool engine_in_sync(const struct engine *engine);

// For diagnostics and tests: calls `visit` for each delegated workload. Strings are valid during the call.
struct engine_view {
    size_t kind;
    const char *namespace_, *name, *uid, *cluster; // cluster NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    size_t mirrors;     // known now
    const char *mirror; // uid of the one whose status is copied; "": none
    bool being_deleted, suspended;
    bool in_flight;  // a request about it or its mirrors is in flight, or waits for a place
    bool told;       // why it waits was reported
    int64_t wake_ns; // when it is reconciled next (monotonic), CLOCK_NEVER: at the next event
    const char *why; // of the last decision; may be NULL
};
void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx);

// What waits for a place in a cluster's window, in no order.
struct engine_waiter {
    size_t cluster, kind;
    enum work_class work;
    const char *key; // "namespace/name"
};
void engine_each_waiter(const struct engine *engine, void (*visit)(void *ctx, const struct engine_waiter *waiter),
                        void *ctx);

#endif
