// SPDX-License-Identifier: Apache-2.0
// Queries of the running host, and reads from its clusters for other threads.
#include "core/host/host_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Shared by the reader and the cluster's thread; the last one frees it.
struct cluster_read {
    pthread_mutex_t mutex;
    pthread_cond_t answered; // CLOCK_MONOTONIC
    struct response answer;
    bool done, sent; // sent: the cluster's thread will answer
    unsigned users;
    size_t cluster;
    struct host *host;
    char path[];
};

static struct cluster_read *reading_new(struct host *host, size_t cluster, const char *path) {
    struct cluster_read *reading = calloc(1, sizeof *reading + strlen(path) + 1);
    if (!reading)
        return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reading->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&reading->mutex, NULL);
    reading->users = 1;
    reading->host = host;
    reading->cluster = cluster;
    memcpy(reading->path, path, strlen(path) + 1);
    return reading;
}

// With the mutex, which it gives back.
static void leave(struct cluster_read *reading) {
    bool last = --reading->users == 0;
    pthread_mutex_unlock(&reading->mutex);
    if (!last)
        return;
    response_clear(&reading->answer);
    pthread_cond_destroy(&reading->answered);
    pthread_mutex_destroy(&reading->mutex);
    free(reading);
}

static void on_answer(void *ctx, struct response *response) {
    struct cluster_read *reading = ctx;
    pthread_mutex_lock(&reading->mutex);
    reading->answer = *response;
    *response = (struct response){.message = NULL};
    reading->done = true;
    pthread_cond_signal(&reading->answered);
    leave(reading);
}

static void submit(void *arg) {
    struct cluster_read *reading = arg;
    struct link *link = reading->host->clusters[reading->cluster].link;
    if (link) {
        link_read(link, reading->path, on_answer, reading);
        return;
    }
    struct response answer = {
        .reason = REASON_NOT_SENT, .message = strdup("the cluster is not connected yet"), .retry_after_ns = -1};
    on_answer(reading, &answer);
}

// On the engine's thread, where clusters are opened and closed.
static void post(void *arg, struct engine *engine, struct moment now) {
    (void)engine, (void)now;
    struct cluster_read *reading = arg;
    struct host *host = reading->host;
    struct loop *loop = reading->cluster < host->n_clusters ? host->clusters[reading->cluster].loop : NULL;
    reading->users = 2;
    reading->sent = loop && loop_post(loop, submit, reading);
    if (!reading->sent)
        reading->users = 1;
}

static void wait_for(struct cluster_read *reading) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += QUERY_READ_NS / CLOCK_SECOND;
    while (!reading->done && pthread_cond_timedwait(&reading->answered, &reading->mutex, &at) != ETIMEDOUT)
        ;
}

struct error *host_query(struct host *host, query_run run, void *arg) {
    return queries_ask(host->queries, run, arg);
}

struct error *host_read(struct host *host, size_t cluster, const char *path, struct response *answer) {
    *answer = (struct response){.message = NULL};
    struct cluster_read *reading = reading_new(host, cluster, path);
    if (!reading)
        return error_no_memory();
    struct error *error = host_query(host, post, reading);
    if (!error && !reading->sent)
        error = error_new(ERROR_STOPPED, "the cluster is not connected");
    pthread_mutex_lock(&reading->mutex);
    if (!error)
        wait_for(reading);
    if (!error && !reading->done)
        error = error_new(ERROR_LIMIT, "the API server has not answered for %d s", (int)(QUERY_READ_NS / CLOCK_SECOND));
    if (!error) {
        *answer = reading->answer;
        reading->answer = (struct response){.message = NULL};
    }
    leave(reading);
    return error;
}
