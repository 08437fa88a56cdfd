// SPDX-License-Identifier: Apache-2.0
#include "core/host/lease/election.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/thread.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/startup/seal_source.h"
#include "core/kube/transport/curl_transport.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define RETRY_NS (10 * CLOCK_SECOND)
#define ORIGIN_MAX 57 // of the default name, which is the value of a label too

struct election_thread {
    const struct config *config;
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
    struct gates gates;
    char identity[LEASE_IDENTITY_MAX], name[64];
    struct cluster_connection connection;
    struct loop *loop;
    struct election *election; // on the thread only
    bool leave;                // the same
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct election_state state; // under the mutex,
    bool left;                   // like this
    struct gate shard_gates[];
};

// Lower-case letters, digits and '-': part of a Lease's name.
static void make_identity(char out[LEASE_IDENTITY_MAX]) {
    char host[64] = "wharf";
    if (gethostname(host, sizeof host) != 0)
        text_copy(host, sizeof host, "wharf");
    host[sizeof host - 1] = '\0';
    for (char *c = host; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    snprintf(out, LEASE_IDENTITY_MAX, "%s-%016llx", *host == '-' ? "wharf" : host, (unsigned long long)random_system());
}

static bool is_on(const struct election_thread *thread) {
    return thread->config->election.enabled;
}

struct error *election_thread_new(const struct config *config, void (*post)(void *ctx, struct engine_event *event),
                                  void *ctx, struct election_thread **out) {
    size_t shards = (size_t)config->election.shards;
    struct election_thread *thread = calloc(1, sizeof *thread + shards * sizeof *thread->gates.shards);
    if (!thread)
        return error_no_memory();
    *thread = (struct election_thread){.config = config, .post = post, .ctx = ctx};
    thread->gates.count = shards;
    thread->gates.shards = thread->shard_gates;
    make_identity(thread->identity);
    pthread_mutex_init(&thread->mutex, NULL);
    clock_condition_init(&thread->changed);
    thread->state = (struct election_state){.mode = is_on(thread) ? ELECTION_ON : ELECTION_OBSERVE,
                                            .shards = (uint32_t)thread->gates.count};
    text_copy(thread->state.identity, sizeof thread->state.identity, thread->identity);
    *out = thread;
    return NULL;
}

struct gates *election_thread_gates(struct election_thread *thread) {
    return is_on(thread) ? &thread->gates : NULL;
}

// Nothing depends on a Lease that is only observed: nine requests a minute are enough.
static const struct config_election observed = {
    .lease_ns = 60 * CLOCK_SECOND, .renew_ns = 40 * CLOCK_SECOND, .retry_ns = 20 * CLOCK_SECOND};

static struct error *make(struct election_thread *thread) {
    const struct config_election *config = is_on(thread) ? &thread->config->election : &observed;
    const char *namespace_ = thread->config->election.namespace_;
    return election_new(
        &(struct election_options){.mode = thread->state.mode,
                                   .transport = thread->connection.transport,
                                   .namespace_ = namespace_ ? namespace_
                                                            : host_own_namespace(thread->config, &thread->connection),
                                   .name = thread->name,
                                   .identity = thread->identity,
                                   .duration_ns = config->lease_ns,
                                   .renew_ns = config->renew_ns,
                                   .retry_ns = config->retry_ns,
                                   .shards = (uint32_t)thread->gates.count,
                                   .gates = is_on(thread) ? &thread->gates : NULL,
                                   .controller_name = thread->config->controller_name,
                                   .seed = random_system(),
                                   .post = thread->post,
                                   .ctx = thread->ctx},
        &thread->election);
}

static void publish(struct election_thread *thread) {
    AUTO_LOCK(&thread->mutex);
    thread->state = *election_state(thread->election);
    thread->left = election_has_left(thread->election);
    if (thread->left)
        pthread_cond_broadcast(&thread->changed);
}

static int64_t tick(void *ctx, struct moment now) {
    struct election_thread *thread = ctx;
    if (!thread->election) {
        struct error *error = make(thread);
        if (error)
            log_fields(LOG_ERROR, "leader election cannot begin yet", {"error", error_text(error)});
        error_free(error);
    }
    if (!thread->election)
        return now.mono_ns + RETRY_NS;
    if (thread->leave)
        election_leave(thread->election, now);
    int64_t next_ns = election_tick(thread->election, now);
    publish(thread);
    return next_ns;
}

static struct error *open_connection(struct election_thread *thread, const struct exec_policy *policy) {
    TRY(connection_load(&thread->connection, &thread->config->management, policy, clock_now().wall_ns));
    TRY(connection_open(&thread->connection, NULL));
    return loop_start("lease", thread->connection.transport, tick, thread, &thread->loop);
}

void election_thread_start(struct election_thread *thread, const char *origin, const struct exec_policy *policy) {
    snprintf(thread->name, sizeof thread->name, "%s%.*s", thread->config->election.name ? "" : "wharf-",
             thread->config->election.name ? 63 : ORIGIN_MAX,
             thread->config->election.name ? thread->config->election.name : origin);
    struct error *error = open_connection(thread, policy);
    if (error)
        log_fields(LOG_ERROR,
                   is_on(thread) ? "leader election cannot begin: this host writes nothing"
                                 : "another host with this origin would not be noticed",
                   {"error", error_text(error)});
    error_free(error);
}

static void leave(void *ctx) {
    ((struct election_thread *)ctx)->leave = true;
}

static void drop(void *ctx) {
    struct election_thread *thread = ctx;
    election_free(thread->election);
    thread->election = NULL;
}

static void wait_until_left(struct election_thread *thread, int64_t for_ns) {
    int64_t until_ns = clock_ticks() + for_ns;
    AUTO_LOCK(&thread->mutex);
    while (!thread->left && clock_condition_wait(&thread->changed, &thread->mutex, until_ns - clock_ticks()))
        continue;
    if (!thread->left && is_on(thread))
        log_plain(LOG_WARN, "the Lease could not be released in time and has to expire");
}

void election_thread_leave(struct election_thread *thread, int64_t for_ns) {
    if (!thread->loop)
        return;
    if (for_ns > 0 && loop_post(thread->loop, leave, thread))
        wait_until_left(thread, for_ns);
    loop_post(thread->loop, drop, thread);
    loop_stop(TAKE(thread->loop));
    drop(thread); // without memory to post the event, or remade by a tick
}

void election_thread_read(struct election_thread *thread, struct election_state *state) {
    AUTO_LOCK(&thread->mutex);
    *state = thread->state;
}

void election_thread_free(struct election_thread *thread) {
    if (!thread)
        return;
    election_thread_leave(thread, 0);
    connection_close(&thread->connection);
    pthread_mutex_destroy(&thread->mutex);
    pthread_cond_destroy(&thread->changed);
    free(thread);
}
