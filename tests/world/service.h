// SPDX-License-Identifier: Apache-2.0
// What requests cost an API server, as a queueing model: a request occupies one of `concurrency` places for its service
// time, and waits for one first in, first out. It knows no clock and no threads: the simulated network asks it on
// virtual time, the HTTP front on real time. Watches and the paths of health checks are exempt, as in an API server.
#pragma once

#include "tests/world/world.h"

#define SERVICE_PLACES 64

struct service_cost {
    int64_t read_ns, write_ns; // service times
    unsigned concurrency;      // at most SERVICE_PLACES; 0: requests cost nothing
    unsigned queue;            // how many may wait, further ones are refused with 429; 0: any number
    int64_t burn_ns;           // processor time that an answer takes besides (HTTP front only)
};

struct service_request { // embedded in its owner; zero: not in a service
    enum { SERVICE_OUT, SERVICE_WAITS, SERVICE_RUNS } state;
    int64_t cost_ns;
    int64_t arrived_ns;
    int64_t done_ns; // RUNS: when it has been served
    struct service_request *next, *previous;
};

struct service {
    struct service_cost cost;
    struct service_request *running[SERVICE_PLACES]; // the first `busy`
    struct service_request *first, *last;            // those that wait
    unsigned busy;
    size_t waiting;
    size_t longest; // the most that ever waited
};

// Whether this request needs a place.
bool service_costs(const struct service *service, const struct world_request *request);

// The request arrives. False: the queue is full.
bool service_enter(struct service *service, struct service_request *request, bool is_write, int64_t now_ns);

// When the next one has been served, or WORLD_NEVER.
int64_t service_due(const struct service *service);

// One that has been served by `now_ns`, the earliest first, or NULL. The first that waits got its place at the moment
// when it became free, however late this is called.
struct service_request *service_take(struct service *service, int64_t now_ns);

// The client is gone. One that waits leaves the queue; one that runs cannot be stopped: false, and service_take will
// return it.
bool service_leave(struct service *service, struct service_request *request);

// The process dies: nothing is left in it.
void service_stop(struct service *service);
