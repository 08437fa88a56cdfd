// SPDX-License-Identifier: Apache-2.0
// One request to a cluster and its response.
#include "tests/world/sim_exchange.h"
#include "core/base/clock.h"
#include "tests/world/answer.h"

#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT (10 * CLOCK_SECOND)
#define NO_TIMEOUT (60 * CLOCK_SECOND) // how long a lost request hangs if its client sets no limit

// Timers that would fire at the same time fire in the order in which they were set.
void exchange_set_timer(struct exchange *exchange, int64_t at_ns) {
    struct sim_net *net = exchange->net;
    if (at_ns < WORLD_NEVER - 4096)
        at_ns += (int64_t)(++net->sequence & 1023);
    if (!heap_set(&net->timers, &exchange->timer, at_ns))
        world_oom();
}

static bool is_write(const struct exchange *exchange) {
    return strcmp(exchange->method, "GET") != 0;
}

void exchange_drop(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    (void)service_leave(&exchange->host->service, &exchange->place);
    if (exchange->watch) // first: it may call back and set the timer
        world_watch_close(exchange->watch);
    heap_remove(&net->timers, &exchange->timer);
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        net->all = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    world_response_clear(&exchange->response);
    free(exchange->path);
    free(exchange->content_type);
    free(exchange->accept);
    free(exchange->user);
    free(exchange->body);
    free(exchange);
}

// The server does not stop what it has begun, and does not notice across a silent network that a client is gone.
static bool stays_at_server(struct exchange *exchange) {
    if (exchange->place.state == SERVICE_OUT ||
        (exchange->host->outage != SIM_SILENT && service_leave(&exchange->host->service, &exchange->place)))
        return false;
    exchange->stage = STAGE_SERVED;
    heap_remove(&exchange->net->timers, &exchange->timer);
    return true;
}

// A request in transit may still arrive; only a cancelled stream is sure to end.
void exchange_detach(struct exchange *exchange) {
    exchange->transport = NULL;
    if (exchange->busy) {
        exchange->cancelled = true;
        return;
    }
    if (stays_at_server(exchange))
        return;
    bool may_arrive = !exchange->arrived && exchange->fate != FATE_LOST_REQUEST && exchange->fate != FATE_REFUSED;
    if (!may_arrive || !is_write(exchange) || random_below(&exchange->net->random, 2) == 0) {
        exchange_drop(exchange);
        return;
    }
    exchange->stage = STAGE_SENT;
    exchange_set_timer(exchange, exchange->arrive_ns);
}

void exchange_finish(struct exchange *exchange, const struct http_result *result) {
    struct sim_net *net = exchange->net;
    struct http_handler handler = exchange->handler;
    net->counts.delivered += result->outcome == HTTP_ANSWERED;
    net->counts.refused += result->outcome == HTTP_REFUSED;
    net->counts.broken += result->outcome == HTTP_BROKEN;
    bool waits = exchange->transport;
    exchange->transport = NULL;
    exchange->busy = true;
    if (waits)
        handler.done(handler.ctx, result);
    exchange->busy = false;
    // A write in transit continues without its client.
    if (!exchange->arrived && exchange->fate == FATE_LATE && is_write(exchange)) {
        exchange->stage = STAGE_SENT;
        exchange_set_timer(exchange, exchange->arrive_ns);
        return;
    }
    if (!stays_at_server(exchange))
        exchange_drop(exchange);
}

void exchange_fail(struct exchange *exchange, enum http_outcome outcome, const char *problem, int64_t at_ns) {
    exchange->stage = STAGE_FAILING;
    exchange->outcome = outcome;
    exchange->problem = problem;
    if (at_ns > exchange->deadline_ns)
        at_ns = exchange->deadline_ns;
    if (at_ns == WORLD_NEVER)
        at_ns = exchange->net->now_ns + NO_TIMEOUT;
    exchange_set_timer(exchange, at_ns);
}

static void time_out(struct exchange *exchange) {
    int64_t now = exchange->net->now_ns, stall = exchange->stall_ns > 0 ? now + exchange->stall_ns : WORLD_NEVER;
    exchange->stalled = stall < exchange->deadline_ns;
    exchange_fail(exchange, HTTP_BROKEN, "timed out", stall);
}

static enum fate choose_fate(struct sim_net *net, const struct sim_faults *faults) {
    const struct {
        unsigned chance;
        enum fate fate;
    } table[] = {{faults->refused, FATE_REFUSED},
                 {faults->lost_request, FATE_LOST_REQUEST},
                 {faults->lost_answer, FATE_LOST_ANSWER},
                 {faults->late_request, FATE_LATE},
                 {faults->slow, FATE_SLOW},
                 {faults->too_many, FATE_TOO_MANY},
                 {faults->server_error, FATE_SERVER_ERROR},
                 {faults->server_timeout, FATE_SERVER_TIMEOUT},
                 {faults->unavailable, FATE_UNAVAILABLE},
                 {faults->unauthorized, FATE_UNAUTHORIZED},
                 {faults->gone, FATE_GONE},
                 {faults->garbage, FATE_GARBAGE},
                 {faults->truncated, FATE_TRUNCATED}};
    unsigned roll = (unsigned)random_below(&net->random, 1000), sum = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        sum += table[i].chance;
        if (roll < sum)
            return table[i].fate;
    }
    return FATE_FINE;
}

