// SPDX-License-Identifier: Apache-2.0
// The engine: all decisions of the host, without I/O. A step takes one event and the time, and returns commands. The
// engine opens no socket, reads no clock, starts no thread, draws random numbers only from the seed, and runs on one
// thread.
#pragma once

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
    const char *management_uid;      // of namespace kube-system; NULL: unknown. Copied
    const struct seal_keys *seals;   // not owned; NULL, or none: mirrors have no seal
    int64_t adopt_until_ns;          // the first lists before this time adopt objects with marks and no seal
    unsigned window_max;             // most requests in flight to each cluster; 0: adaptive, see window.h
    int64_t (*ticks)(void);          // a clock for the time of adapter calls, for metrics; NULL: not measured
    int64_t (*processor)(void);      // processor time of the engine's thread, see queue.h; NULL: not measured
    uint32_t shards;                 // number of shards, see shard.h; 0: this host handles all workloads
    uint64_t seed;
};

struct engine;
struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out);
void engine_free(struct engine *engine);

// Between steps: copies new settings; the next steps decide all workloads anew. On failure nothing changes.
struct error *engine_configure(struct engine *engine, const struct engine_settings *settings);

// Between steps: adds kinds. `kinds` begins with the present kinds, which keep their numbers; none leaves. The caller
// owns the array. New kinds have no connection until events report one. On failure (no memory) nothing changes.
struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now);
size_t engine_n_kinds(const struct engine *engine);

// Adds to `update`, which the caller empties between steps (update_clear).
void engine_step(struct engine *engine, struct engine_event *event, struct update *update);

// Stops new placements; the engine still handles placed workloads (for shutdown).
void engine_drain(struct engine *engine);

// Number of commands in flight or waiting.
size_t engine_pending(const struct engine *engine);

const struct stats *engine_stats(struct engine *engine); // valid until the next step

// Zero without engine_options.processor, and for an unknown cluster.
struct engine_time engine_time_of(const struct engine *engine, size_t cluster);

// For EVENT_WORKER: whether the engine has the worker (false: out of memory), and whether a leaving worker has no
// workload and no mirror left.
bool engine_has_worker(const struct engine *engine, size_t cluster);
bool engine_may_leave(const struct engine *engine, size_t cluster);

// The uid of a worker's cluster: "" for a refused worker or an unknown uid.
const char *engine_identity(const struct engine *engine, size_t cluster);

// True when every reachable watch is complete and no entry waits for a decision.
bool engine_in_sync(const struct engine *engine);
