// SPDX-License-Identifier: Apache-2.0
// The decisions of `wharf guard`, without I/O: whether the host counts as lost, by the guard's own clock, and the
// action for each mirror then. docs/fencing.md has the protocol, fence_lease.h the host's side.
//
// A guard watches the host's Leases: one for all mirrors, or one for each shard, of the present number of shards and of
// former ones. The guard stops a mirror if a Lease of the mirror has expired and no Lease of the mirror is fresh.
#pragma once

#include "core/adapter/adapters.h"
#include "core/engine/fence/fence_lease.h"

#define GUARD_BEATS 64   // remembered
#define GUARD_LEASES 192 // of several numbers of shards
#define GUARD_PEERS 8    // watched at a time
#define GUARD_BODY_MAX (GUARD_RECORD_MAX + 2048)

enum guard_action { GUARD_SUSPENDS, GUARD_DELETES };

struct guard_options {
    const char *origin, *namespace_;
    const char *identity;     // of this process, never used by another one; valid as the name of an annotation
    enum guard_action action; // SUSPENDS: deletes a mirror without a way to suspend
};

struct guarded { // a Lease of the host that this process has seen: of all mirrors, or of those of a shard
    struct fence_part part;
    bool released;        // by the host
    bool superseded;      // expired while the host renewed all Leases of another number of shards
    bool was_fresh, gone; // at the last look; absent in the last list: a deleted Lease gets no renewal either
    int64_t after_ns;     // fenceAfter in the Lease; 0: unknown
    int64_t fresh_ns;     // the holder was live then: start of fenceAfter
    bool inherits;        // another guard knows the renewal that this process found first,
    int64_t inherited_ns; // and counts from then
    char version[32];     // resourceVersion
};

struct guard_leases { // only guard_leases.c and guard.c write the fields
    char origin[64];
    struct guarded list[GUARD_LEASES];
    size_t count;
    int64_t shortest_ns, longest_ns; // fenceAfter in the Leases; 0: unknown
    int64_t asked_ns, read_ns;       // time of the last request for the list, and of the request for the last list read
    int64_t refused_ns;              // since when the API server has answered without a list; 0: no such answer
};

// Notes changes over time; true: the guard may have to stop more mirrors than before.
bool guard_look(struct guard_leases *leases, struct moment now);
// True: the guard has to stop some mirrors. Never before the guard has known a Lease for a whole fenceAfter.
bool guard_is_fencing(const struct guard_leases *leases, struct moment now);
// The names of the missed Leases, as many as fit.
void guard_missed(const struct guard_leases *leases, struct moment now, char *out, size_t size);
// A line for each Lease without renewal for half of fenceAfter, as many as fit: the last renewal, and the consequence.
void guard_late(const struct guard_leases *leases, struct moment now, char *out, size_t size);
// The number of held Leases and of missed Leases, and the time of the oldest renewal; 0: no Lease.
size_t guard_held(const struct guard_leases *leases, struct moment now, size_t *missed, int64_t *oldest_ns);
// The same as guard_is_fencing for one mirror: `hash` is the shard_hash of its workload.
bool guard_is_fencing_of(const struct guard_leases *leases, uint64_t hash, struct moment now);
// Time of the next guard_look, when a Lease expires; CLOCK_NEVER: none will.
int64_t guard_expires_at_ns(const struct guard_leases *leases, struct moment now);

// Reads an item of a list. `made_ns`: when this process made the beat in the Lease; 0: another process did. `away`:
// this process could not write beats, so the host had no beat to send back: then any renewal of the Lease counts.
void guard_lease_read(struct guard_leases *leases, const struct json *item, int64_t made_ns, bool away,
                      struct moment now);
// Another guard, or a former process, found the Lease so, `ago_ns` ago by the clocks of their nodes. The guard that saw
// the latest renewal counts.
void guard_lease_inherit(struct guard_leases *leases, const struct guard_watched *watched, int64_t ago_ns,
                         struct moment now);
// After the last guard_lease_inherit.
void guard_leases_inherited(struct guard_leases *leases);

