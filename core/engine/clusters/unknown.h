// SPDX-License-Identifier: Apache-2.0
// Workloads whose annotation names a worker that is not in the configuration: it was removed with workloads on it, or
// the host was restarted without it. They count as placed in an unreachable worker; when the worker joins (again), it
// takes them up.
#pragma once

#include "core/engine/engine_internal.h"

struct unknown_worker {
    char *name;
    size_t workloads, unfinished;
    bool logged;
    char uid[STORE_UID_MAX]; // of the cluster that had this name; "": not known
};

void unknown_free(struct engine *engine);

// After the workload was read, or forgotten: counts it under `name`, NULL: its worker is known, or it is not placed.
void unknown_count(struct engine *engine, struct entry *entry, const char *name);
// Sets its worker to DECIDE_UNKNOWN_CLUSTER from now on.
void unknown_begin(struct engine *engine, struct entry *entry);
// Tells once that the worker `name` is not known, unless the workload has finished.
void unknown_tell(struct engine *engine, struct entry *entry, const char *name);
// After each decision, of a workload on such a worker: tells it when the sources of workers have had time to name the
// worker, and logs each such worker once.
void unknown_check(struct engine *engine, struct entry *entry);
// The Event of a further attempt because of it.
void unknown_placed_again(struct engine *engine, struct entry *entry, const struct action *action);

// A worker left, whose cluster had this uid. Logs how many workloads are on it.
void unknown_left(struct engine *engine, const char *name, const char *uid);
// A worker of this name joined: it takes up its workloads, and must be the same cluster.
void unknown_joined(struct engine *engine, size_t cluster);

void unknown_stats(struct engine *engine); // into the stats

const char *unknown_name(const struct entry *entry); // of the worker that its annotation names; NULL: none
