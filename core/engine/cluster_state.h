// SPDX-License-Identifier: Apache-2.0
// What is known of the clusters: the state of their watches, which cluster each one is, and what of that decide() sees.
#ifndef WHARF_ENGINE_CLUSTER_STATE_H
#define WHARF_ENGINE_CLUSTER_STATE_H

#include "core/engine/engine_internal.h"

struct watch_state { // one kind in one cluster
    enum reflector_state state;
    bool listing, listed, settled;
    uint32_t epoch; // of the list that is, or was last, under way
    int64_t lost_since_ns;
    const char *version;      // served, one of the kind's; NULL: not known
    uint8_t paused;           // enum pause, bits
    bool overflowed;          // PAUSE_FULL, in the list that is under way
    uint32_t disowned;        // management: workloads that were ours, since one was last seen that is
    uint32_t status_failures; // PAUSE_STATUS
    int64_t status_at_ns;     // no status is written before that
    int64_t suspect_until_ns; // management: that a workload is not there means nothing
    uint32_t rewinds;         // how often its versions went back
    int64_t rewound_until_ns; // management: that it was seen being deleted means less
};

enum pause { PAUSE_FULL = 1, PAUSE_DISOWNED = 2, PAUSE_STATUS = 4 };

enum refusal {
    REFUSAL_NONE,
    REFUSAL_MANAGEMENT, // it is the management cluster
    REFUSAL_DUPLICATE,  // it is a worker that stands before it in the configuration
    REFUSAL_OTHER       // another cluster than at first
};

struct identity { // of one cluster, see identity.c
    bool read;    // since the last connection was lost
    bool known;   // was read once, or found to be unknown
    bool unknown_reported;
    enum refusal refusal;
    size_t duplicate_of;
    char first[STORE_UID_MAX], uid[STORE_UID_MAX]; // the first one that was read, and the last one; "": none
};

// Mirrors of one worker whose workload is not there, see orphans.c.
struct orphan_count {
    size_t names, bytes; // all of them, and of their text; also before the lists are complete
    uint32_t waiting;    // not let go yet
    uint32_t let_go;     // in the window
    int64_t window_ns;   // when it began
};

struct watch_state *cluster_watch(const struct engine *engine, size_t cluster, size_t kind);
// The list is complete, the watch is open, and the cluster is not lost.
bool cluster_is_connected(const struct engine *engine, size_t cluster, size_t kind);
bool cluster_is_identified(const struct engine *engine, size_t cluster); // its uid was read, see identity.c
bool cluster_is_other(const struct engine *engine, size_t cluster);      // as good as lost

// Keeps what decide() sees of a worker in step with its watch.
void cluster_refresh(struct engine *engine, size_t cluster, size_t kind);
// The same where anything about the watch, or about the cluster for all kinds, changed: who waits for it is queued.
void cluster_watch_changed(struct engine *engine, size_t cluster, size_t kind);
void cluster_changed(struct engine *engine, size_t cluster);
void cluster_queue_blocked(struct engine *engine, size_t kind, size_t cluster);

void cluster_count_active(struct engine *engine, struct entry *entry, uint32_t cluster); // 0: none
// What the management cluster does not have any more is no sign of a deletion for the next orphanGrace.
void cluster_suspect_deletions(struct engine *engine, size_t kind, bool rewound);
// Asks for the objects to be listed again.
void cluster_relist(struct engine *engine, size_t cluster, size_t kind);

#endif
