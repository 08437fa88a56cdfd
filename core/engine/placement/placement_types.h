// SPDX-License-Identifier: Apache-2.0
// The settings of placement, and the facts for the choice of a worker beyond the other facts of decide(): the policy,
// and for each worker the obstacle that excludes it.
#pragma once

#include "core/base/selector.h"
#include "core/config/engine_settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Why a worker does not get a workload.
enum worker_obstacle {
    OBSTACLE_NONE,
    OBSTACLE_REFUSED,     // its identity
    OBSTACLE_UNREACHABLE, // its API server
    OBSTACLE_CONNECTING,
    OBSTACLE_KIND,       // not served there
    OBSTACLE_PAUSED,     // too many orphans
    OBSTACLE_SUSPECT,    // answers late
    OBSTACLE_CLOSED,     // cordoned, drained or leaving
    OBSTACLE_REJECTED,   // the worker rejected the mirror
    OBSTACLE_OCCUPIED,   // an object of the name is there
    OBSTACLE_SELECTOR,   // its labels do not match
    OBSTACLE_PINNED,     // the workload names others
    OBSTACLE_FULL,       // maxActive
    OBSTACLE_CAPACITY,   // the workload's requests do not fit
    OBSTACLE_NAMESPACE,  // the namespace is not allowed there
    OBSTACLE_TRIED,      // the mirror did not start there in time
    OBSTACLE_UNDECIDED,  // the labels of the namespace, which decide, are unknown
    OBSTACLE_FENCED,     // its guard would stop new mirrors
    OBSTACLE_CREDENTIALS // the worker rejects the credentials
};

struct placement_option { // one worker
    uint8_t obstacle;     // enum worker_obstacle: the first one
    uint32_t rank;        // of a pinned workload: the lowest is taken
    uint32_t fullness;    // of the requested resources, in thousandths; see capacity_fullness
    int64_t until_ns;     // the end of the obstacle; CLOCK_NEVER: none
};

struct placement_view {
    enum placement_policy policy;
    bool pinned;                      // chosen by rank, not by the policy
    bool lacks_capacity;              // the request does not fit into some worker
    bool waits_for_limit;             // for maxActive, until other workloads end, see placement_queue.h
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
