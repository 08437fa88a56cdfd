// SPDX-License-Identifier: Apache-2.0
// A missing worker: the annotations of workloads name the worker, and the configuration does not. Either the worker was
// removed while workloads were there, or the host restarted without the worker. The workloads count as placed in an
// unreachable worker. A worker that joins under the name gets the workloads back.
#pragma once

#include "core/engine/engine_internal.h"

struct missing_worker {
    size_t workloads, unfinished;
    bool logged;
    char uid[STORE_UID_MAX]; // of the cluster that had this name; "": unknown
    char name[];
};

void missing_workers_free(struct engine *engine);

// After a read of the workload, or before its end: counts the workload at the missing worker `name`. NULL: the worker
// is configured, or the workload has none.
void missing_worker_count(struct engine *engine, struct entry *entry, const char *name);
// Sets the workload's cluster to DECIDE_UNKNOWN_CLUSTER from now on.
void missing_worker_begin(struct engine *engine, struct entry *entry);
// Reports the missing worker `name` once, unless the workload has finished.
void missing_worker_report(struct engine *engine, struct entry *entry, const char *name);
// After each decision: reports once the sources of workers have had time to name the worker, and logs each missing
// worker once.
void missing_worker_check(struct engine *engine, struct entry *entry);
// The Event of a further attempt.
void missing_worker_rescheduled(struct engine *engine, struct entry *entry, const struct action *action);

// A worker left, with the cluster of this uid. Logs the number of workloads.
void missing_worker_left(struct engine *engine, const char *name, const char *uid);
// A worker joined, gets the workloads of the missing worker of that name, and must be the same cluster.
void missing_worker_joined(struct engine *engine, size_t cluster);

void missing_workers_stats(struct engine *engine); // fills in the statistics

const char *missing_worker_name(const struct entry *entry); // of the entry's missing worker; NULL: none
