// SPDX-License-Identifier: Apache-2.0
// The engine's state, shared by its parts. Each part has its own header.
#ifndef WHARF_ENGINE_ENGINE_INTERNAL_H
#define WHARF_ENGINE_ENGINE_INTERNAL_H

#include "core/adapter/adapters.h"
#include "core/base/text.h"
#include "core/engine/fence/fence_types.h"
#include "core/engine/mirror/seal.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/stats.h"
#include "core/engine/store/store.h"
#include "core/engine/update.h"

#define ENGINE_BATCH 256                // entries reconciled in one step
#define ENGINE_TREES 64                 // cached trees; 512 saved no processor time and took 5 MiB
#define ENGINE_LARGE ((size_t)64 << 10) // bytes; the host checks the mirror size of larger workloads
// Until the management cluster is listed, most mirrors without a workload are not orphans: the host permits this
// factor of the number and the memory. Mirrors kept by name have to be read again, one by one.
#define ENGINE_UNLISTED 8

struct call_clock;
struct capacity;
struct changes;
struct identity;
struct orphan_count;
struct namespace_labels;
struct pace;
struct request_in_flight;
struct placement_settings;
struct shard;
struct unknown_worker;
struct unsealed_log;
struct watch_state;

struct status_bytes { // writes caused by the mirrors of a worker, see status_budget.h
    int64_t full_ns, closed_until_ns;
    bool reported;
};

struct worker_slot {                 // one cluster's number
    struct worker_settings settings; // owned
    uint64_t join;                   // when it joined, in the order of joining
    int64_t moves_since_ns;          // start of a drain that moves workloads
    // Start of a series of failed connection attempts, until one succeeds; 0: none. Watches may be open.
    int64_t refused_since_ns;
    struct status_bytes statuses;
    struct recent finished;      // see completions.h
    struct durations *durations; // run times, see completions.h; NULL: none
    uint16_t fast;               // the last 16 comparisons, a bit each: far faster than elsewhere
    struct fence fence;
};

struct placement_queue { // see placement_queue.h
    struct fair_queue waiting;
    size_t left, misses; // of the round
    bool freed, trying;
    struct entry *tried;
    int64_t next_ns;
};

struct limit {          // see limit.h
    struct map refused; // struct refused, by uid
    size_t rest;        // refused and not recorded, since the last lists
    int64_t listed_ns;  // time of the last requested list
    bool untold;        // some were refused while another host held their lease
    uint64_t shards;    // held at the last check, see shard_mask
};

struct lane { // of entries to reconcile, see queue.h
    struct entry *first, *last;
    int64_t used_ns; // processor time, for the turn; an empty lane saves nothing up
    struct engine_time time;
};

struct namespace_waiters { // see namespace_retry.h
    struct entry **list;
    size_t count, capacity;
};

struct pace_options { // see engine_options
    unsigned window_max;
    uint64_t seed;
};

struct startup_grace {
    size_t n_kinds;    // kinds whose grace period is over
    size_t seen_kinds; // kinds when `until_ns` was set
    int64_t until_ns;  // end for the others
};

struct engine {
    struct engine_settings settings; // texts are owned, those of placement by `placement`
    char *origin;
    char **names;              // of clusters; [0] "management"; NULL: no worker has this number
    struct worker_slot *slots; // of clusters
    uint64_t joins;
    size_t n_clusters;
    struct map unknown; // struct unknown_worker, by name
    struct placement_settings *placement;
    struct namespace_labels *namespace_labels;
    struct placement_queue placement_queue; // workloads that wait for a worker with maxActive
    struct namespace_waiters namespace_waiters;
    bool workers_are_limited; // some has maxActive
    struct kind *const *kinds;
    size_t n_kinds;
    const struct seal_keys *seals;
    int64_t adopt_until_ns;        // see engine_options
    struct unsealed_log *unsealed; // of clusters
    int64_t no_kueue_until_ns;     // no Kueue in the management cluster; next check
    bool placing;
    struct startup_grace startup_grace;
    uint32_t fence_epoch;         // how often fencing was enabled while the engine runs
    bool room_grew;               // settings.max_orphans grew since the last step
    struct orphan_count *orphans; // of clusters
    struct identity *identities;  // of clusters
    uint64_t identified;          // of these, ever
    struct limit limit;
    struct random random;
    struct store store;
    struct heap timers;
    struct changes *changes;
    enum contact *contacts;        // of clusters
    struct watch_state *watches;   // [cluster * n_kinds + kind]
    struct worker_facts **workers; // [kind][cluster]
    struct request_in_flight *requests;
    size_t n_requests, cap_requests, in_flight;
    uint32_t free_request; // index + 1, 0: none
    struct lane *lanes;    // of clusters, see queue.h
    int64_t lane_level_ns; // lane.used_ns of the lane served last
    int64_t charged_ns;    // engine_options.processor at the last charge
    int64_t (*processor)(void);
    struct pace **paces; // of clusters
    struct pace_options pacing;
    size_t turn_of;              // see pacing_next
    int64_t pod_reports_full_ns; // when the bucket is full again, see pod_report.c
    struct throttle other_hosts; // writes by another host with the same origin
    struct shard *shards;        // see shard.h; NULL: this host handles all entries
    uint32_t n_shards;
    int64_t fence_begun_ns[SHARDS_MAX]; // of shards, see fence_begin
    struct capacity *capacity;          // NULL: the capacity of no worker is tracked
    struct stats stats;
    struct moment now;
    int64_t stepped_ns;       // of the step before (monotonic)
    size_t events_before;     // of update, when the step began
    int64_t wake_ns;          // due time of the next step, by the last update
    struct call_clock *clock; // of adapter calls
    int64_t received_ns;      // of the current event
    struct update *update;    // of the current step
};

#endif
