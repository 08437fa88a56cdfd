// SPDX-License-Identifier: Apache-2.0
// The engine's state, shared by all parts. Each part has a header.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/text.h"
#include "core/engine/fence/fence_types.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/stats.h"
#include "core/engine/store/store.h"
#include "core/engine/update.h"

#define ENGINE_BATCH 256                // entries reconciled in one step
#define ENGINE_TREES 64                 // cached trees; 512 saved no processor time and took 5 MiB
#define ENGINE_LARGE ((size_t)64 << 10) // bytes; the host checks the mirror size of larger workloads
// Until the first list of the management cluster is complete, most mirrors without a workload are not orphans: the host
// permits this factor of the number and the memory. Later the host reads mirrors kept by name one by one.
#define ENGINE_UNLISTED 8

// The state of the parts. Only the folder with the name of a member of struct engine, struct engine_cluster or struct
// workload uses that member (membership: clusters); all folders read the other members.

struct identity { // of one cluster, see identity.c
    bool read;    // since the last connection was lost
    bool known;   // read once, or certainly unreadable
    bool unknown_reported;
    bool pinned;         // `first` is from the worker's Secret
    uint64_t identified; // ordinal among the clusters identified and not refused; 0: none yet
    enum refusal {
        REFUSAL_NONE,
        REFUSAL_MANAGEMENT, // the worker is the management cluster
        REFUSAL_DUPLICATE,  // another worker with a better claim has the same uid
        REFUSAL_OTHER       // a different cluster than at startup, or than the one that joined
    } refusal;
    size_t duplicate_of;
    char first[STORE_UID_MAX], uid[STORE_UID_MAX]; // the first and the last uid read; "": none
    char recorded[STORE_UID_MAX];                  // see engine_event.worker; "": none
};

struct engine_cluster {              // one number
    char *name;                      // [0] "management"; NULL: vacant
    struct worker_settings settings; // owned
    struct lane {                    // of entries to reconcile, see queue.h
        struct entry *first, *last;
        int64_t used_ns; // of the engine's time, for the turns of lanes: an empty lane saves nothing up
        struct engine_time time;
    } lane;
    struct { // see clusters/
        enum contact contact;
        uint64_t join;          // ordinal of joining
        int64_t moves_since_ns; // start of the drain by moving
        // Start of a series of failed attempts to reach the cluster; 0: none. Some watches may still work.
        int64_t refused_since_ns;
        struct identity identity;
    } membership;
    struct fence fence;
    struct orphan_count {    // see orphans.c
        size_t names, bytes; // number and text size, also before the lists are complete
        uint32_t waiting;    // not released yet
        uint32_t released;   // within the window
        int64_t window_ns;   // start of the window
        size_t excess;       // bytes of mirrors with a workload, see large_mirrors_bound
    } limits;
    struct unsealed_log { // throttles the log line about foreign objects with the host's marks
        struct throttle throttle;
        int64_t next_ns;
    } observe;
    struct { // see completions.c
        struct recent finished;
        struct durations *durations; // of compared workloads; NULL: none
        uint16_t fast;               // a bit for each of the last 16 compared workloads: far faster than elsewhere
    } placement;
    struct pace *request;
    struct status_bytes { // written for statuses of the worker's mirrors, see status_budget.h
        int64_t full_ns, closed_until_ns;
        bool reported;
    } status;
};

struct engine {
    struct engine_settings settings; // the texts are owned; the rules of placement are in placement.rules
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
    // The current step.
    struct moment now;
    int64_t stepped_ns;   // time of the step before (monotonic)
    int64_t received_ns;  // of the current event
    int64_t wake_ns;      // due time of the next step, by the last one
    size_t events_before; // of update, when the step began
    struct update *update;
    // The parts.
    struct { // see queue.h
        struct heap timers;
        int64_t lane_level_ns; // lane.used_ns of the last lane that had a turn
        int64_t charged_ns;    // engine_options.processor at the last charge
        int64_t (*processor)(void);
    } queue;
    struct startup_grace {
        size_t n_kinds;    // kinds with an ended grace period
        size_t seen_kinds; // kinds when `until_ns` was set
        int64_t until_ns;  // end for the others
    } startup_grace;
    struct capacity *capacity; // NULL: free capacity is unlimited everywhere
    struct changes *history;
    struct {
        uint32_t epoch;               // how often a reload enabled fencing
        int64_t begun_ns[SHARDS_MAX]; // by shard, see fence_begin
    } fence;
    struct {
        int64_t absent_until_ns; // no Kueue in the management cluster; time of the next check
    } kueue;
    struct {
        struct admission {      // see limit.c
            struct map refused; // struct refused, by uid
            size_t rest;        // refused and not recorded, since the last lists
            int64_t listed_ns;  // time of the last requested list
            bool unreported;    // refused while another host held the lease
            uint64_t shards;    // held at the last check, see shard_mask
        } admission;
        bool grew; // settings.max_orphans did, since the last step
    } limits;
    struct { // see clusters/
        uint64_t joins;
        uint64_t identified; // clusters, ever
        struct map missing;  // struct missing_worker, by name
    } membership;
    struct {
        int64_t adopt_until_ns; // see engine_options
    } observe;
    struct { // see placing.h
        struct placement_rules *rules;
        struct placement_queue { // workloads that wait for a worker with maxActive
            struct fair_queue waiting;
            size_t left, misses; // of the round
            bool freed, trying;
            struct entry *tried;
            int64_t next_ns;
        } queue;
        struct namespace_labels {
            struct map map; // struct namespace_, by name
            bool listed;
            int64_t due_ns, ticked_ns; // of the next pass over all entries, CLOCK_NEVER: none; of the last pass
        } namespaces;
        struct namespace_waiters { // see namespace_retry_wait
            struct entry **list;
            size_t count, capacity;
        } namespace_waiters;
        bool workers_are_limited; // some have maxActive
    } placement;
    struct {
        int64_t pod_reports_full_ns; // of the bucket of pod reports
    } report;
    struct {
        struct request_in_flight *requests;
        size_t n_requests, cap_requests, in_flight;
        uint32_t free_request; // index + 1, 0: none
        size_t turn_of;        // see pacing_next
        unsigned window_max;   // see engine_options
    } request;
    struct {                // see shard.h
        struct shard *list; // NULL: this host handles all entries
        uint32_t count;
    } shard;
    struct {
        struct throttle other_hosts; // writes by another host with the same origin
    } status;
};
