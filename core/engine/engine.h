// SPDX-License-Identifier: Apache-2.0
// The engine: all decisions of the host, without I/O. A step takes one event and the time, and returns commands. The
// engine opens no socket, reads no clock, starts no thread, draws random numbers only from the seed, and runs on one
// thread.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/base/clock.h"
#include "core/config/engine_settings.h"
#include "core/engine/accounts/account_sums.h"
#include "core/engine/decide/decide.h"
#include "core/engine/event.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/store/fair_queue.h"

// Statistics: plain numbers that the engine's thread writes; other threads read a copy.

#define STATS_VERBS (VERB_RAW_GET + 1)
#define STATS_REASONS (REASON_GARBAGE + 1)
#define STATS_UNKNOWN 16 // limited, since any author of annotations can name more
#define STATS_PHASES 5   // wharf_phase_kind

// The first bounds of the histograms.
#define STATS_STATUS_NS (CLOCK_MS / 20)
#define STATS_DISPATCH_NS CLOCK_MS

struct stats_watch { // one kind in one cluster
    enum reflector_state state;
    uint64_t seen, gone, lists, losses;
    char problem[256]; // reason for a missing connection, "": unknown
    bool paused;       // see pause.c
    bool no_field;     // the management cluster's API lacks the field managedBy
    bool eligible;     // workers: accepts new work (decide.h)
    char denied[320];  // a permission for the kind that the worker denies, "": none known
};

#define STATS_RESOURCES 8 // most resources shown for a worker

struct stats_capacity { // of a worker, by the last view of the nodes
    enum capacity_state state;
    char problem[192]; // UNKNOWN, STALE: why
    uint64_t nodes;    // schedulable ones
    size_t n_resources;
    struct stats_resource {
        char name[64];
        int64_t allocatable, left; // cpu in thousandths
    } resources[STATS_RESOURCES];
};

enum guard_state {       // of a worker
    GUARD_STATE_OFF,     // fencing is not enabled
    GUARD_STATE_UNKNOWN, // the worker is not connected, or not read yet
    GUARD_STATE_NONE,
    GUARD_STATE_ALIVE,
    GUARD_STATE_FENCING // the guard stops this host's mirrors, or may
};

// The processor time for the events and objects of a cluster, and the part for objects that took more than
// ENGINE_COSTLY_NS each.
#define ENGINE_COSTLY_NS (5 * CLOCK_MS)
struct engine_time {
    int64_t spent_ns, costly_ns;
};

// Objects that workloads refer to, by their state in a worker; see core/engine/dependencies/.
enum dependency_state {
    DEPENDENCY_UNKNOWN,  // not seen yet, in the management cluster or in the worker
    DEPENDENCY_NEEDED,   // is being copied
    DEPENDENCY_MISSING,  // has no source, or the worker lacks the checked object
    DEPENDENCY_CURRENT,  // a copy of the newest source is there
    DEPENDENCY_FOUND,    // another writer's object is there
    DEPENDENCY_CONFLICT, // another writer's object has other content
    DEPENDENCY_REFUSED,  // the cluster rejects the copy, or access
    DEPENDENCY_MADE,     // by the kind's controller
    DEPENDENCY_STATES
};
const char *dependency_state_name(enum dependency_state state); // "needed"

enum copy_result { COPIES_CREATED, COPIES_CHANGED, COPIES_DELETED, COPIES_FAILED, COPY_RESULTS };
const char *copy_result_name(enum copy_result result); // "created"

struct stats_cluster {
    char name[64]; // "management", or the worker's
    char uid[40];  // of namespace kube-system, by the last read; "": unknown
    bool vacant;   // no worker has this number: not in copies
    enum worker_policy policy;
    // Filled in by the host; owned, in copies only.
    bool leaving;        // removed from the set of workers
    const char *source;  // "Config", "Directory", "Secret", "ClusterProfile"; static; NULL: the management cluster
    char *from;          // "Secret wharf-system/w1", or NULL
    char *labels;        // "region=eu,gpu=yes", "" if there are none; or NULL
    uint64_t max_active; // 0: any number
    size_t number;       // of the cluster
    uint64_t answers[STATS_VERBS][STATS_REASONS];
    uint64_t sent[STATS_VERBS];
    struct stats_watch *watches; // one a kind
    enum contact contact;
    char rejected[360]; // REJECTED: why
    uint64_t active;    // unfinished workloads placed here (workers)
    uint64_t mirrors;
    uint64_t window, in_flight;     // requests: limit in flight (command.h), and in flight
    uint64_t waiting[WORK_CLASSES]; // waiting objects, by class
    char refused[256];              // reason for the refusal (identity.c), "": not refused
    uint64_t orphans_held;          // orphans not deleted yet, see orphans.c
    uint64_t unsealed;              // objects seen with the host's marks but no valid seal
    uint64_t pod_reports_refused;   // pod reports without a mirror of this host, or over the limit
    struct stats_capacity capacity;
    enum guard_state guard;
    int64_t guard_since_ns;                   // wall clock
    uint64_t guards;                          // guards alive at the last read (fence.h); 0 without fencing
    uint64_t status_bytes;                    // of objects written for statuses of the mirrors
    uint64_t statuses_wait;                   // 1: over the limit, see status.h
    uint64_t suspect;                         // 1: finishes workloads far faster than other workers (completions.c)
    uint64_t failing;                         // 1: gets no new work, since workloads fail there (elsewhere/)
    char failing_for[64];                     // the reason of these failures
    uint64_t retried_elsewhere;               // attempts there that failed because of the worker
    uint64_t quarantined;                     // mirrors: neither adopted nor deleted until proven
    uint64_t dependencies[DEPENDENCY_STATES]; // objects that workloads here refer to; management: sources
    uint64_t copies[COPY_RESULTS];            // requests
};

