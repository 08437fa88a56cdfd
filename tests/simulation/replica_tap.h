// SPDX-License-Identifier: Apache-2.0
// Between a replica and the simulated network: connections that can be cut for this replica alone, and streams that lag
// behind what the server has sent. Each request is shown to the harness when it is handed over.
#pragma once

#include "tests/world/sim_transport.h"

struct replica_tap;
// `requested` is told each request that is submitted, `touched` that handlers ran; either may be NULL. Virtual time
// throughout.
struct replica_tap_options {
    struct sim_net *net;
    struct world_cluster *cluster;
    const int64_t *now_ns;
    void (*requested)(void *ctx, const struct http_request *request);
    void (*touched)(void *ctx);
    void *ctx;
};

struct replica_tap *replica_tap_new(const struct replica_tap_options *options);
struct transport *replica_tap_transport(struct replica_tap *tap); // frees the tap
void replica_tap_cut(struct replica_tap *tap, bool cut);
void replica_tap_lag(struct replica_tap *tap, int64_t lag_ns); // of what streams bring from now on
void replica_tap_run(struct replica_tap *tap);                 // delivers what is due
int64_t replica_tap_due(const struct replica_tap *tap);
