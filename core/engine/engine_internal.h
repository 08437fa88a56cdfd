// SPDX-License-Identifier: Apache-2.0
// The engine's state, shared by its parts. Each part has its own header.
#pragma once

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
struct kueue_status;
struct pace;
struct request_in_flight;
struct placement_rules;
struct rival;
struct shard;
struct watch_state;

// The state of the parts. A member of struct engine, struct engine_cluster or struct workload that has the name of a
// folder is used there only (membership: clusters); the rest is read by all.

enum refusal {
    REFUSAL_NONE,
    REFUSAL_MANAGEMENT, // it is the management cluster
    REFUSAL_DUPLICATE,  // it has the uid of another worker, which goes before
    REFUSAL_OTHER       // a different cluster than at first, or than the one that joined
};

struct identity { // of one cluster, see identity.c
    bool read;    // since the last connection was lost
    bool known;   // was read once, or found to be unreadable
    bool unknown_reported;
    bool pinned;         // `first` is that of its Secret
    uint64_t identified; // its place in the order of those that were identified and not refused; 0: none yet
    enum refusal refusal;
    size_t duplicate_of;
    char first[STORE_UID_MAX], uid[STORE_UID_MAX]; // the first and the last uid read; "": none
    char recorded[STORE_UID_MAX];                  // see engine_event.worker; "": none
};

// The orphans of one worker, see orphans.c.
struct orphan_count {
    size_t names, bytes; // their number and text size, also before the lists are complete
    uint32_t waiting;    // not released yet
    uint32_t released;   // released in the window
    int64_t window_ns;   // when it began
    size_t excess;       // of mirrors with a workload, see large_mirrors.h
};

struct cluster_membership { // see clusters/
    enum contact contact;
    uint64_t join;          // when it joined, in the order of joining
    int64_t moves_since_ns; // since when it is drained by moving
    // Since when several attempts in a row to reach it failed, until one succeeds; 0: they do not. Watches may be open.
    int64_t refused_since_ns;
    struct identity identity;
};

struct cluster_placement { // see completions.c
    struct recent finished;
    struct durations *durations; // of those that are compared; NULL: none
    uint16_t fast;               // the last 16 that were compared, a bit each: far faster than elsewhere
};

struct unsealed_log { // throttles the log line about foreign objects with the host's marks
    struct throttle throttle;
    int64_t next_ns;
};

struct status_bytes { // that a worker's mirrors cause to be written, see status_budget.h
    int64_t full_ns, closed_until_ns;
    bool reported;
};

struct lane { // of entries to reconcile, see queue.h
    struct entry *first, *last;
    int64_t used_ns; // of the engine's time, for its turn: nothing is saved up while it is empty
    struct engine_time time;
};

struct engine_cluster {              // one number
    char *name;                      // [0] "management"; NULL: no worker has this number
    struct worker_settings settings; // owned
    struct lane lane;
    struct cluster_membership membership;
    struct fence fence;
    struct orphan_count limits;
    struct unsealed_log observe;
    struct cluster_placement placement;
    struct pace *request;
    struct status_bytes status;
};

struct engine_membership { // see clusters/
    uint64_t joins;
    uint64_t identified; // clusters, ever
    struct map missing;  // struct missing_worker, by name
};

struct engine_fence {
    uint32_t epoch;               // how often it was enabled while the engine runs
    int64_t begun_ns[SHARDS_MAX]; // of shards, see fence_begin
};

struct engine_kueue {
    int64_t absent_until_ns; // the management cluster has no Kueue; checked again then
};

struct engine_limits {
    struct admission {      // see limit.c
        struct map refused; // struct refused, by uid
        size_t rest;        // refused and not recorded, since the last lists
        int64_t listed_ns;  // time of the last requested list
        bool unreported;    // refused while another host held the lease
        uint64_t shards;    // held at the last check, see shard_mask
    } admission;
    bool grew; // settings.max_orphans did, since the last step
};

struct engine_observe {
    int64_t adopt_until_ns; // see engine_options
};

struct placement_queue { // see placing.h
    struct fair_queue waiting;
    size_t left, misses; // of the round
    bool freed, trying;
    struct entry *tried;
    int64_t next_ns;
};

struct engine_placement {
    struct placement_rules *rules;
    struct placement_queue queue; // workloads that wait for a worker with maxActive
    struct namespace_labels {
        struct map map; // struct namespace_, by name
        bool listed;
        int64_t due_ns, ticked_ns; // of the next pass over all entries, CLOCK_NEVER: none; of the last pass
    } namespaces;
    struct namespace_waiters { // see namespace_retry_wait
        struct entry **list;
        size_t count, capacity;
    } namespace_waiters;
    bool workers_are_limited; // some has maxActive
};

struct engine_report {
    int64_t pod_reports_full_ns; // of the bucket of remarks, see remark.c
};

struct engine_requests {
    struct request_in_flight *requests;
    size_t n_requests, cap_requests, in_flight;
    uint32_t free_request; // index + 1, 0: none
    size_t turn_of;        // see pacing_next
    unsigned window_max;   // see engine_options
};

struct engine_shards {  // see shard.h
    struct shard *list; // NULL: all entries are this host's
    uint32_t count;
};

struct engine_status {
    struct throttle other_hosts; // writes by another host with the same origin
};

struct engine_queue { // see queue.h
    struct heap timers;
    int64_t lane_level_ns; // lane.used_ns of the one that was served last
    int64_t charged_ns;    // engine_options.processor up to which time was charged
    int64_t (*processor)(void);
};

struct startup_grace {
    size_t n_kinds;    // kinds whose grace period is over
    size_t seen_kinds; // kinds when `until_ns` was set
    int64_t until_ns;  // end for the others
};

struct engine {
    struct engine_settings settings; // texts are owned, those of placement by placement.rules
    char *origin;
    struct kind *const *kinds;
    size_t n_kinds;
    const struct seal_keys *seals;
    bool placing;
    uint64_t seed;
    struct random random;
    struct store store;
    struct engine_cluster *clusters;
    size_t n_clusters;
    struct watch_state *watches;   // [cluster * n_kinds + kind], see cluster_watch
    struct worker_facts **workers; // [kind][cluster]
    struct stats stats;
    struct call_clock *clock; // of adapter calls
    // Of the current step.
    struct moment now;
    int64_t stepped_ns;   // of the step before (monotonic)
    int64_t received_ns;  // of the current event
    int64_t wake_ns;      // when the next step is due, as the last one said
    size_t events_before; // of update, when the step began
    struct update *update;
    // Of the parts.
    struct engine_queue queue;
    struct startup_grace startup_grace;
    struct capacity *capacity; // NULL: no worker's nodes are looked at
    struct changes *history;
    struct engine_fence fence;
    struct engine_kueue kueue;
    struct engine_limits limits;
    struct engine_membership membership;
    struct engine_observe observe;
    struct engine_placement placement;
    struct engine_report report;
    struct engine_requests request;
    struct engine_shards shard;
    struct engine_status status;
};
