// SPDX-License-Identifier: Apache-2.0
// The state of the clusters: their watches, their identities, and the worker facts of decide().
#pragma once

#include "core/engine/engine_internal.h"

// Signs of a controller in the management cluster that runs delegated workloads of a kind, see rival.h.
struct also_run {
    int64_t until_ns; // they count until then
    uint64_t space;   // hash of the namespace of the first
    bool everywhere;  // there were others in another namespace
};

struct watch_state { // one kind in one cluster
    enum reflector_state state;
    bool listing, listed, state_known;
    uint32_t epoch; // of the current or last list
    int64_t lost_since_ns;
    const char *version;       // served, one of the kind's; NULL: not known
    uint8_t paused;            // enum pause, bits
    bool overflowed;           // PAUSE_FULL, in the current list
    bool large_ignored;        // of the worker's mirrors, some, see large_mirrors.h
    uint32_t disowned;         // management: workloads no longer delegated, since a delegated one was last seen
    uint32_t status_failures;  // PAUSE_STATUS
    struct also_run also_run;  // management
    int64_t status_at_ns;      // no status is written before that
    int64_t suspect_until_ns;  // management: until then, the absence of a workload does not mean that it was deleted
    uint32_t restorations;     // how often its resourceVersions went backwards
    int64_t revision;          // management: the newest resourceVersion known; 0: none
    int64_t asked_ns;          // management: when limit.c asked for a list that is not complete yet; 0: it did not
    int64_t restored_until_ns; // management: until then, a deletion that was seen is not trusted either
    int64_t doubted_until_ns;  // management: until then, it is not listed again because a read finds less than it
};

enum pause { PAUSE_FULL = 1, PAUSE_DISOWNED = 2, PAUSE_STATUS = 4, PAUSE_FIELD = 8 };

enum contact cluster_contact(const struct engine *engine, size_t cluster);
bool cluster_is_vacant(const struct engine *engine, size_t cluster); // no worker has this number
struct watch_state *cluster_watch(const struct engine *engine, size_t cluster, size_t kind);
// The list is complete, the watch is open, and the cluster is not lost.
bool cluster_is_connected(const struct engine *engine, size_t cluster, size_t kind);
bool cluster_is_identified(const struct engine *engine, size_t cluster); // its uid was read, see identity.c
bool cluster_is_other(const struct engine *engine, size_t cluster);      // counts as lost

// Updates the worker facts of decide() from the watch.
void cluster_refresh(struct engine *engine, size_t cluster, size_t kind);
// The same after a change of the watch, or of the cluster for all kinds; queues the entries that wait for it.
void cluster_watch_changed(struct engine *engine, size_t cluster, size_t kind);
void cluster_changed(struct engine *engine, size_t cluster);
void cluster_queue_blocked(struct engine *engine, size_t kind, size_t cluster);

void cluster_count_active(struct engine *engine, struct entry *entry, uint32_t cluster); // 0: none
// For the next orphanGrace, a workload's absence from the management cluster does not count as its deletion.
void cluster_suspect_deletions(struct engine *engine, size_t kind, bool restored);
// Requests a relist.
void cluster_relist(struct engine *engine, size_t cluster, size_t kind);
