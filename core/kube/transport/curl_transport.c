// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static struct curl_transport *curl_of(struct transport *transport) {
    return (struct curl_transport *)transport;
}

static void queue_add(struct exchange_queue *queue, struct exchange *exchange) {
    exchange->next = NULL;
    if (queue->last)
        queue->last->next = exchange;
    else
        queue->first = exchange;
    queue->last = exchange;
}

static struct exchange *queue_take(struct exchange_queue *queue) {
    struct exchange *exchange = queue->first;
    if (exchange && !(queue->first = exchange->next))
        queue->last = NULL;
    return exchange;
}

// Does not call libcurl: submit and cancel may be called from within its callbacks.
static uint64_t submit(struct transport *transport, const struct http_request *request,
                       const struct http_handler *handler) {
    struct exchange *exchange = exchange_new(curl_of(transport), request);
    if (!exchange)
        return 0;
    exchange->handler = *handler;
    queue_add(&curl_of(transport)->waiting, exchange);
    return exchange->id;
}

static void cancel(struct transport *transport, uint64_t id) {
    struct exchange *exchange = exchange_find(curl_of(transport), id);
    if (!exchange)
        return;
    exchange->id = 0;
    if (exchange->pool)
        queue_add(&curl_of(transport)->cancelled, exchange);
}

static bool refresh(struct transport *transport) {
    struct curl_transport *curl = curl_of(transport);
    return credentials_expire(&curl->credentials, curl->now_ns);
}

const struct transport_ops curl_transport_ops = {
    .submit = submit, .cancel = cancel, .refresh = refresh, .free = curl_transport_free};

// Ends an exchange on the client side. Must not be called from a libcurl callback.
static void end(struct exchange *exchange, const char *problem, bool stalled) {
    pool_remove(exchange);
    response_fail(exchange, problem, stalled);
    exchange_recycle(exchange);
}

static void take_out_cancelled(struct curl_transport *transport) {
    struct exchange *exchange;
    while ((exchange = queue_take(&transport->cancelled))) {
        pool_remove(exchange);
        exchange_recycle(exchange);
    }
}

// Ends all exchanges in flight, or only the streams. Cancelled exchanges have already been removed.
static void end_all(struct curl_transport *transport, bool streams_only, const char *problem) {
    for (size_t i = 0; i < transport->n_slots; i++) {
        struct exchange *exchange = transport->slots[i];
        if (exchange && exchange->pool && exchange->id != 0 && (exchange->request.stream || !streams_only))
            end(exchange, problem, false);
    }
    take_out_cancelled(transport); // handlers may have cancelled some
}

// A multi handle fails as a whole only when libcurl runs out of memory.
static void drop_failed(struct curl_transport *transport) {
    if (!transport->pool || !transport->pool->failed)
        return;
    end_all(transport, false, "the request was ended because libcurl failed");
    pool_free(TAKE(transport->pool));
}

// Starts one exchange. Returns the problem, or NULL.
static const char *start(struct curl_transport *transport, struct exchange *exchange) {
    const struct error *problem = credentials_problem(&transport->credentials, transport->now_ns);
    if (problem)
        return error_text(problem);
    if (!transport->pool)
        transport->pool = pool_new(transport);
    if (!transport->pool || !exchange_prepare(exchange))
        return "out of memory before the request was sent";
    exchange->last_byte_ns = transport->now_ns;
    if (exchange->request.stall_ns > 0 &&
        !heap_set(&transport->stalls, &exchange->stall, transport->now_ns + exchange->request.stall_ns))
        return "out of memory before the request was sent";
    return pool_add(transport->pool, exchange) ? NULL : "libcurl rejected the request";
}

// Exchanges that handlers submit meanwhile start in the next round. Without credentials all wait, at most as long as a
// credential plugin may run.
static void start_waiting(struct curl_transport *transport) {
    if (credentials_are_pending(&transport->credentials, transport->now_ns))
        return;
    struct exchange_queue batch = transport->waiting;
    transport->waiting = (struct exchange_queue){0};
    struct exchange *exchange;
    while ((exchange = queue_take(&batch))) {
        if (exchange->id == 0) {
            exchange_recycle(exchange);
            continue;
        }
        const char *problem = start(transport, exchange);
        if (problem)
            end(exchange, problem, false);
    }
}

static void finish_done(struct pool *pool) {
    CURLMsg *message;
    int left;
    while (pool && (message = curl_multi_info_read(pool->multi, &left))) {
        struct exchange *exchange = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        if (message->msg != CURLMSG_DONE || exchange->id == 0)
            continue; // cancelled: taken out soon
        pool_remove(exchange);
        response_deliver(exchange, code);
        exchange_recycle(exchange);
    }
}

