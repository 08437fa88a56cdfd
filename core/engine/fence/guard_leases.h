// SPDX-License-Identifier: Apache-2.0
// The host's Leases that a guard watches: one for all mirrors, or one for each shard, of the present number of shards
// and of former ones. A mirror is stopped if a Lease that covers it has expired and none that covers it is fresh.
#pragma once

#include "core/base/clock.h"
#include "core/engine/fence/guard_record.h"

#define GUARD_LEASES 192 // of several numbers of shards

struct guarded { // a Lease of the host that was seen by this process: of all its mirrors, or those of a shard
    struct fence_part part;
    bool released;        // the host gave it back
    bool superseded;      // it expired while all Leases of another number of shards were renewed
    bool was_fresh, gone; // at the last look; from the API server
    int64_t after_ns;     // fenceAfter, as it says; 0: not known
    int64_t fresh_ns;     // its holder was there then: counted from
    bool inherits;        // another guard knows the renewal that this process found first,
    int64_t inherited_ns; // and counts from then
    char version[32];     // resourceVersion
};

struct guard_leases { // fields are for guard_leases.c and guard.c only
    char origin[64];
    struct guarded list[GUARD_LEASES];
    size_t count;
    int64_t asked_ns, read_ns; // when they were last asked for, and when the list was asked for that was read last
    int64_t refused_ns;        // since when the API server answers, but without a list; 0: it does not, or with one
};

// Whether a Lease of the host was seen.
bool guard_has_seen(const struct guard_leases *leases);
// Notes what the time has changed; true: mirrors that were not to be stopped before may have to be.
bool guard_look(struct guard_leases *leases, struct moment now);
// True: some mirrors are to be stopped. Never before a Lease was seen for a whole fenceAfter.
bool guard_is_fencing(const struct guard_leases *leases, struct moment now);
// The names of the Leases that are missed, as many as have room.
void guard_missed(const struct guard_leases *leases, struct moment now, char *out, size_t size);
// A line for each Lease that has not been renewed for half of fenceAfter, as many as have room: since when, and what
// follows.
void guard_late(const struct guard_leases *leases, struct moment now, char *out, size_t size);
// How many are held, and since when the one has not been renewed that was longest not; 0: there is none.
size_t guard_held(const struct guard_leases *leases, int64_t *oldest_ns);
// Those of a shard: `hash` is the shard_hash of its workloads.
bool guard_is_fencing_of(const struct guard_leases *leases, uint64_t hash, struct moment now);
// When it is time to look again, since a Lease expires; CLOCK_NEVER: none will.
int64_t guard_expires_at_ns(const struct guard_leases *leases, struct moment now);

// A list begins: those that it does not have are gone. One that was deleted is not renewed either.
void guard_leases_begin(struct guard_leases *leases);
// An item of the list. `made_ns`: when its beat was made by this process; 0: it was not. `away`: this process could not
// write beats, so that its host had none to send back: whether it renewed the Lease at all counts then.
void guard_lease_read(struct guard_leases *leases, const struct json *item, int64_t made_ns, bool away,
                      struct moment now);
// A guard that ran before this one, or runs beside it, found the Lease so, `ago_ns` ago by the clocks of their nodes.
// Of several guards the one counts that found it renewed last.
void guard_lease_inherit(struct guard_leases *leases, const struct guard_watched *watched, int64_t ago_ns,
                         struct moment now);
// That was all of them.
void guard_leases_inherited(struct guard_leases *leases);

// Whether the list is to be asked for, before a Lease counts as expired.
bool guard_leases_ask(const struct guard_leases *leases, struct moment now);

// It has expired, and its mirrors are not another number of shards'.
bool guard_lease_is_missed(const struct guard_leases *leases, const struct guarded *lease, struct moment now);
// One of a former number of shards, which is still there; NULL: none.
const struct guarded *guard_former_lease(const struct guard_leases *leases);
void guard_lease_cleared(struct guard_leases *leases, struct fence_part part);

int64_t guard_longest_ns(const struct guard_leases *leases);  // fenceAfter; 0: it is not known
int64_t guard_shortest_ns(const struct guard_leases *leases); // the same