static int64_t up_to(struct sim_net *net, int64_t max_ns) {
    return max_ns > 0 ? (int64_t)random_below(&net->random, (uint64_t)max_ns) : 0;
}

void exchange_begin(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    const struct sim_host *host = exchange->host;
    int64_t latency = sim_latency(net, host);
    exchange->fate = choose_fate(net, &host->faults);
    exchange->arrive_ns = net->now_ns + latency;
    if (exchange->fate == FATE_LATE)
        exchange->arrive_ns += up_to(net, host->faults.late_max_ns);
    if (host->outage == SIM_REFUSES || host->outage == SIM_LEAVES || exchange->fate == FATE_REFUSED) {
        exchange->fate = FATE_REFUSED;
        exchange_fail(exchange, HTTP_REFUSED, "connection refused", net->now_ns + 2 * latency);
    } else if (host->outage == SIM_SILENT) {
        exchange->fate = FATE_REFUSED;
        exchange_fail(exchange, HTTP_REFUSED, "connecting timed out", net->now_ns + CONNECT_TIMEOUT);
    } else if (exchange->fate == FATE_LOST_REQUEST) {
        time_out(exchange);
    } else if (exchange->arrive_ns > exchange->deadline_ns) {
        exchange_fail(exchange, HTTP_BROKEN, "timed out", exchange->deadline_ns);
    } else {
        exchange_set_timer(exchange, exchange->arrive_ns);
    }
}

static void set_status(struct exchange *exchange, int code, const char *reason, int retry_after_s) {
    struct details details = {.retry_after_s = retry_after_s};
    answer_failure(&exchange->response, code, reason, &details, "a fault of the simulation: %s", reason);
}

// A response without any effect on the server. False: this fate has an effect.
static bool answer_fault(struct exchange *exchange) {
    switch (exchange->fate) {
    case FATE_TOO_MANY:
        set_status(exchange, 429, "TooManyRequests", 1 + (int)random_below(&exchange->net->random, 3));
        return true;
    case FATE_SERVER_ERROR:
        set_status(exchange, 500, "InternalError", 0);
        return true;
    case FATE_UNAVAILABLE:
        answer_text(&exchange->response, 503, "apiserver is shutting down.");
        exchange->response.retry_after_s = 5;
        return true;
    case FATE_UNAUTHORIZED:
        set_status(exchange, 401, "Unauthorized", 0);
        return true;
    case FATE_GONE:
        if (is_write(exchange))
            return false;
        set_status(exchange, 410, "Expired", 0);
        return true;
    case FATE_SERVER_TIMEOUT:
        if (random_below(&exchange->net->random, 2))
            return false;
        set_status(exchange, 504, "Timeout", 1);
        return true;
    default:
        return false;
    }
}

static void spoil(struct exchange *exchange) {
    struct world_response *response = &exchange->response;
    if (exchange->fate == FATE_SERVER_TIMEOUT) {
        set_status(exchange, 504, "Timeout", 1);
    } else if (exchange->fate == FATE_GARBAGE) {
        answer_text(response, 200, "<html><body>Welcome to the login page</body></html>");
        response->content_type = "text/html";
    } else if (exchange->fate == FATE_TRUNCATED && response->body_len > 2) {
        response->body_len = 1 + random_below(&exchange->net->random, response->body_len - 1);
        response->body[response->body_len] = '\0';
    }
}

static void send_answer(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    int64_t at = net->now_ns + sim_latency(net, exchange->host);
    if (exchange->fate == FATE_SLOW)
        at += up_to(net, exchange->host->faults.slow_max_ns);
    exchange->stage = STAGE_ANSWER;
    if (exchange->fate == FATE_LOST_ANSWER && random_below(&net->random, 2))
        time_out(exchange);
    else if (exchange->fate == FATE_LOST_ANSWER)
        exchange_fail(exchange, HTTP_BROKEN, "connection reset by peer", at);
    else if (at > exchange->deadline_ns)
        exchange_fail(exchange, HTTP_BROKEN, "timed out", exchange->deadline_ns);
    else
        exchange_set_timer(exchange, at);
}

static struct world_request request_of(const struct exchange *exchange) {
    return (struct world_request){.method = exchange->method,
                                  .path = exchange->path,
                                  .content_type = exchange->content_type,
                                  .accept = exchange->accept,
                                  .user = exchange->user,
                                  .group = exchange->user ? TENANT_GROUP : NULL,
                                  .body = exchange->body,
                                  .body_len = exchange->body_len};
}

static void serve(struct exchange *exchange, bool fault) {
    struct world_request request = request_of(exchange);
    if (!fault) {
        world_request(exchange->host->cluster, &request, exchange->net->now_ns, &exchange->response);
        spoil(exchange);
    }
    if (!exchange->transport)
        exchange_drop(exchange);
    else if (exchange->host->outage == SIM_UP || exchange->host->outage == SIM_LEAVES)
        send_answer(exchange);
    else
        time_out(exchange);
}