static void end_stalled(struct curl_transport *transport) {
    struct timer *timer;
    while ((timer = heap_first(&transport->stalls)) && timer->at_ns <= transport->now_ns) {
        struct exchange *exchange = (struct exchange *)((char *)timer - offsetof(struct exchange, stall));
        int64_t due = exchange->last_byte_ns + exchange->request.stall_ns;
        if (exchange->id == 0 || due <= transport->now_ns)
            heap_remove(&transport->stalls, timer);
        if (exchange->id == 0)
            continue; // cancelled: taken out soon
        if (due > transport->now_ns) {
            (void)heap_set(&transport->stalls, timer, due); // already in the heap, so this does not allocate
            continue;
        }
        AUTO_TEXT problem = text_format("no data from %s for %lld ms", transport->base_url,
                                        (long long)(exchange->request.stall_ns / 1000000));
        end(exchange, problem ? problem : "no data from the server for too long", true);
    }
}

static void update_credentials(struct curl_transport *transport) {
    struct credentials *credentials = &transport->credentials;
    struct moment now = {.mono_ns = transport->now_ns, .wall_ns = clock_now().wall_ns};
    bool identity = false;
    if (atomic_exchange(&transport->recheck, false))
        credentials_recheck(credentials);
    // A run of the plugin uses the endpoint that would be replaced.
    struct endpoint *fresh = credentials->exec.job ? NULL : atomic_exchange(&transport->renewed, NULL);
    if (fresh)
        identity = credentials_replace(credentials, fresh, now);
    identity |= credentials_update(credentials, now);
    atomic_store(&transport->moved, credentials->moved);
    // libcurl uses a connection again only with the certificate that opened it.
    if (identity)
        end_all(transport, true, "the stream was ended because the client certificate changed");
}

static void advance(struct curl_transport *transport) {
    update_credentials(transport);
    take_out_cancelled(transport);
    start_waiting(transport);
    events_run_due(transport->pool);
    finish_done(transport->pool);
    end_stalled(transport);
    take_out_cancelled(transport);
    drop_failed(transport);
    exchange_trim(transport);
}

static int64_t earlier(int64_t wait_ns, int64_t at_ns, int64_t now_ns) {
    int64_t other = at_ns == CLOCK_NEVER ? CLOCK_NEVER : at_ns > now_ns ? at_ns - now_ns : 0;
    return other < wait_ns ? other : wait_ns;
}

static int64_t wait_limit(struct curl_transport *transport, int64_t wait_ns) {
    bool pending = credentials_are_pending(&transport->credentials, transport->now_ns);
    if (transport->called || (transport->waiting.first && !pending))
        return 0;
    const struct timer *stall = heap_first(&transport->stalls);
    wait_ns = earlier(wait_ns, stall ? stall->at_ns : CLOCK_NEVER, transport->now_ns);
    return earlier(wait_ns, credentials_due(&transport->credentials), transport->now_ns);
}

const char *curl_transport_response_header(struct transport *transport, uint64_t id, const char *name) {
    const struct exchange *exchange = exchange_find(curl_of(transport), id);
    struct curl_header *header;
    bool found = exchange && curl_easy_header(exchange->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return found ? header->value : NULL;
}

void curl_transport_poll(struct transport *transport, int64_t wait_ns) {
    struct curl_transport *curl = curl_of(transport);
    curl->now_ns = clock_now().mono_ns;
    curl->called = false;
    advance(curl);
    events_wait(curl, wait_limit(curl, wait_ns));
    advance(curl);
    if (curl->closed && transport->closed)
        transport->closed(transport->closed_ctx);
    curl->closed = false;
}

void curl_transport_limit(struct transport *transport, struct budget *budget) {
    curl_of(transport)->budget = budget;
}

bool curl_transport_header(struct transport *transport, const char *header) {
    char *copy = strdup(header);
    if (!copy)
        return false;
    free(curl_of(transport)->header);
    curl_of(transport)->header = copy;
    return true;
}

void curl_transport_wakeup(struct transport *transport) {
    (void)eventfd_write(curl_of(transport)->wake_fd, 1);
}

void curl_transport_recheck(struct transport *transport) {
    atomic_store(&curl_of(transport)->recheck, true);
    curl_transport_wakeup(transport);
}

void curl_transport_renew(struct transport *transport, struct endpoint *fresh) {
    endpoint_free(atomic_exchange(&curl_of(transport)->renewed, fresh));
    curl_transport_wakeup(transport);
}

int64_t curl_transport_expiry(struct transport *transport) {
    return pem_set_expiry(curl_of(transport)->credentials.pem_set);
}

uint64_t curl_transport_credentials(struct transport *transport, enum credentials_kind *kind, const char **token) {
    const struct credentials *credentials = &curl_of(transport)->credentials;
    const char *header = credentials->authorization;
    *token = header ? header + strlen(CREDENTIALS_BEARER) : NULL;
    *kind = credentials->endpoint->exec                          ? CREDENTIALS_PLUGIN
            : header                                             ? CREDENTIALS_TOKEN
            : credentials->pem_set && credentials->pem_set->cert ? CREDENTIALS_CERTIFICATE
                                                                 : CREDENTIALS_NONE;
    return credentials->generation;
}

bool curl_transport_moved(struct transport *transport) {
    return atomic_load(&curl_of(transport)->moved);
}
