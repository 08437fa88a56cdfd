// SPDX-License-Identifier: Apache-2.0
// The settings of one worker: made by a source of workers, passed on by the host, kept by the engine.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum worker_policy {
    WORKER_ACTIVE,
    WORKER_CORDONED,     // place nothing new there
    WORKER_DRAIN_FINISH, // cordoned, and running workloads finish there
    WORKER_DRAIN_MOVE,   // cordoned, and mirrors are deleted and placed elsewhere, where another worker is eligible
    WORKER_LEFT          // no worker
};

// The owner of the struct owns the texts; NULL: an empty text.
struct worker_settings { // begins with WORKER_SETTINGS_TEXTS texts
    const char *name;
    const char *namespaces;    // of the workloads that may be placed there, see decide.h; NULL: all
    const char *labels;        // "key=value,key=value"
    const char *max_kinds;     // most workloads of a kind, "jobs.batch=5,JobSet=2"
    const char *uid;           // of the cluster, from the worker's Secret
    const char *recorded;      // of the cluster that a host has used under this name, see sources.h
    const char *namespace_map; // see core/base/namespace_map.h; NULL: the namespaces have the same names there
    enum worker_policy policy; // set by the host, from the cordon, the drain and the removal
    bool quiet;                // the policy is not worth a line in the log; no part of a comparison
    double qps, burst;         // rate limit; qps 0: the limit of all clusters
    size_t max_active;         // of all kinds; 0: any number
    uint32_t weight, order;    // 0: 1, and after all others
    bool is_self;              // the management cluster as a worker
};

#define WORKER_SETTINGS_TEXTS 7

// False: out of memory, and *to is cleared.
bool worker_settings_copy(const struct worker_settings *from, struct worker_settings *to);
bool worker_settings_equal(const struct worker_settings *a, const struct worker_settings *b);
void worker_settings_clear(struct worker_settings *settings);
