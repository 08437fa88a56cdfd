// SPDX-License-Identifier: Apache-2.0
// Queries of the running host, and reads from its clusters for other threads.
#include "core/host/host_internal.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

// Shared by the reader and the cluster's thread; the last of the two frees the struct.
struct cluster_read {
    const char *name, *namespace_, *body; // of the request; first members, see struct_copy_with_texts
    pthread_mutex_t mutex;
    pthread_cond_t answered; // CLOCK_MONOTONIC
    struct response answer;
    bool done, sent; // sent: the cluster's thread will answer
    unsigned users;
    size_t cluster;
    struct host *host;
    struct cluster_thread *thread; // of the cluster, once sent
    struct request request;
};

static struct cluster_read *reading_new(struct host *host, size_t cluster, const struct request *request) {
    const struct cluster_read wanted = {.name = request->name ? request->name : "",
                                        .namespace_ = request->namespace_,
                                        .body = request->body ? request->body : ""};
    struct cluster_read *reading = struct_copy_with_texts(&wanted, sizeof wanted, 3);
    if (!reading)
        return NULL;
    reading->request = *request;
    reading->request.name = request->name ? reading->name : NULL;
    reading->request.namespace_ = reading->namespace_;
    reading->request.body = request->body ? reading->body : NULL;
    clock_condition_init(&reading->answered);
    pthread_mutex_init(&reading->mutex, NULL);
    reading->users = 1;
    reading->host = host;
    reading->cluster = cluster;
    return reading;
}

// With the mutex held; unlocks the mutex.
static void release_reading(struct cluster_read *reading) {
    bool last = --reading->users == 0;
    pthread_mutex_unlock(&reading->mutex);
    if (!last)
        return;
    response_clear(&reading->answer);
    if (reading->request.body) // may contain a token
        explicit_bzero((char *)(uintptr_t)reading->request.body, reading->request.body_len);
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
    release_reading(reading);
}

static void submit_reading(void *arg) {
    struct cluster_read *reading = arg;
    struct cluster_io *io = reading->thread->io;
    if (io) {
        cluster_io_ask(io, &reading->request, on_answer, reading);
        return;
    }
    struct response answer = {
        .reason = REASON_NOT_SENT, .message = strdup("the cluster is not connected yet"), .retry_after_ns = -1};
    on_answer(reading, &answer);
}

// On the engine's thread, which opens and closes clusters.
static void post_reading(void *arg, struct engine *engine, struct moment now) {
    (void)engine, (void)now;
    struct cluster_read *reading = arg;
    struct host *host = reading->host;
    reading->thread = reading->cluster < host->n_clusters ? host->clusters[reading->cluster]->thread : NULL;
    reading->users = 2;
    reading->sent = reading->thread && loop_post(reading->thread->loop, submit_reading, reading);
    reading->users -= !reading->sent;
}

struct error *host_query(struct host *host, query_run run, void *arg) {
    return queries_ask(host->queries, run, arg);
}

struct error *host_read(struct host *host, size_t cluster, const char *path, struct response *answer) {
    struct request request = {.verb = VERB_RAW_GET, .namespace_ = "", .name = path};
    return host_ask(host, cluster, &request, answer);
}

struct error *host_ask(struct host *host, size_t cluster, const struct request *request, struct response *answer) {
    *answer = (struct response){.message = NULL};
    struct cluster_read *reading = reading_new(host, cluster, request);
    if (!reading)
        return error_no_memory();
    struct error *error = host_query(host, post_reading, reading);
    if (!error && !reading->sent)
        error = error_new(ERROR_STOPPED, "the cluster is not connected");
    pthread_mutex_lock(&reading->mutex);
    int64_t until_ns = clock_ticks() + QUERY_READ_NS;
    while (!error && !reading->done && clock_ticks() < until_ns)
        (void)clock_condition_wait(&reading->answered, &reading->mutex, until_ns - clock_ticks());
    if (!error && !reading->done)
        error = error_new(ERROR_LIMIT, "the API server has not answered for %d s", (int)(QUERY_READ_NS / CLOCK_SECOND));
    if (!error) {
        *answer = reading->answer;
        reading->answer = (struct response){.message = NULL};
    }
    release_reading(reading);
    return error;
}

struct endpoint_wanted {
    struct host *host;
    const char *cluster;
    struct endpoint *found;
};

// On the engine's thread, which opens and closes connections.
static void find_endpoint(void *arg, struct engine *engine, struct moment now) {
    (void)engine, (void)now;
    struct endpoint_wanted *wanted = arg;
    const struct host *host = wanted->host;
    for (size_t c = 0; c < host->n_clusters && !wanted->found; c++)
        if (host->clusters[c]->thread && strcmp(host->clusters[c]->name, wanted->cluster) == 0)
            wanted->found = endpoint_hold(host->clusters[c]->thread->connection.endpoint);
}

struct error *host_endpoint(struct host *host, const char *cluster, struct endpoint **out) {
    struct endpoint_wanted wanted = {.host = host, .cluster = cluster};
    struct error *error = host_query(host, find_endpoint, &wanted);
    *out = wanted.found;
    if (error || wanted.found)
        return error;
    return error_new(ERROR_NOT_FOUND, "cluster %s is not connected", cluster);
}