enum adapter_failure { ADAPTER_CRASHED, ADAPTER_LIMIT, ADAPTER_ANSWER, ADAPTER_FAILURES };
enum adapter_health { ADAPTER_ACTIVE, ADAPTER_BUSY, ADAPTER_PAUSED };

struct stats_kind {
    uint64_t phases[STATS_PHASES];       // workloads by phase
    uint64_t adapter_errors;             // calls that did not return WHARF_OK
    uint64_t failures[ADAPTER_FAILURES]; // calls that broke the adapter's process, see aside.h
    uint64_t aside;                      // workloads that such calls have set aside
    uint64_t also_run;                   // workloads that a controller in the management cluster runs too, see status.h
    uint64_t refused;                    // workloads beyond maxWorkloads
    enum adapter_health adapter;
    char adapter_problem[CALL_TROUBLE_MAX]; // the last failure; "": none
    struct call_time calls[ADAPTER_FUNCTIONS];
};

struct stats {
    struct stats_cluster *clusters; // [0] management
    size_t n_clusters;
    struct stats_kind *kinds;
    size_t n_kinds;
    uint64_t placements, replacements; // first attempts and further ones
    uint64_t unscored;                 // placements decided without the scores of an adapter
    uint64_t conflicts;                // foreign objects of the same name
    uint64_t orphans;                  // orphans deleted
    uint64_t other_host_writes;        // another host wrote first
    uint64_t shards, shards_held;      // see shard.h; shards 0: no election
    uint64_t events, events_dropped;   // recorded on workloads; dropped under load
    struct histogram status_latency;   // mirror seen to status patch issued
    struct histogram dispatch_latency; // workload seen, and not suspended, to the create of the first mirror
    uint64_t unplaced[WAITINGS];       // workloads, except suspended ones, by reason
    uint64_t waiting[WAITINGS];        // workloads that have waited for more than a minute, by reason
    uint64_t queued;                   // entries to reconcile
    struct stats_unknown {
        char name[64];
        uint64_t workloads;   // unfinished ones
    } unknown[STATS_UNKNOWN]; // workers that the annotations name and the configuration does not
    size_t n_unknown;
    uint64_t unknown_rest; // workloads on further ones
    struct account_sums *accounts;
};

// `contact` for display: REJECTED also while a worker denies a permission.
enum contact stats_contact(const struct stats *stats, size_t cluster);
// The rejection as one sentence; NULL: none.
const char *stats_rejection(const struct stats *stats, size_t cluster);

// A deep copy; empty when out of memory.
struct error *stats_copy(const struct stats *from, struct stats *to);
void stats_free(struct stats *stats);

// The engine.

struct engine_options {
    const char *origin;              // copied
    const char *const *worker_names; // copied
    size_t n_workers;
    struct kind *const *kinds; // not owned
    size_t n_kinds;
    const struct scorer *const *scorers; // not owned
    size_t n_scorers;
    struct engine_settings settings; // copied
    const char *management_uid;      // of namespace kube-system; NULL: unknown. Copied
    const struct seal_keys *seals;   // not owned; NULL, or none: mirrors have no seal
    int64_t adopt_until_ns;          // the first lists before this time adopt objects with marks and no seal
    unsigned window_max;             // most requests in flight to each cluster; 0: adaptive, see command.h
    int64_t (*ticks)(void);          // a clock for the time of adapter calls, for metrics; NULL: not measured
    int64_t (*processor)(void);      // processor time of the engine's thread, see queue.c; NULL: not measured
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

// Between steps: the adapters that rate workers from now on. The list begins with the present ones.
void engine_set_scorers(struct engine *engine, const struct scorer *const *scorers, size_t n_scorers);

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
// Whether the worker certainly has no mirror, no copy, and no placed workload that could run: its lists are complete.
bool engine_is_unused(const struct engine *engine, size_t cluster);

// The uid of a worker's cluster: "" for a refused worker or an unknown uid.
const char *engine_identity(const struct engine *engine, size_t cluster);

// True when every reachable watch is complete and no entry waits for a decision.
bool engine_in_sync(const struct engine *engine);
