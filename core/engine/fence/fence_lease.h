// SPDX-License-Identifier: Apache-2.0
// The host's side of the two Leases of fencing in a worker, as a state machine without I/O (docs/fencing.md).
//
// Each guard writes a record into wharf-guard-ORIGIN, each time with a new beat. The host reads the beats and writes
// the beats into wharf-fence-ORIGIN, or into the Lease of each shard that the host holds, one after the other. A guard
// counts fenceAfter from the time of the guard's newest beat in the host's Lease. So neither side compares clocks, and
// a late renewal, perhaps after the host has given the worker up, extends nothing, since the beat is old. The host
// knows that a guard stops the mirrors at the latest fenceAfter after the host received the last beat sent back, plus
// the time in which no guard ran.
#pragma once

#include "core/base/clock.h"
#include "core/engine/fence/fence.h"
#include "core/engine/fence/fence_wire.h"

#define FENCE_SOON_NS (2 * CLOCK_SECOND) // between requests while the guard stops mirrors
#define FENCE_GUARDS 8                   // guard processes with beats that the host sends back
#define FENCE_BEATS_MAX ((size_t)FENCE_GUARDS * FENCE_BEAT_MAX)

// The interval between writes of both Leases.
int64_t fence_period_ns(int64_t after_ns);
// The time from the receipt of the last beat sent back until all mirrors are certainly stopped: also if
// no guard ran for fenceAfter of that time and the clocks' rates differ by a few percent, with time to suspend mirrors.
int64_t fence_sure_ns(int64_t after_ns);

struct fence_lease_options {
    const char *origin, *namespace_, *identity;
    uint32_t shards; // at least 1
    int64_t after_ns;
};

enum fence_request { FENCE_NONE, FENCE_READ, FENCE_RENEW, FENCE_CREATE, FENCE_RELEASE };

// A guard process, by the record. Several guards may run; each one alone stops the mirrors.
struct fence_guard {
    char identity[GUARD_IDENTITY_MAX];
    uint64_t beat;
    int64_t beat_ns; // when the host first read this beat
    bool listed;     // in the Lease
    bool alive;      // wrote another beat since the first
    int64_t after_ns;
    uint64_t watched, stopped; // shards (masks), without shards bit 0
    bool watches_others;       // Leases of another number of shards
};

struct fence_lease { // only fence_lease.c writes the fields
    char origin[64], guard[FENCE_NAME_MAX], namespace_[64], identity[128];
    uint32_t shards;
    int64_t after_ns;      // fenceAfter
    int64_t most_after_ns; // the longest fenceAfter ever written
    uint64_t renews;       // shards with Leases that the host renews,
    uint64_t todo;         // still in this round,
    uint32_t first;        // from this shard on
    bool creates;          // the Lease of `part` does not exist
    bool leaves;
    uint64_t leaving, left;    // shards with Leases to release, and with released Leases
    const char *others_at;     // in `others`: the rest to release
    struct fence_part part;    // of the request in flight, or the next one
    char name[FENCE_NAME_MAX]; // of the part's Lease
    enum fence_request flies;  // until fence_lease_answer
    int64_t at_ns;
    struct fence_guard guards[FENCE_GUARDS];
    char others[FENCE_LIST_MAX]; // Leases of another number of shards that a guard watches
    uint64_t closed;             // shards with mirrors that the guards stop, or may stop
    int64_t sent_back_ns;        // when the host received the newest beat sent back
    char problem[200];           // the failure of the last round; "": no failure
    char body[FENCE_BEATS_MAX + 1024];
};

void fence_lease_init(struct fence_lease *lease, const struct fence_lease_options *options, struct moment now);
void fence_lease_set_after(struct fence_lease *lease, int64_t after_ns);
// The shards with Leases that the host renews: the host holds these shards and handles the mirrors in the worker. 0:
// the host only reads.
void fence_lease_renew(struct fence_lease *lease, uint64_t shards, struct moment now);
// The connection was lost, or is back: reads at once.
void fence_lease_look(struct fence_lease *lease, struct moment now);
// Without fencing: releases the Leases of the shards, and Leases of another number of shards that the guard watches;
// then does nothing. The caller calls again when the host holds other shards.
void fence_lease_leave(struct fence_lease *lease, uint64_t shards, struct moment now);

// The due request, which the caller sends, or answers with NULL; its strings are valid until the next call. FENCE_NONE:
// none before *at_ns.
enum fence_request fence_lease_next(struct fence_lease *lease, struct moment now, struct request *request,
                                    int64_t *at_ns);
// The shard of the request, which needs the gate of that shard.
uint32_t fence_lease_shard(const struct fence_lease *lease);
// The answer; NULL after a cancelled request. True: fills `news`, which the engine must get before the next request.
bool fence_lease_answer(struct fence_lease *lease, const struct response *response, struct moment now,
                        struct fence_news *news);