// Whether the guard needs another list before a Lease counts as expired.
bool guard_leases_ask(const struct guard_leases *leases, struct moment now);

// The Lease has expired, and the Leases of another number of shards do not cover the same mirrors.
bool guard_lease_is_missed(const struct guard_leases *leases, const struct guarded *lease, struct moment now);
// A present Lease of a former number of shards; NULL: none.
const struct guarded *guard_former_lease(const struct guard_leases *leases);
void guard_lease_cleared(struct guard_leases *leases, struct fence_part part);

// The records of other guards of the origin in their common Lease: of live guards and of former ones. A new guard
// continues their counts; a guard removes records that nobody writes any more.
struct guard_peer {
    char identity[GUARD_IDENTITY_MAX];
    uint64_t beat;
    int64_t beat_ns; // when this process first read this beat
    bool listed;     // in the Lease
};

// BEAT: writes the guard's own Lease. CLEAR: releases a Lease of a former number of shards.
enum guard_request { GUARD_NONE, GUARD_READ, GUARD_BEAT, GUARD_CREATE, GUARD_CLEAR };

struct guard { // only guard.c writes the fields
    char origin[64], namespace_[64], identity[GUARD_IDENTITY_MAX], name[FENCE_NAME_MAX], path[256];
    enum guard_action action;
    struct guard_leases leases;
    struct guard_peer peers[GUARD_PEERS];
    bool inherited;                        // has read the records of other guards
    char surplus_peer[GUARD_IDENTITY_MAX]; // of too many peers the one with the oldest record; "": not too many
    struct fence_part cleared;             // by a CLEAR that comes next
    char lease[FENCE_NAME_MAX];
    uint64_t beats; // made
    int64_t made_ns[GUARD_BEATS];
    enum guard_request next, flies;
    bool clears_later; // the last CLEAR failed: a beat comes first
    int64_t at_ns;
    int64_t reached_ns; // time of the API server's last answer, if
    bool reached;       // there was one
    int64_t beaten_ns;  // when the last written beat was made, or the process began
    bool told_stop;     // the last record says that the guard stops mirrors
    char problem[200];  // of the last request; "": none
    char unreturned[FENCE_NAME_MAX +
                    200]; // which Lease of a former number of shards the guard cannot release yet, and why
    char body[GUARD_BODY_MAX];
};

void guard_init(struct guard *guard, const struct guard_options *options, struct moment now);

// Whether the guard is stopping mirrors of a shard: a request about a mirror is in flight. The record says so until the
// answer, so that the host does not resume a mirror just before the guard stops the mirror.
struct guard_stopping {
    bool (*is)(const void *ctx, struct fence_part part);
    const void *ctx;
};

// The due request, which the caller sends, or answers with NULL; GUARD_NONE: none before *at_ns. `stopping` NULL: no
// such mirrors.
enum guard_request guard_next(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                              struct request *request, int64_t *at_ns);
void guard_answer(struct guard *guard, const struct response *response, struct moment now);

// Of the mirror's workload, see shard_hash.
uint64_t guard_hash(const struct kind *kind, const struct json *object);

// A mirror whose host is lost.
bool guard_is_lost(const struct guard *guard, const struct kind *kind, const struct json *object, struct moment now);

enum guard_verdict {
    GUARD_LEAVES_IT,   // no mirror of this origin, or nothing runs
    GUARD_SUSPENDS_IT, // with guard_patch
    GUARD_DELETES_IT
};

// The verdict on an object with the label of the origin, while the guard stops mirrors. `refused`: the API server
// refused the suspension.
enum guard_verdict guard_judge(const struct guard *guard, const struct kind *kind, const struct json *object,
                               struct moment now, bool refused);
// A call of the adapter about a mirror; to be ended with adapter_call_end.
void guard_call_begin(const struct kind *kind, const struct json *object, struct moment now, struct call_clock *clock,
                      struct adapter_call *call);
// The merge patch that suspends and marks the mirror, with the uid; NULL: out of memory.
struct json *guard_patch(const struct kind *kind, const struct json *object, struct moment now);
