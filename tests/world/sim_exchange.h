// SPDX-License-Identifier: Apache-2.0
// Internal to the simulated network.
#pragma once

#include "core/base/clock.h"
#include "core/base/text.h"
#include "tests/world/service.h"
#include "tests/world/sim_transport.h"

struct sim_host {
    struct world_cluster *cluster;
    struct sim_faults faults;
    bool own_faults;
    enum sim_outage outage;
    struct service service;
    struct sim_host *next;
};

struct sim_net {
    struct random random;
    int64_t now_ns;
    uint64_t sequence;
    struct heap timers;
    struct sim_faults faults;
    struct sim_host *hosts;
    struct exchange *all;
    struct sim_counts counts;
    void (*trace)(void *ctx, int64_t now_ns, const char *line);
    void *trace_ctx;
};

enum fate {
    FATE_FINE,
    FATE_REFUSED,
    FATE_LOST_REQUEST,
    FATE_LOST_ANSWER,
    FATE_LATE,
    FATE_SLOW,
    FATE_TOO_MANY,
    FATE_SERVER_ERROR,
    FATE_SERVER_TIMEOUT,
    FATE_UNAVAILABLE,
    FATE_UNAUTHORIZED,
    FATE_GONE,
    FATE_GARBAGE,
    FATE_TRUNCATED
};

enum stage {
    STAGE_SENT,   // in transit to the server
    STAGE_SERVED, // waits for the server, or is being served; the timer is the deadline
    STAGE_ANSWER, // the response is in transit
    STAGE_STREAM, // a watch is open
    STAGE_FAILING // will end with an error
};

struct exchange {
    struct sim_net *net;
    struct sim_host *host;
    struct sim_transport *transport; // NULL: cancelled by the client
    uint64_t id;
    struct timer timer;
    enum stage stage;
    enum fate fate;
    const char *method;
    char *path, *content_type, *accept, *user, *body;
    size_t body_len, max_body;
    bool wants_stream, busy, cancelled;
    bool opened; // the client knows that its stream is open
    struct http_handler handler;
    int64_t deadline_ns, stall_ns, last_byte_ns;
    int64_t arrive_ns; // at the server; may be after the client gave up
    bool arrived;
    struct service_request place; // SERVED
    struct world_response response;
    struct world_watch *watch;
    int64_t data_ns, cut_ns, silent_ns; // of a stream
    enum http_outcome outcome;          // STAGE_FAILING
    const char *problem;
    bool stalled;
    struct exchange *next, *previous; // of the net
};

struct sim_transport {
    struct transport base;
    struct sim_net *net;
    struct sim_host *host;
};

struct sim_host *sim_host_of(struct sim_net *net, struct world_cluster *cluster);
int64_t sim_latency(struct sim_net *net, const struct sim_host *host);
bool sim_chance(struct sim_net *net, unsigned per_mille);
void sim_trace(struct sim_net *net, const struct exchange *exchange, const char *what);

// sim_exchange.c
void exchange_begin(struct exchange *exchange);
void exchange_run(struct exchange *exchange); // its timer fired
void exchange_served(struct exchange *exchange);
void exchange_fail(struct exchange *exchange, enum http_outcome outcome, const char *problem, int64_t at_ns);
void exchange_drop(struct exchange *exchange);   // unlinks and frees; calls no handler
void exchange_detach(struct exchange *exchange); // the client cancelled or is gone
// Notifies the client, once, that its stream is open. False: the exchange is gone.
bool exchange_open(struct exchange *exchange);
void exchange_set_timer(struct exchange *exchange, int64_t at_ns);
void exchange_finish(struct exchange *exchange, const struct http_result *result); // calls done, frees

// sim_stream.c
void stream_open(struct exchange *exchange);
void stream_run(struct exchange *exchange);
void stream_plan(struct exchange *exchange);
