// SPDX-License-Identifier: Apache-2.0
// Exchanges and the multi handles that run them (curl_internal.h).
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/kube/transport/curl_internal.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_EXCHANGES 32
#define IDLE_KEPT 2 // number of idle exchanges kept while there are no requests
#define QUIET_TIME (10 * CLOCK_SECOND)
#define KEPT_BODY ((size_t)16 * 1024) // a larger buffer is not kept for the next response
#define SLOT_MASK UINT64_C(0xFFFFFFFF)

struct pool *pool_new(struct curl_transport *transport) {
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->transport = transport;
    pool->multi = curl_multi_init();
    if (pool->multi && pool_set_up(pool))
        return pool;
    pool_free(pool);
    return NULL;
}

void pool_free(struct pool *pool) {
    if (!pool)
        return;
    curl_multi_cleanup(pool->multi);
    free(pool->sockets);
    free(pool);
}

bool pool_add(struct pool *pool, struct exchange *exchange) {
    if (curl_multi_add_handle(pool->multi, exchange->easy) != CURLM_OK)
        return false;
    exchange->pool = pool;
    return true;
}

void pool_remove(struct exchange *exchange) {
    if (!exchange->pool)
        return;
    curl_multi_remove_handle(exchange->pool->multi, exchange->easy);
    exchange->pool = NULL;
}

// Puts `exchange` into a free slot. False when out of memory.
static bool take_slot(struct curl_transport *transport, struct exchange *exchange) {
    size_t slot = transport->n_slots;
    if (transport->n_exchanges < transport->n_slots)
        for (slot = 0; transport->slots[slot];)
            slot++;
    if (!array_reserve(&transport->slots, &transport->n_slots, slot + 1, sizeof(struct exchange *)))
        return false;
    transport->slots[slot] = exchange;
    transport->n_exchanges++;
    exchange->slot = slot;
    return true;
}

static void exchange_free(struct exchange *exchange) {
    struct curl_transport *transport = exchange->transport;
    if (transport->slots && exchange->slot < transport->n_slots && transport->slots[exchange->slot] == exchange) {
        transport->slots[exchange->slot] = NULL;
        transport->n_exchanges--;
    }
    curl_easy_cleanup(exchange->easy);
    pem_set_release(exchange->pem_set);
    buffer_free(&exchange->received);
    free(exchange);
}

static struct exchange *make(struct curl_transport *transport) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    exchange->transport = transport;
    exchange->slot = SIZE_MAX;
    exchange->easy = curl_easy_init();
    if (exchange->easy && exchange_set_up(exchange) && take_slot(transport, exchange))
        return exchange;
    exchange_free(exchange);
    return NULL;
}

static size_t size_of(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static char *put(char **at, const char *text, size_t size) {
    if (!text)
        return NULL;
    char *copy = *at;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static bool copy_request(struct exchange *exchange, const struct http_request *request) {
    size_t path = size_of(request->path);
    size_t accept = size_of(request->accept);
    size_t type = size_of(request->content_type);
    size_t body = request->body ? request->body_len : 0;
    char *at = exchange->texts = malloc(path + accept + type + body);
    if (!at)
        return false;
    exchange->request = *request;
    exchange->request.path = put(&at, request->path, path);
    exchange->request.accept = put(&at, request->accept, accept);
    exchange->request.content_type = put(&at, request->content_type, type);
    exchange->request.body = put(&at, request->body, body);
    exchange->request.body_len = body;
    return true;
}

struct exchange *exchange_new(struct curl_transport *transport, const struct http_request *request) {
    struct exchange *exchange = transport->idle;
    if (exchange) {
        transport->idle = exchange->next;
        transport->n_idle--;
    } else if (!(exchange = make(transport))) {
        return NULL;
    }
    transport->taken_ns = transport->now_ns;
    exchange->next = NULL;
    timer_init(&exchange->stall);
    exchange->sent = exchange->headed = exchange->too_large = exchange->long_headers = false;
    exchange->no_memory = exchange->stopped = exchange->late = false;
    exchange->head_bytes = 0;
    exchange->status = 0;
    exchange->detail[0] = '\0';
    exchange->received.max = request->max_body;
    if (!copy_request(exchange, request)) {
        exchange_recycle(exchange);
        return NULL;
    }
    if (++transport->generation == 0)
        transport->generation = 1;
    exchange->id = ((uint64_t)transport->generation << 32) | exchange->slot;
    return exchange;
}

struct exchange *exchange_find(struct curl_transport *transport, uint64_t id) {
    size_t slot = id & SLOT_MASK;
    if (id == 0 || slot >= transport->n_slots)
        return NULL;
    struct exchange *exchange = transport->slots[slot];
    return exchange && exchange->id == id ? exchange : NULL;
}

void exchange_recycle(struct exchange *exchange) {
    struct curl_transport *transport = exchange->transport;
    heap_remove(&transport->stalls, &exchange->stall);
    curl_slist_free_all(exchange->headers);
    exchange->headers = NULL;
    free(TAKE(exchange->texts));
    exchange->id = 0;
    budget_give(transport->budget, exchange->charged);
    exchange->charged = 0;
    if (exchange->received.cap > KEPT_BODY)
        buffer_free(&exchange->received);
    buffer_reset(&exchange->received);
    if (transport->n_idle >= IDLE_EXCHANGES) {
        exchange_free(exchange);
        return;
    }
    exchange->next = transport->idle;
    transport->idle = exchange;
    transport->n_idle++;
}

void exchange_trim(struct curl_transport *transport) {
    if (transport->now_ns - transport->taken_ns < QUIET_TIME)
        return;
    while (transport->n_idle > IDLE_KEPT) {
        struct exchange *exchange = transport->idle;
        transport->idle = exchange->next;
        transport->n_idle--;
        exchange_free(exchange);
    }
}

void exchange_free_all(struct curl_transport *transport) {
    for (size_t i = 0; i < transport->n_slots; i++) {
        struct exchange *exchange = transport->slots[i];
        if (!exchange)
            continue;
        pool_remove(exchange);
        curl_slist_free_all(exchange->headers);
        free(exchange->texts);
        exchange_free(exchange);
    }
    free(transport->slots);
    transport->slots = NULL;
    transport->n_slots = 0;
}
