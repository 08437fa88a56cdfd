// SPDX-License-Identifier: Apache-2.0
// The choice of a worker: a part of decide(), with the facts for the choice beyond the other facts of decide(): the
// policy, and the obstacle that excludes a worker.
#pragma once

#include "core/base/selector.h"
#include "core/config/engine_settings.h"
#include "core/engine/decide/decide.h"

// Why a worker does not get a workload.
enum worker_obstacle {
    OBSTACLE_NONE,
    OBSTACLE_REFUSED,     // by identity
    OBSTACLE_UNREACHABLE, // the API server
    OBSTACLE_CONNECTING,
    OBSTACLE_KIND,        // not served there
    OBSTACLE_PAUSED,      // too many orphans
    OBSTACLE_SUSPECT,     // answers late
    OBSTACLE_CLOSED,      // cordoned, drained or leaving
    OBSTACLE_REJECTED,    // the worker rejected the mirror
    OBSTACLE_OCCUPIED,    // an object of the name is there
    OBSTACLE_SELECTOR,    // the labels do not match
    OBSTACLE_PINNED,      // the workload names others
    OBSTACLE_FULL,        // maxActive
    OBSTACLE_CAPACITY,    // the workload's requests do not fit
    OBSTACLE_NAMESPACE,   // the namespace is not allowed there
    OBSTACLE_TRIED,       // the mirror did not start there in time
    OBSTACLE_UNDECIDED,   // the rule needs the labels of the namespace, and the host has none
    OBSTACLE_FENCED,      // the guard would stop new mirrors
    OBSTACLE_CREDENTIALS, // the worker rejects the credentials
    OBSTACLE_TENANT,      // no consent of the namespace there, or no impersonation
    OBSTACLE_DEPENDENCY,  // the worker cannot have an object that the workload refers to
    OBSTACLE_FAILING      // several workloads failed there for the same reason
};

struct placement_option { // one worker
    uint8_t obstacle;     // enum worker_obstacle: the first one
    bool avoided;         // an attempt failed because of this worker: after all others
    uint32_t rank;        // of a pinned workload: the lowest wins
    uint32_t fullness;    // of the requested resources, in thousandths; see capacity_fullness
    uint32_t score;       // of adapters, the sum: the highest wins, before the policy; see placing.h
    int64_t until_ns;     // the end of the obstacle; CLOCK_NEVER: none
};

struct placement_view {
    enum placement_policy policy;
    bool pinned;                      // chosen by rank, not by the policy
    bool lacks_capacity;              // the request does not fit into some worker
    bool waits_for_limit;             // for maxActive, until other workloads end, see placing.h
    struct placement_option *workers; // of clusters: indices are cluster numbers
    size_t n_clusters;
    struct selector selector; // of the workload
    char problem[256];        // an invalid annotation, for which no worker matches; ""
};

// Adds an obstacle, unless the worker has one.
static inline void placement_exclude(struct placement_view *view, size_t cluster, enum worker_obstacle obstacle,
                                     int64_t until_ns) {
    if (view->workers[cluster].obstacle != OBSTACLE_NONE)
        return;
    view->workers[cluster].obstacle = (uint8_t)obstacle;
    view->workers[cluster].until_ns = until_ns;
}

// The worker to place a workload in: eligible, not excluded, best by the policy, or first of the annotation.
// DECIDE_UNPLACED: none. Lowers *next_ns to the end of the earliest exclusion. *candidates: the number of such workers.
size_t placement_choose(const struct decide_facts *f, int64_t *next_ns, size_t *candidates);
// An attempt of the workload failed because of the worker.
bool placement_is_avoided(const struct decide_facts *f, size_t cluster);
// The numbers of these workers, in `list` with room for n_clusters. Returns how many.
size_t placement_candidates(const struct decide_facts *f, size_t *list);
// Whether the worker may get the workload now. If not, lowers *next_ns to the time of a possible change.
bool placement_permits(const struct decide_facts *f, size_t cluster, int64_t *next_ns);
// The worker's own rule for the workload's namespace. Denied also where the namespace has no name.
enum namespaces_verdict placement_judge(const struct decide_facts *f, size_t cluster);
// The engine waits for the state of a worker.
bool placement_in_startup_grace(const struct decide_facts *f);
// Rule 2: until this time a worker of unknown state may have an earlier mirror. After a restart: any worker; else the
// worker of the given-up mirror, if that worker left and joined again. 0: none.
int64_t placement_state_unknown_until_ns(const struct decide_facts *f);
// A new attempt in the best worker. Rule 2: the mirror of the old attempt is gone or given up.
struct action placement_move(const struct decide_facts *f, const char *why);
