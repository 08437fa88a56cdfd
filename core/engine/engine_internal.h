// SPDX-License-Identifier: Apache-2.0
// The engine's state, shared by its parts. Each part has its own header.
#ifndef WHARF_ENGINE_ENGINE_INTERNAL_H
#define WHARF_ENGINE_ENGINE_INTERNAL_H

#include "core/adapter/adapters.h"
#include "core/base/text.h"
#include "core/engine/seal.h"
#include "core/engine/stats.h"
#include "core/engine/store.h"
#include "core/engine/update.h"

#define ENGINE_SETTLE_NS (1 * CLOCK_SECOND) // how long new work waits, once, for workers of unknown state
#define ENGINE_BATCH 256                    // entries reconciled in one step
#define ENGINE_TREES 64                     // parsed objects kept; 512 saved no processor time and took 5 MiB
#define ENGINE_LARGE ((size_t)64 << 10)     // bytes of a workload whose mirror's size is checked
// Until the management cluster is listed, most mirrors without a workload are not orphans: so many times the number and
// the memory are allowed for them. What is kept by name then has to be read again, one by one.
#define ENGINE_UNLISTED 8

struct call_clock;
struct changes;
struct identity;
struct orphan_count;
struct pace;
struct pending;
struct unknown_worker;
struct unsealed_log;
struct watch_state;

struct worker_slot { // one cluster's number
    enum worker_policy policy;
    uint64_t join;     // when it joined, in the order of joining
    double qps, burst; // its own rate limit; qps 0: as for the others
};

struct pace_options { // see engine_options
    unsigned window_max;
    double qps, burst;
    uint64_t seed;
};

struct engine {
    char *origin;
    char **names;              // of clusters; [0] "management"; NULL: no worker has this number
    struct worker_slot *slots; // of clusters
    uint64_t joins;
    size_t n_clusters;
    struct map unknown; // struct unknown_worker, by name
    struct kind *const *kinds;
    size_t n_kinds;
    const struct seal_keys *seals;
    bool adopt_unsealed, mirror_finalizer, log_decisions;
    struct unsealed_log *unsealed; // of clusters
    bool kueue_carried;            // Kueue's labels are carried to mirrors
    int64_t no_kueue_until_ns;     // the management cluster has no Kueue; checked again then
    bool create_namespaces, placing;
    size_t n_settled;        // kinds whose new work waits no longer for workers of unknown state
    int64_t settle_until_ns; // of the others
    int64_t lost_timeout_ns, retention_ns;
    int64_t mass_max, mass_percent, orphan_grace_ns;
    size_t max_orphans;           // of a cluster; 0: no limit
    bool room_grew;               // max_orphans did, since the last step
    struct orphan_count *orphans; // of clusters
    struct identity *identities;  // of clusters
    struct random random;
    struct store store;
    struct heap timers;
    struct changes *changes;
    enum contact *contacts;        // of clusters
    struct watch_state *watches;   // [cluster * n_kinds + kind]
    struct worker_facts **workers; // [kind][cluster]
    struct pending *pending;
    size_t n_pending, cap_pending, in_flight;
    uint32_t free_pending; // index + 1, 0: none
    struct entry *queue_first, *queue_last;
    struct pace **paces; // of clusters
    struct pace_options pacing;
    size_t turn_of;              // see pacing_next
    int64_t remarks_full_ns;     // of the bucket of remarks, see remark.c
    struct throttle other_hosts; // writes by another host with the same origin
    struct stats stats;
    struct moment now;
    struct call_clock *clock; // of adapter calls
    int64_t received_ns;      // of the current event
    struct update *update;    // of the current step
};

#endif
