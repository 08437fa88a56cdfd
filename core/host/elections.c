// SPDX-License-Identifier: Apache-2.0
#include "core/host/elections.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/startup/seal_source.h"
#include "core/kube/transport/loop.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_NS (10 * CLOCK_SECOND)
#define ORIGIN_MAX 57 // of the default name: it is the value of a label too

struct elections {
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

static bool is_on(const struct elections *elections) {
    return elections->config->election.enabled;
}

struct error *elections_new(const struct config *config, void (*post)(void *ctx, struct engine_event *event), void *ctx,
                            struct elections **out) {
    struct elections *elections = calloc(1, sizeof *elections);
    if (!elections)
        return error_no_memory();
    *elections = (struct elections){.config = config, .post = post, .ctx = ctx};
    elections->gates.count = (size_t)config->election.shards;
    elections->gates.shards = calloc(elections->gates.count, sizeof *elections->gates.shards);
    if (!elections->gates.shards) {
        free(elections);
        return error_no_memory();
    }
    make_identity(elections->identity);
    pthread_mutex_init(&elections->mutex, NULL);
    clock_condition_init(&elections->changed);
    elections->state = (struct election_state){.mode = is_on(elections) ? ELECTION_ON : ELECTION_OBSERVE,
                                               .shards = (uint32_t)elections->gates.count};
    text_copy(elections->state.identity, sizeof elections->state.identity, elections->identity);
    *out = elections;
    return NULL;
}

uint32_t elections_shards(const struct elections *elections) {
    return is_on(elections) ? (uint32_t)elections->gates.count : 0;
}

struct gates *elections_gates(struct elections *elections) {
    return is_on(elections) ? &elections->gates : NULL;
}

static const char *namespace_of(const struct elections *elections) {
    const struct config *config = elections->config;
    if (config->election.namespace_ || config->namespace_)
        return config->election.namespace_ ? config->election.namespace_ : config->namespace_;
    const char *pods = elections->connection.endpoint->namespace_;
    return config->management.kubeconfig || !pods || !*pods ? SEAL_SECRET_NAMESPACE : pods;
}

// Nothing depends on a Lease that is only observed: nine requests a minute are enough.
static const struct config_election observed = {
    .lease_ns = 60 * CLOCK_SECOND, .renew_ns = 40 * CLOCK_SECOND, .retry_ns = 20 * CLOCK_SECOND};

static struct error *make(struct elections *elections) {
    const struct config_election *config = is_on(elections) ? &elections->config->election : &observed;
    return election_new(&(struct election_options){.mode = elections->state.mode,
                                                   .transport = elections->connection.transport,
                                                   .namespace_ = namespace_of(elections),
                                                   .name = elections->name,
                                                   .identity = elections->identity,
                                                   .duration_ns = config->lease_ns,
                                                   .renew_ns = config->renew_ns,
                                                   .retry_ns = config->retry_ns,
                                                   .shards = (uint32_t)elections->gates.count,
                                                   .gates = is_on(elections) ? &elections->gates : NULL,
                                                   .controller_name = elections->config->controller_name,
                                                   .seed = random_system(),
                                                   .post = elections->post,
                                                   .ctx = elections->ctx},
                        &elections->election);
}

static void publish(struct elections *elections) {
    pthread_mutex_lock(&elections->mutex);
    elections->state = *election_state(elections->election);
    elections->left = election_has_left(elections->election);
    if (elections->left)
        pthread_cond_broadcast(&elections->changed);
    pthread_mutex_unlock(&elections->mutex);
}

static int64_t tick(void *ctx, struct moment now) {
    struct elections *elections = ctx;
    if (!elections->election) {
        struct error *error = make(elections);
        if (error)
            log_fields(LOG_ERROR, "leader election cannot begin yet", {"error", error_text(error)});
        error_free(error);
    }
    if (!elections->election)
        return now.mono_ns + RETRY_NS;
    if (elections->leave)
        election_leave(elections->election, now);
    int64_t next_ns = election_tick(elections->election, now);
    publish(elections);
    return next_ns;
}

static struct error *open_connection(struct elections *elections, const struct exec_policy *policy) {
    struct error *error =
        connection_load(&elections->connection, &elections->config->management, policy, clock_now().wall_ns);
    if (!error)
        error = connection_open(&elections->connection, NULL);
    if (!error)
        error = loop_start("lease", elections->connection.transport, tick, elections, &elections->loop);
    return error;
}

void elections_start(struct elections *elections, const char *origin, const struct exec_policy *policy) {
    snprintf(elections->name, sizeof elections->name, "%s%.*s", elections->config->election.name ? "" : "wharf-",
             elections->config->election.name ? 63 : ORIGIN_MAX,
             elections->config->election.name ? elections->config->election.name : origin);
    struct error *error = open_connection(elections, policy);
    if (error)
        log_fields(LOG_ERROR,
                   is_on(elections) ? "leader election cannot begin: this host writes nothing"
                                    : "another host with this origin would not be noticed",
                   {"error", error_text(error)});
    error_free(error);
}

static void leave(void *ctx) {
    ((struct elections *)ctx)->leave = true;
}

static void drop(void *ctx) {
    struct elections *elections = ctx;
    election_free(elections->election);
    elections->election = NULL;
}

static void wait_until_left(struct elections *elections, int64_t for_ns) {
    int64_t at_ns = clock_ticks() + for_ns;
    struct timespec until = {.tv_sec = (time_t)(at_ns / CLOCK_SECOND), .tv_nsec = (long)(at_ns % CLOCK_SECOND)};
    pthread_mutex_lock(&elections->mutex);
    while (!elections->left && pthread_cond_timedwait(&elections->changed, &elections->mutex, &until) == 0)
        continue;
    bool left = elections->left;
    pthread_mutex_unlock(&elections->mutex);
    if (!left && is_on(elections))
        log_plain(LOG_WARN, "the Lease could not be given back in time: it has to end by itself");
}

void elections_leave(struct elections *elections, int64_t for_ns) {
    if (!elections->loop)
        return;
    if (for_ns > 0 && loop_post(elections->loop, leave, elections))
        wait_until_left(elections, for_ns);
    loop_post(elections->loop, drop, elections);
    loop_stop(TAKE(elections->loop));
    drop(elections); // where there was no memory to post it, or a tick made it anew
}

void elections_read(struct elections *elections, struct election_state *state) {
    pthread_mutex_lock(&elections->mutex);
    *state = elections->state;
    pthread_mutex_unlock(&elections->mutex);
}

void elections_free(struct elections *elections) {
    if (!elections)
        return;
    elections_leave(elections, 0);
    connection_close(&elections->connection);
    pthread_mutex_destroy(&elections->mutex);
    pthread_cond_destroy(&elections->changed);
    free(elections->gates.shards);
    free(elections);
}
