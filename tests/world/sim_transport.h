// SPDX-License-Identifier: Apache-2.0
// A network on virtual time between clients and the clusters of world.h: implements core/kube/transport/transport.h,
// with latency and faults from a seed or set by the harness. Everything happens in sim_net_advance, which calls the
// handlers; it is deterministic for a seed and sequence of calls.
//
// The harness owns time. A round: now = the least of sim_net_due, world_due of each cluster and what else has timers;
// world_step each cluster; sim_net_advance.
#pragma once

#include "core/kube/transport/transport.h"
#include "tests/world/service.h"
#include "tests/world/world.h"

struct sim_net;

// Chances are per 1,000 requests (or streams). All zero: no latency and no faults.
struct sim_faults {
    int64_t latency_min_ns, latency_max_ns; // one way

    unsigned refused;      // HTTP_REFUSED, the server never sees it
    unsigned lost_request; // the server never sees it; HTTP_BROKEN after the timeout
    unsigned lost_answer;  // the server does it; HTTP_BROKEN, at once or after the timeout
    unsigned late_request; // takes up to late_max_ns to arrive, possibly after the client's timeout
    int64_t late_max_ns;
    unsigned slow; // the answer takes up to slow_max_ns
    int64_t slow_max_ns;
    unsigned too_many;       // 429 with Retry-After, not done
    unsigned server_error;   // 500 InternalError, not done
    unsigned server_timeout; // 504 Timeout, done or not done
    unsigned unavailable;    // 503, text/plain, not done
    unsigned unauthorized;   // 401, not done
    unsigned gone;           // 410 for a list or watch
    unsigned garbage;        // done; 200 with a body that is not JSON
    unsigned truncated;      // done; 200 with a truncated body

    unsigned cut_stream;    // a stream breaks within stream_max_ns, often in the middle of a frame
    unsigned silent_stream; // a stream becomes silent within stream_max_ns, and does not end
    int64_t stream_max_ns;
    bool split_stream; // chunks of a stream begin and end anywhere
};

struct sim_net *sim_net_new(uint64_t seed, int64_t now_ns);
// All transports must have been freed.
void sim_net_free(struct sim_net *net);

// For all clusters, and for one alone (NULL: the common ones again).
void sim_net_set_faults(struct sim_net *net, const struct sim_faults *faults);
void sim_cluster_set_faults(struct sim_net *net, struct world_cluster *cluster, const struct sim_faults *faults);

// What its requests cost from now on; without it, nothing. Answers that are faults (429, 5xx) are given at once.
void sim_cluster_set_cost(struct sim_net *net, struct world_cluster *cluster, const struct service_cost *cost);
// The most requests that ever waited for a place.
size_t sim_cluster_queue(const struct sim_net *net, const struct world_cluster *cluster);

// Outages. Requests in flight fail (REFUSES), are answered (LEAVES) or hang (SILENT).
enum sim_outage {
    SIM_UP,
    SIM_REFUSES, // connections are refused, as by a host whose process is down
    SIM_LEAVES,  // connections are refused, and open streams go on, as of an API server that got SIGTERM
    SIM_SILENT   // packets are dropped: connecting times out, streams are silent
};
void sim_cluster_down(struct sim_net *net, struct world_cluster *cluster, enum sim_outage how);
void sim_cluster_up(struct sim_net *net, struct world_cluster *cluster);
bool sim_cluster_is_up(const struct sim_net *net, const struct world_cluster *cluster);

// Breaks all streams of a cluster now.
void sim_cut_streams(struct sim_net *net, struct world_cluster *cluster);

// A client's connection to one cluster; freed with transport->ops->free. What was sent before may still arrive after
// that. NULL when out of memory.
struct transport *sim_transport_new(struct sim_net *net, struct world_cluster *cluster);

// Delivers what is due and returns the next time, or WORLD_NEVER.
int64_t sim_net_advance(struct sim_net *net, int64_t now_ns);
int64_t sim_net_due(const struct sim_net *net);

struct sim_counts {
    uint64_t requests, streams, delivered, refused, broken;
    uint64_t late_writes; // writes that reached a cluster after their client had timed out or was gone
};
const struct sim_counts *sim_net_counts(const struct sim_net *net);

// Called with one line for every request, answer and fault, for traces. NULL: none.
void sim_net_set_trace(struct sim_net *net, void (*trace)(void *ctx, int64_t now_ns, const char *line), void *ctx);
