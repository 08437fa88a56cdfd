// SPDX-License-Identifier: Apache-2.0
// Serves one simulated cluster over HTTP or HTTPS on 127.0.0.1 and in real time. One thread of its own answers requests
// (libmicrohttpd with epoll), another steps the cluster when something is due.
#pragma once

#include "core/base/error.h"
#include "tests/world/certs.h"
#include "tests/world/service.h"

#include <stdint.h>

struct front;

// `port` 0: any free one. `certs` NULL: plain HTTP; else TLS, and a request without a client certificate of that CA is
// answered 401. The cluster must outlive the front and may only be accessed between front_lock and front_unlock.
struct error *front_start(struct world_cluster *cluster, uint16_t port, const struct certs *certs, struct front **out);
void front_stop(struct front *front);
uint16_t front_port(const struct front *front);
const char *front_url(const struct front *front); // "https://127.0.0.1:4711"

void front_lock(struct front *front);
void front_unlock(struct front *front);

// As if the process died: connections break and are refused. The cluster's controllers keep running. Idempotent.
void front_down(struct front *front);
// As an API server that got SIGTERM: it refuses connections, closes idle ones, answers the requests in hand, and keeps
// its open watches until front_down.
void front_leave(struct front *front);
// The same port again, after front_down.
struct error *front_up(struct front *front);
bool front_is_up(const struct front *front);

enum front_fault {
    FRONT_FINE,
    FRONT_ERRORS, // 500 InternalError for everything; watches that are open stay
    FRONT_BUSY,   // 429 with Retry-After: 1
    FRONT_HANGS,  // requests are accepted and not answered; watches are silent
    FRONT_GARBAGE // 200 and HTML
};
void front_set_fault(struct front *front, enum front_fault fault);
// What requests cost from now on. Who waits, waits without processor time; an answer's `burn_ns` is spent by the thread
// that answers, as a real server competes for the cores with its clients (at most one core, which also delays streams).
void front_set_cost(struct front *front, const struct service_cost *cost);
size_t front_waiting(struct front *front); // requests without a place

// The bearer token that is accepted in place of a client certificate from now on, instead of the former one. `cut`:
// open watches break.
void front_set_token(struct front *front, const char *token, bool cut);
// Another one that is accepted too, until the next front_set_token; and how many requests came with it.
void front_add_token(struct front *front, const char *token);
uint64_t front_added_token_uses(struct front *front);
uint64_t front_unauthorized(struct front *front); // requests answered 401 so far

struct front_connections {
    uint64_t opened;
    size_t open, streams; // now; of them with an open watch
    size_t most;          // that were open at a time without those
    size_t requests;      // in hand now, open watches among them
    size_t busiest;       // the most requests in hand at a time, without those
};
struct front_connections front_connections(struct front *front);
// `opened`, `most` and `busiest` begin anew with what is there now.
void front_count_connections(struct front *front);

uint64_t front_requests(const struct front *front); // requests answered so far, including watches

uint64_t front_bytes(const struct front *front); // of their bodies, and of the answers and watch events so far

// The time that the front passes to the cluster.
int64_t front_now_ns(void);
