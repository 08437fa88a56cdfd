// SPDX-License-Identifier: Apache-2.0
// The time until which writes may be sent: while this process holds the lease of the written objects. The thread that
// renews the lease moves the time; readers are the submit of a request, the transport once connected, and the transport
// while the request is in flight, which ends with the lease.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate {
    _Atomic int64_t until_ns;   // monotonic; 0: closed
    atomic_bool draining;       // no more requests are sent; requests in flight may end
    _Atomic uint32_t in_flight; // requests between gate_enter and gate_exit
    _Atomic uint32_t unknown;   // requests ever that ended without an answer, so may still take effect
};

// One for each shard, and one that is open while any other is. Outlives all users.
struct gates {
    struct gate *shards;
    size_t count;
    struct gate any;
};

// NULL: always open.
static inline bool gate_is_open(const struct gate *gate, int64_t now_ns) {
    return !gate || now_ns < atomic_load(&gate->until_ns);
}

// Around a request. A thread that drains sets `draining` before it reads `in_flight`, and a request is counted before
// the check of `draining`: one of the two sees the other.
static inline void gate_enter(struct gate *gate) {
    if (gate)
        atomic_fetch_add(&gate->in_flight, 1);
}

static inline void gate_exit(struct gate *gate, bool answered) {
    if (gate && !answered)
        atomic_fetch_add(&gate->unknown, 1);
    if (gate)
        atomic_fetch_sub(&gate->in_flight, 1);
}

// Whether a request may be begun.
static inline bool gate_admits(const struct gate *gate, int64_t now_ns) {
    return gate_is_open(gate, now_ns) && !(gate && atomic_load(&gate->draining));
}

// The gate of the shard; NULL if there are no gates.
static inline struct gate *gates_at(struct gates *gates, size_t shard) {
    return gates && shard < gates->count ? &gates->shards[shard] : NULL;
}

static inline struct gate *gates_any(struct gates *gates) {
    return gates ? &gates->any : NULL;
}
