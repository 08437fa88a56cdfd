// SPDX-License-Identifier: Apache-2.0
// The state of the clusters: watches, identities, and the worker facts of decide().
#pragma once

#include "core/base/namespace_map.h"
#include "core/engine/engine_internal.h"

struct watch_state { // one kind in one cluster
    enum reflector_state state;
    bool listing, listed, state_known;
    uint32_t epoch; // of the current or last list
    int64_t lost_since_ns;
    const char *version;      // served, one of the kind's; NULL: unknown
    uint8_t paused;           // enum pause, bits
    bool overflowed;          // PAUSE_FULL, in the current list
    bool large_ignored;       // the engine ignores some of the worker's mirrors, see large_mirrors_bound
    uint32_t disowned;        // management: workloads no longer delegated, since the last sight of a delegated one
    uint32_t status_failures; // PAUSE_STATUS
    struct also_run {     // management: signs of a controller that runs delegated workloads of the kind, see status.h
        int64_t until_ns; // the signs count until then
        uint64_t space;   // hash of the namespace of the first
        bool everywhere;  // others were in another namespace
    } also_run;
    struct probation { // management: of a kind with doubted_until or owned objects, see core/engine/status/probation.c
        int64_t until_ns;     // 0: no workload yet
        bool asked, answered; // for the owned objects
        bool settled;         // the API has the field doubted_until
    } probation;
    int64_t status_at_ns;      // earliest write of a status
    int64_t suspect_until_ns;  // management: until then, absent workloads do not count as deleted
    uint32_t restorations;     // how often the resourceVersions went backwards
    int64_t revision;          // management: the newest resourceVersion known; 0: none
    int64_t asked_ns;          // management: time of limit.c's request for a list that is not complete yet; 0: none
    int64_t restored_until_ns; // management: until then, even an event of a deletion is in doubt
    int64_t doubted_until_ns;  // management: until then, a read with less than the list causes no new list
};

enum pause { PAUSE_FULL = 1, PAUSE_DISOWNED = 2, PAUSE_STATUS = 4, PAUSE_FIELD = 8, PAUSE_ADAPTER = 16 };

// The name of a namespace in the cluster: the same, or by the worker's namespaces.map. False: it has none there, and
// `out` is the same name.
bool cluster_namespace(const struct engine *engine, size_t cluster, const char *namespace_, char out[NAMESPACE_SIZE]);
enum contact cluster_contact(const struct engine *engine, size_t cluster);
bool cluster_is_vacant(const struct engine *engine, size_t cluster); // no worker has this number
struct watch_state *cluster_watch(const struct engine *engine, size_t cluster, size_t kind);
// The list is complete, the watch is open, and the cluster is not lost.
bool cluster_is_connected(const struct engine *engine, size_t cluster, size_t kind);
bool cluster_is_identified(const struct engine *engine, size_t cluster); // the host has read the uid, see identity.c
bool cluster_is_other(const struct engine *engine, size_t cluster);      // counts as lost

// The first kind without a complete list of the management cluster, which serves the kind; or n_kinds.
size_t cluster_unlisted_kind(const struct engine *engine);

// Updates the worker facts of decide() from the watch.
void cluster_refresh(struct engine *engine, size_t cluster, size_t kind);
// The same after a change of the watch, or of the cluster for all kinds; queues the entries that wait for the cluster.
void cluster_watch_changed(struct engine *engine, size_t cluster, size_t kind);
void cluster_changed(struct engine *engine, size_t cluster);
void cluster_queue_blocked(struct engine *engine, size_t kind, size_t cluster);

void cluster_count_active(struct engine *engine, struct entry *entry, uint32_t cluster); // 0: none
// For the next orphanGrace, workloads absent from the management cluster do not count as deleted.
void cluster_suspect_deletions(struct engine *engine, size_t kind, bool restored);
// Requests a relist.
void cluster_relist(struct engine *engine, size_t cluster, size_t kind);
