// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/query.h"

#include "core/base/clock.h"
#include "core/base/thread.h"

#define TURN_NS (5 * CLOCK_MS) // further queries wait for the next turn after that

struct query { // on its caller's stack
    struct query *next;
    query_run run;
    void *arg;
    bool running, done, failed;
};

struct queries {
    pthread_mutex_t mutex;
    pthread_cond_t changed; // CLOCK_MONOTONIC
    struct query *first;    // a list
    void (*poke)(void *ctx);
    void *ctx;
    bool open, closed;
};

struct error *queries_new(struct queries **out) {
    struct queries *queries = calloc(1, sizeof *queries);
    if (!queries)
        return error_no_memory();
    clock_condition_init(&queries->changed);
    pthread_mutex_init(&queries->mutex, NULL);
    *out = queries;
    return NULL;
}

void queries_free(struct queries *queries) {
    if (!queries)
        return;
    pthread_cond_destroy(&queries->changed);
    pthread_mutex_destroy(&queries->mutex);
    free(queries);
}

void queries_open(struct queries *queries, void (*poke)(void *ctx), void *ctx) {
    AUTO_LOCK(&queries->mutex);
    queries->poke = poke;
    queries->ctx = ctx;
    queries->open = !queries->closed;
}

// The place of a query in the list; of NULL, the end.
static struct query **find_query(struct queries *queries, const struct query *query) {
    struct query **at = &queries->first;
    while (*at != query)
        at = &(*at)->next;
    return at;
}

// With the mutex. ERROR_LIMIT: the query did not begin in time, and never will.
static struct error *wait_for(struct queries *queries, struct query *query) {
    int64_t until_ns = clock_ticks() + QUERY_PATIENCE_NS;
    while (!query->done && !query->failed) {
        int64_t left_ns = until_ns - clock_ticks();
        if (query->running) { // the query uses its caller's memory
            pthread_cond_wait(&queries->changed, &queries->mutex);
        } else if (left_ns > 0) {
            (void)clock_condition_wait(&queries->changed, &queries->mutex, left_ns);
        } else {
            *find_query(queries, query) = query->next;
            return error_new(ERROR_LIMIT, "the host has not answered for %d s: it is busy or stalled, see /healthz",
                             (int)(QUERY_PATIENCE_NS / CLOCK_SECOND));
        }
    }
    return query->failed ? error_new(ERROR_STOPPED, "the host is stopping") : NULL;
}

struct error *queries_ask(struct queries *queries, query_run run, void *arg) {
    struct query query = {.run = run, .arg = arg};
    AUTO_LOCK(&queries->mutex);
    if (!queries->open)
        return error_new(ERROR_STOPPED,
                         queries->closed ? "the host is stopping" : "the host has not started yet, see /readyz");
    *find_query(queries, NULL) = &query;
    queries->poke(queries->ctx);
    return wait_for(queries, &query);
}

static struct query *take(struct queries *queries) {
    struct query *query = queries->first;
    queries->first = query ? query->next : NULL;
    return query;
}

void queries_run(struct queries *queries, struct engine *engine) {
    struct moment now = clock_now();
    int64_t until_ns = now.mono_ns + TURN_NS;
    pthread_mutex_lock(&queries->mutex);
    for (struct query *query; now.mono_ns < until_ns && (query = take(queries)); now = clock_now()) {
        query->running = true;
        pthread_mutex_unlock(&queries->mutex);
        query->run(query->arg, engine, now);
        pthread_mutex_lock(&queries->mutex);
        query->done = true;
        pthread_cond_broadcast(&queries->changed);
    }
    bool more = queries->first;
    pthread_mutex_unlock(&queries->mutex);
    if (more)
        queries->poke(queries->ctx);
}

void queries_close(struct queries *queries) {
    AUTO_LOCK(&queries->mutex);
    queries->open = false;
    queries->closed = true;
    for (struct query *query; (query = take(queries));)
        query->failed = true;
    pthread_cond_broadcast(&queries->changed);
}