void exchange_served(struct exchange *exchange) {
    exchange->net->counts.late_writes += !exchange->transport && is_write(exchange);
    sim_trace(exchange->net, exchange, "is served");
    serve(exchange, false);
}

static void begin_service(struct exchange *exchange) {
    struct service *service = &exchange->host->service;
    if (!service_enter(service, &exchange->place, is_write(exchange), exchange->net->now_ns)) {
        set_status(exchange, 429, "TooManyRequests", 1);
        serve(exchange, true);
        return;
    }
    if (exchange->transport) // its timer is the deadline
        time_out(exchange);
    exchange->stage = STAGE_SERVED;
}

static void arrive(struct exchange *exchange) {
    struct sim_net *net = exchange->net;
    struct sim_host *host = exchange->host;
    struct world_request request = request_of(exchange);
    exchange->arrived = true;
    if (host->outage != SIM_UP) {
        if (!exchange->transport)
            exchange_drop(exchange);
        else if (host->outage == SIM_SILENT)
            time_out(exchange);
        else
            exchange_fail(exchange, HTTP_REFUSED, "connection refused", net->now_ns);
        return;
    }
    net->counts.late_writes += !exchange->transport && is_write(exchange);
    sim_trace(net, exchange, exchange->transport ? "arrives" : "arrives late");
    bool fault = answer_fault(exchange);
    if (!fault && world_is_watch(&request) && exchange->wants_stream)
        stream_open(exchange);
    else if (!fault && service_costs(&host->service, &request))
        begin_service(exchange);
    else
        serve(exchange, fault);
}

bool exchange_open(struct exchange *exchange) {
    if (exchange->opened || !exchange->handler.opened)
        return true;
    exchange->opened = true;
    exchange->busy = true;
    bool more = exchange->handler.opened(exchange->handler.ctx);
    exchange->busy = false;
    if (exchange->cancelled) {
        exchange_drop(exchange);
        return false;
    }
    if (more)
        return true;
    struct http_result result = {.outcome = HTTP_BROKEN,
                                 .status = 200,
                                 .body = "",
                                 .content_type = "",
                                 .retry_after_ns = -1,
                                 .problem = "ended by the client"};
    exchange_finish(exchange, &result);
    return false;
}

// A body that the client wanted as a stream goes through its data handler.
static bool give_as_stream(struct exchange *exchange) {
    const struct world_response *response = &exchange->response;
    exchange->busy = true;
    bool more = exchange->handler.data(exchange->handler.ctx, response->body, response->body_len);
    exchange->busy = false;
    return more;
}

static void deliver(struct exchange *exchange) {
    const struct world_response *response = &exchange->response;
    struct http_result result = {.outcome = HTTP_ANSWERED,
                                 .status = response->status,
                                 .body = response->body ? response->body : "",
                                 .body_len = response->body_len,
                                 .content_type = response->content_type ? response->content_type : "",
                                 .retry_after_ns =
                                     response->retry_after_s ? response->retry_after_s * CLOCK_SECOND : -1,
                                 .warning = response->warning};
    sim_trace(exchange->net, exchange, response->status < 300 ? "answered" : "answered with an error");
    bool stream = exchange->wants_stream && response->status == 200;
    if (stream && !exchange_open(exchange))
        return;
    if (stream) {
        bool more = give_as_stream(exchange);
        if (exchange->cancelled) {
            exchange_drop(exchange);
            return;
        }
        result.body = "";
        result.body_len = 0;
        if (!more)
            result = (struct http_result){.outcome = HTTP_BROKEN,
                                          .status = 200,
                                          .body = "",
                                          .content_type = "",
                                          .retry_after_ns = -1,
                                          .problem = "ended by the client"};
    } else if (exchange->max_body && response->body_len > exchange->max_body) {
        result = (struct http_result){.outcome = HTTP_BROKEN,
                                      .body = "",
                                      .content_type = "",
                                      .retry_after_ns = -1,
                                      .problem = "the body is too large",
                                      .too_large = true};
    }
    exchange_finish(exchange, &result);
}

static void fail_now(struct exchange *exchange) {
    struct http_result result = {.outcome = exchange->outcome,
                                 .status = exchange->watch ? 200 : 0,
                                 .body = "",
                                 .content_type = "",
                                 .retry_after_ns = -1,
                                 .problem = exchange->problem,
                                 .stalled = exchange->stalled};
    sim_trace(exchange->net, exchange, exchange->problem);
    exchange_finish(exchange, &result);
}

void exchange_run(struct exchange *exchange) {
    switch (exchange->stage) {
    case STAGE_SENT:
        arrive(exchange);
        break;
    case STAGE_ANSWER:
        deliver(exchange);
        break;
    case STAGE_STREAM:
        stream_run(exchange);
        break;
    case STAGE_SERVED:
    case STAGE_FAILING:
        fail_now(exchange);
        break;
    }
}
