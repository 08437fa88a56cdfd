// SPDX-License-Identifier: Apache-2.0
#include "tests/world/model.h"
#include "tests/world/sim_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_net *sim_net_new(uint64_t seed, int64_t now_ns) {
    struct sim_net *net = world_alloc(sizeof *net);
    net->random.state = seed;
    net->now_ns = now_ns;
    heap_init(&net->timers);
    return net;
}

void sim_net_free(struct sim_net *net) {
    if (!net)
        return;
    while (net->all)
        exchange_drop(net->all);
    while (net->hosts) {
        struct sim_host *host = net->hosts;
        net->hosts = host->next;
        free(host);
    }
    heap_free(&net->timers);
    free(net);
}

struct sim_host *sim_host_of(struct sim_net *net, struct world_cluster *cluster) {
    for (struct sim_host *host = net->hosts; host; host = host->next)
        if (host->cluster == cluster)
            return host;
    struct sim_host *host = world_alloc(sizeof *host);
    *host = (struct sim_host){.cluster = cluster, .faults = net->faults, .next = net->hosts};
    net->hosts = host;
    return host;
}

void sim_net_set_faults(struct sim_net *net, const struct sim_faults *faults) {
    net->faults = *faults;
    for (struct sim_host *host = net->hosts; host; host = host->next)
        if (!host->own_faults)
            host->faults = *faults;
}

void sim_cluster_set_faults(struct sim_net *net, struct world_cluster *cluster, const struct sim_faults *faults) {
    struct sim_host *host = sim_host_of(net, cluster);
    host->own_faults = faults;
    host->faults = faults ? *faults : net->faults;
}

void sim_cluster_set_cost(struct sim_net *net, struct world_cluster *cluster, const struct service_cost *cost) {
    sim_host_of(net, cluster)->service.cost = *cost;
}

size_t sim_cluster_queue(const struct sim_net *net, const struct world_cluster *cluster) {
    const struct sim_host *host = net->hosts;
    while (host && host->cluster != cluster)
        host = host->next;
    return host ? host->service.longest : 0;
}

int64_t sim_latency(struct sim_net *net, const struct sim_host *host) {
    int64_t low = host->faults.latency_min_ns, high = host->faults.latency_max_ns;
    return high > low ? low + (int64_t)random_below(&net->random, (uint64_t)(high - low + 1)) : low;
}

bool sim_chance(struct sim_net *net, unsigned per_mille) {
    return per_mille > 0 && random_below(&net->random, 1000) < per_mille;
}

void sim_trace(struct sim_net *net, const struct exchange *exchange, const char *what) {
    char line[512];
    if (!net->trace)
        return;
    snprintf(line, sizeof line, "%s #%llu %s %.300s: %s", world_name(exchange->host->cluster),
             (unsigned long long)exchange->id, exchange->method, exchange->path, what);
    net->trace(net->trace_ctx, net->now_ns, line);
}

void sim_net_set_trace(struct sim_net *net, void (*trace)(void *ctx, int64_t now_ns, const char *line), void *ctx) {
    net->trace = trace;
    net->trace_ctx = ctx;
}

const struct sim_counts *sim_net_counts(const struct sim_net *net) {
    return &net->counts;
}

void sim_cluster_down(struct sim_net *net, struct world_cluster *cluster, enum sim_outage how) {
    struct sim_host *host = sim_host_of(net, cluster);
    host->outage = how;
    if (how == SIM_REFUSES)
        service_stop(&host->service);
    for (struct exchange *exchange = net->all; how != SIM_UP && how != SIM_LEAVES && exchange;
         exchange = exchange->next) {
        if (exchange->host != host || exchange->stage == STAGE_SENT || exchange->stage == STAGE_FAILING ||
            (exchange->stage == STAGE_SERVED && how == SIM_SILENT))
            continue;
        if (how == SIM_REFUSES)
            exchange_fail(exchange, HTTP_BROKEN, "connection reset by peer", net->now_ns + sim_latency(net, host));
        else if (exchange->stage == STAGE_STREAM)
            exchange->silent_ns = net->now_ns;
        else
            exchange_fail(exchange, HTTP_BROKEN, "timed out", exchange->deadline_ns);
    }
}

void sim_cluster_up(struct sim_net *net, struct world_cluster *cluster) {
    sim_host_of(net, cluster)->outage = SIM_UP;
}

bool sim_cluster_is_up(const struct sim_net *net, const struct world_cluster *cluster) {
    for (const struct sim_host *host = net->hosts; host; host = host->next)
        if (host->cluster == cluster)
            return host->outage == SIM_UP;
    return true;
}

void sim_cut_streams(struct sim_net *net, struct world_cluster *cluster) {
    for (struct exchange *exchange = net->all; exchange; exchange = exchange->next)
        if (exchange->host->cluster == cluster && exchange->stage == STAGE_STREAM) {
            exchange->cut_ns = net->now_ns;
            stream_plan(exchange);
        }
}

