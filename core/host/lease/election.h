// SPDX-License-Identifier: Apache-2.0
// The replicas of a host that write: one Lease, whose holder is the leader, or one Lease for each shard, divided among
// the live replicas. A replica then holds a Lease of its own as a sign of life for the others. Runs on one thread, over
// one transport to the management cluster; the gates and EVENT_LEASE say until when each shard may be written.
//
// Without election, the host acquires a free Lease all the same, and nothing depends on the Lease: another host with
// this origin notices the first by this Lease. The other host holds a Lease of its own, which shows it to the first.
#pragma once

#include "core/engine/event.h"
#include "core/kube/api/lease.h"
#include "core/kube/transport/gate.h"

#define ELECTION_SHARDS_MAX 64
#define ELECTION_LABEL "wharf.dev/election"
#define ELECTION_SHARDS "wharf.dev/shards" // annotation of the Leases of shards: their number

enum election_mode {
    ELECTION_OFF,     // no requests
    ELECTION_OBSERVE, // without election: another host is noticed
    ELECTION_ON
};

struct election_options {
    enum election_mode mode;
    struct transport *transport; // not owned
    const char *namespace_, *name, *identity;
    int64_t duration_ns, renew_ns, retry_ns;
    uint32_t shards;             // 1: there is one leader
    struct gates *gates;         // of `shards`; NULL: in ELECTION_OBSERVE
    const char *controller_name; // of the Event about another host; NULL: no Event
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // EVENT_LEASE
    void *ctx;
};

// For status pages and metrics.
struct election_state {
    enum election_mode mode;
    uint32_t shards, held; // held: by this replica
    uint32_t members;      // live replicas; 0: not known
    char identity[LEASE_IDENTITY_MAX];
    char leader[LEASE_IDENTITY_MAX]; // holder of the Lease, of one leader; "": none, or unknown
    char other[LEASE_IDENTITY_MAX];  // another host with this origin that runs without election; "": none
    char problem[200];               // why a Lease cannot be read or written; "": none
    uint64_t transitions;            // how often this replica took a Lease
};

// Whether this replica writes something: one that has no election always does.
static inline bool election_writes(const struct election_state *state) {
    return state->mode != ELECTION_ON || state->held > 0;
}

struct election;
struct error *election_new(const struct election_options *options, struct election **out);
void election_free(struct election *election); // cancels requests in flight; releases nothing

// Performs the due work; returns the monotonic time of the next call needed. Also called after handlers of the
// transport.
int64_t election_tick(struct election *election, struct moment now);

// The process ends: closes the gates and releases the Leases, with a delay of a second for shards with requests in
// flight.
void election_leave(struct election *election, struct moment now);
bool election_has_left(const struct election *election);

const struct election_state *election_state(const struct election *election); // until the next call
