// SPDX-License-Identifier: Apache-2.0
// The host's side of the two Leases of fencing in a worker, as a state machine without I/O (docs/fencing.md).
//
// Each guard writes its record into wharf-guard-ORIGIN, each time with a new beat. The host reads the beats and writes
// them into wharf-fence-ORIGIN, or into the Lease of each shard that it holds, one after the other. A guard counts
// fenceAfter from when it made the newest of its beats that has come back. So neither compares clocks, and a renewal
// that arrives late, perhaps after the host has given the worker up, extends nothing: its beat is old. The host knows
// that a guard stops the mirrors at the latest fenceAfter after the host received the last beat that it sent back, and
// for as long later as no guard ran meanwhile.
#pragma once

#include "core/base/clock.h"
#include "core/engine/fence/fence_guards.h"
#include "core/engine/fence/fence_types.h"

#define FENCE_SOON_NS (2 * CLOCK_SECOND) // between requests while the guard stops mirrors

// How often both Leases are written.
int64_t fence_period_ns(int64_t after_ns);
// How long after the host received the last beat that it sent back a guard has certainly stopped the mirrors, also if
// none ran for fenceAfter of that time, the clocks' rates differ by a few percent, and suspending takes time.
int64_t fence_sure_ns(int64_t after_ns);

struct fence_lease_options {
    const char *origin, *namespace_, *identity;
    uint32_t shards; // at least 1
    int64_t after_ns;
};

enum fence_request { FENCE_NONE, FENCE_READ, FENCE_RENEW, FENCE_CREATE, FENCE_RELEASE };

struct fence_lease { // fields are for fence_lease.c only
    char origin[64], guard[FENCE_NAME_MAX], namespace_[64], identity[128];
    uint32_t shards;
    int64_t after_ns;      // fenceAfter
    int64_t most_after_ns; // the longest one that was written
    uint64_t renews;       // shards, whose Leases are renewed,
    uint64_t todo;         // still in this round,
    uint32_t first;        // from this one on
    bool creates;          // the Lease of `part` does not exist
    bool leaves;
    uint64_t leaving, left;    // shards, whose Leases are given back, or were
    const char *others_at;     // in guards.others: what is left of it to give back
    struct fence_part part;    // of the request in flight, or the next one
    char name[FENCE_NAME_MAX]; // of its Lease
    enum fence_request flies;
    int64_t at_ns;
    struct fence_guards guards;
    uint64_t closed;      // they stop the mirrors of these shards, or may
    int64_t sent_back_ns; // when the newest beat that was sent back was received
    char problem[200];
    char body[FENCE_BEATS_MAX + 1024];
};

void fence_lease_init(struct fence_lease *lease, const struct fence_lease_options *options, struct moment now);
void fence_lease_set_after(struct fence_lease *lease, int64_t after_ns);
// The shards whose Leases the host renews: it holds them, and handles what runs in the worker. 0: it only reads.
void fence_lease_renew(struct fence_lease *lease, uint64_t shards, struct moment now);
// The connection was lost or is there again: looks at once.
void fence_lease_look(struct fence_lease *lease, struct moment now);
// Fencing is disabled: the Leases of these shards are given back, and those of another number of shards that the guard
// watches, after which it does nothing. Again with other shards, when the host holds other ones.
void fence_lease_leave(struct fence_lease *lease, uint64_t shards, struct moment now);
bool fence_lease_has_left(const struct fence_lease *lease);

// The request that is due, whose strings are valid until the next call; FENCE_NONE: none before *at_ns.
enum fence_request fence_lease_next(struct fence_lease *lease, struct moment now, struct request *request,
                                    int64_t *at_ns);
// Its shard, whose gate it needs.
uint32_t fence_lease_shard(const struct fence_lease *lease);
void fence_lease_sent(struct fence_lease *lease, enum fence_request type);
// Its answer; NULL: it was cancelled. True: `news` is filled, before what follows from it is sent.
bool fence_lease_answer(struct fence_lease *lease, const struct response *response, struct moment now,
                        struct fence_news *news);
// Why the last round failed; "": it did not.
const char *fence_lease_problem(const struct fence_lease *lease);