// The host whose server is the next to have served a request.
static struct sim_host *next_server(const struct sim_net *net, int64_t *at_ns) {
    struct sim_host *next = NULL;
    *at_ns = WORLD_NEVER;
    for (struct sim_host *host = net->hosts; host; host = host->next)
        if (service_due(&host->service) < *at_ns) {
            next = host;
            *at_ns = service_due(&host->service);
        }
    return next;
}

static int64_t timer_due(const struct sim_net *net) {
    const struct timer *timer = heap_first(&net->timers);
    return timer ? timer->at_ns : WORLD_NEVER;
}

int64_t sim_net_due(const struct sim_net *net) {
    int64_t served_ns, timer_ns = timer_due(net);
    (void)next_server(net, &served_ns);
    return served_ns < timer_ns ? served_ns : timer_ns;
}

static void run_timer(struct sim_net *net) {
    struct timer *timer = heap_first(&net->timers);
    heap_remove(&net->timers, timer);
    exchange_run((struct exchange *)((char *)timer - offsetof(struct exchange, timer)));
}

int64_t sim_net_advance(struct sim_net *net, int64_t now_ns) {
    for (int64_t at_ns; (at_ns = sim_net_due(net)) <= now_ns;) {
        int64_t served_ns;
        struct sim_host *server = next_server(net, &served_ns);
        if (at_ns > net->now_ns)
            net->now_ns = at_ns;
        if (served_ns < timer_due(net))
            exchange_served((struct exchange *)((char *)service_take(&server->service, net->now_ns) -
                                                offsetof(struct exchange, place)));
        else
            run_timer(net);
    }
    if (now_ns > net->now_ns)
        net->now_ns = now_ns;
    return sim_net_due(net);
}

// The transport -------------------------------------------------------------------------------------------------

static struct exchange *find(const struct sim_transport *transport, uint64_t id) {
    struct exchange *exchange = transport->net->all;
    while (exchange && (exchange->transport != transport || exchange->id != id))
        exchange = exchange->next;
    return exchange;
}

static char *copy_text(const char *text, size_t len) {
    if (!text)
        return NULL;
    char *copy = world_alloc(len + 1);
    memcpy(copy, text, len);
    return copy;
}

static uint64_t submit(struct transport *base, const struct http_request *request, const struct http_handler *handler) {
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct sim_transport *transport = (struct sim_transport *)base;
    struct sim_net *net = transport->net;
    struct exchange *exchange = world_alloc(sizeof *exchange);
    *exchange = (struct exchange){.net = net,
                                  .host = transport->host,
                                  .transport = transport,
                                  .id = ++net->sequence,
                                  .method = methods[request->method],
                                  .path = copy_text(request->path, strlen(request->path)),
                                  .body = copy_text(request->body, request->body_len),
                                  .body_len = request->body_len,
                                  .max_body = request->max_body,
                                  .wants_stream = request->stream,
                                  .handler = *handler,
                                  .stall_ns = request->stall_ns,
                                  .next = net->all};
    if (request->content_type)
        exchange->content_type = copy_text(request->content_type, strlen(request->content_type));
    if (request->accept)
        exchange->accept = copy_text(request->accept, strlen(request->accept));
    if (request->tenant) {
        exchange->user = text_format(TENANT_USER_PREFIX "%s", request->tenant);
        if (!exchange->user)
            world_oom();
    }
    exchange->deadline_ns = request->timeout_ns > 0 ? net->now_ns + request->timeout_ns : WORLD_NEVER;
    timer_init(&exchange->timer);
    if (net->all)
        net->all->previous = exchange;
    net->all = exchange;
    net->counts.requests++;
    exchange_begin(exchange);
    return exchange->id;
}

static void cancel(struct transport *base, uint64_t id) {
    struct exchange *exchange = find((struct sim_transport *)base, id);
    if (exchange)
        exchange_detach(exchange);
}

static bool refresh(struct transport *base) {
    (void)base;
    return true;
}

static void free_transport(struct transport *base) {
    struct sim_transport *transport = (struct sim_transport *)base;
    struct exchange *next;
    for (struct exchange *exchange = transport->net->all; exchange; exchange = next) {
        next = exchange->next;
        if (exchange->transport == transport)
            exchange_detach(exchange);
    }
    free(transport);
}

struct transport *sim_transport_new(struct sim_net *net, struct world_cluster *cluster) {
    static const struct transport_ops ops = {submit, cancel, refresh, free_transport};
    struct sim_transport *transport = world_alloc(sizeof *transport);
    *transport = (struct sim_transport){.base = {&ops}, .net = net, .host = sim_host_of(net, cluster)};
    return &transport->base;
}
