// SPDX-License-Identifier: Apache-2.0
// Unstarted mirrors, and workloads that workers reject: durations, workers already tried, and reasons, for
// decide_placed.c. The facts end once a mirror has run for pendingTimeout: an earlier eviction is no success. The
// facts are in memory only, so a restarted host counts anew, except for a mirror that has never started.
#pragma once

#include "core/engine/engine_internal.h"

#define UNSTARTED_ROUND_NS (30 * CLOCK_SECOND) // between two rounds over all workers, doubling
#define UNSTARTED_ROUND_MAX_NS (10 * CLOCK_MINUTE)

// A new state of the mirror. `phase` NULL: no status.
void unstarted_observe(const struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const wharf_phase *phase);
// A client resumed the workload: the mirror has the whole time again.
void unstarted_resumed(const struct engine *engine, struct entry *entry);
// Stores a report about the mirror's pods.
void unstarted_pod_report(struct entry *entry, const char *text);

void unstarted_drop(struct entry *entry);

// Reports the withdrawal, once sent.
void unstarted_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror);
// The delete certainly failed; CONFLICT: the mirror has changed since.
void unstarted_kept(struct entry *entry, struct mirror *mirror, enum reason reason);
// After the choice of a worker: begins another round if the host has tried the worker before.
void unstarted_placed(struct engine *engine, struct entry *entry, size_t cluster);

// Reports that no worker has accepted the workload within giveUpAfter (ACTION_GIVE_UP): in the status, if the API of
// the kind has words for a failure, and in an Event. True: another decision follows.
bool unstarted_give_up(struct engine *engine, struct entry *entry);
