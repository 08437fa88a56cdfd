// SPDX-License-Identifier: Apache-2.0
// The replicas of a host that write: one Lease, whose holder is the leader, or one Lease for each shard, divided among
// the live replicas. A replica then holds a Lease of its own as a sign of life for the others. Runs on one thread, over
// one transport to the management cluster; the gates and EVENT_LEASE say until when each shard may be written.
//
// Without election, the host acquires a free Lease all the same, and nothing depends on the Lease: another host with
// this origin notices the first by this Lease. The other host holds a Lease of its own, which shows it to the first.
#pragma once

#include "core/config/config.h"
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

// The listed Leases of an election and the live holders among them: a record that does not change for its
// leaseDuration, by this process's clock, has expired.
#define OBSERVED_LEASES_MAX 256

struct observed_lease {
    char name[LEASE_NAME_MAX], uid[40];
    char shards[12]; // ELECTION_SHARDS, "1" where absent
    struct lease_record record;
    int64_t observed_ns; // when the present record was first seen
    unsigned renewals;   // seen of this holder
    bool listed, member; // member: the name begins as the names of the replicas' own Leases
};

struct observed_leases {
    struct observed_lease *list;
    size_t count;
};

// Reads the Leases of a list; drops Leases that the list lacks. False: out of memory.
bool observed_leases_update(struct observed_leases *leases, const struct json *list, const char *member_prefix,
                            struct moment now);
void observed_leases_clear(struct observed_leases *leases);

// True: a process seems to hold the Lease.
bool observed_lease_is_live(const struct observed_lease *lease, struct moment now);

// The election of a host, on a thread and over a connection of its own, so that no list and no flood of events delays a
// renewal.
struct election_thread;

// `config` is not owned. The election's thread calls `post`.
struct error *election_thread_new(const struct config *config, void (*post)(void *ctx, struct engine_event *event),
                                  void *ctx, struct election_thread **out);
void election_thread_free(struct election_thread *thread); // NULL is allowed

struct gates *election_thread_gates(struct election_thread *thread); // of the shards; NULL without election

// On the engine's thread, once the origin is known.
void election_thread_start(struct election_thread *thread, const char *origin, const struct exec_policy *policy);

// The host stops: releases the Leases, and waits at most `for_ns`. 0: the Leases expire.
void election_thread_leave(struct election_thread *thread, int64_t for_ns);

void election_thread_read(struct election_thread *thread, struct election_state *state); // from any thread
