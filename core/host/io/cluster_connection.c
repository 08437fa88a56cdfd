// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_connection.h"

#include "core/base/background.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"
#include "core/host/token_life.h"
#include "core/host/watchers/watcher.h"
#include "core/kube/transport/curl_transport.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void post_event(void *ctx, struct engine_event *event) {
    struct wire *wire = ctx;
    event->received_ns = clock_now().mono_ns;
    outbox_put(&wire->outbox, event, event->echo, event->received_ns);
}

// What a worker that joins needs, handshakes and lists, can wait for what those need that are there.
static void set_background(struct wire *wire) {
    bool joins = wire->cluster != ENGINE_MANAGEMENT && !wire->settled;
    if (joins != wire->background)
        background_set(joins);
    wire->background = joins;
}

// For status and metrics. The token is read again only when it is another one.
static void publish_credentials(struct wire *wire) {
    enum credentials_kind kind = CREDENTIALS_NONE;
    const char *token = NULL;
    struct token_life life = {.expires_wall_ns = 0};
    meter_expiry(wire->meter, curl_transport_expiry(wire->connection.transport));
    uint64_t generation = curl_transport_credentials(wire->connection.transport, &kind, &token);
    if (wire->published && generation == wire->credentials)
        return;
    if (!token_life_read(token, &life))
        life.expires_wall_ns = 0;
    meter_credentials(wire->meter, kind, life.expires_wall_ns);
    wire->published = true;
    wire->credentials = generation;
}

static int64_t tick(void *ctx, struct moment now) {
    struct wire *wire = ctx;
    set_background(wire);
    int64_t next_ns = CLOCK_NEVER;
    if (wire->cluster == ENGINE_MANAGEMENT && !wire->link)
        next_ns = startup_tick(wire->host->startup, &wire->connection, now);
    if (wire->link) {
        next_ns = link_tick(wire->link, now);
        wire->settled = wire->settled || link_is_settled(wire->link);
        atomic_store(&wire->pending, link_pending(wire->link));
    }
    publish_credentials(wire);
    if (wire->cluster == ENGINE_MANAGEMENT)
        next_ns = clock_earlier(next_ns, guests_tick(wire, now));
    return clock_earlier(next_ns, outbox_tick(&wire->outbox, clock_now().mono_ns));
}

void wire_free(struct wire *wire) {
    if (!wire)
        return;
    connection_close(&wire->connection);
    outbox_free(&wire->outbox);
    worker_spec_clear(&wire->spec);
    exec_policy_free(wire->policy);
    error_free(wire->error);
    free(wire->name);
    free(wire);
}

// `spec` NULL: the management cluster.
static struct error *make(struct host *host, size_t cluster, const char *name, const struct worker_spec *spec,
                          struct wire **out) {
    *out = NULL;
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return error_no_memory();
    wire->host = host;
    wire->cluster = cluster;
    wire->meter = &host->clusters[cluster]->meter;
    wire->name = strdup(name);
    const struct wire_settings *settings = &host->wire_settings;
    budget_init(&wire->budget, settings->memory_per_cluster, settings->max_object_size, settings->max_object_nodes,
                &wire->stop);
    outbox_init(&wire->outbox, host->inbox);
    if (!wire->name || (spec && !worker_spec_copy(spec, &wire->spec)) ||
        !exec_policy_copy(host_policy(host), &wire->policy)) {
        wire_free(wire);
        return error_no_memory();
    }
    *out = wire;
    return NULL;
}

static struct error *open_connection(struct wire *wire) {
    const struct config *config = wire->host->config;
    const struct exec_policy *policy = wire->policy;
    int64_t wall_ns = clock_now().wall_ns;
    struct error *error = wire->cluster == ENGINE_MANAGEMENT
                              ? connection_load(&wire->connection, &config->management, policy, wall_ns)
                              : connection_load_worker(&wire->connection, &wire->spec, policy, wall_ns);
    error = error_wrap(error, "cluster %s", wire->name);
    if (!error)
        error = connection_open(&wire->connection, &wire->budget);
    if (!error)
        error = loop_start(wire->name, wire->connection.transport, tick, wire, &wire->loop);
    return error;
}

struct error *wire_open(struct host *host, struct wire **out) {
    struct wire *wire = NULL;
    struct error *error = make(host, ENGINE_MANAGEMENT, host->clusters[ENGINE_MANAGEMENT]->name, NULL, &wire);
    if (!error)
        error = open_connection(wire);
    if (error)
        wire_free(wire);
    *out = error ? NULL : wire;
    return error;
}

// Signals are handled by another thread.
static bool start_thread(pthread_t *thread, void *(*run)(void *arg), void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(thread, NULL, run, arg) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void *open_wire(void *arg) {
    struct wire *wire = arg;
    background_set(true);
    wire->error = open_connection(wire);
    background_set(false); // its end is waited for
    atomic_store(&wire->opened, true);
    inbox_poke(wire->host->inbox);
    return NULL;
}

struct error *wire_begin(struct host *host, size_t cluster, const char *name, const struct worker_spec *spec,
                         struct wire **out) {
    struct wire *wire = NULL;
    struct error *error = make(host, cluster, name, spec, &wire);
    if (!error && !start_thread(&wire->opener, open_wire, wire))
        error = error_new(ERROR_IO, "cannot start a thread");
    if (error)
        wire_free(wire);
    else
        wire->opening = true;
    *out = error ? NULL : wire;
    return error;
}

static void join_opener(struct wire *wire) {
    if (wire->opening)
        pthread_join(wire->opener, NULL);
    wire->opening = false;
}

bool wire_is_open(struct wire *wire, struct error **error) {
    if (!atomic_load(&wire->opened))
        return false;
    join_opener(wire);
    *error = TAKE(wire->error);
    return true;
}

static void resize(struct wire *wire) {
    const struct wire_settings *settings = &wire->settings;
    budget_resize(&wire->budget, settings->memory_per_cluster, settings->max_object_size, settings->max_object_nodes);
    wire->budget.max_status_size = wire->cluster == ENGINE_MANAGEMENT ? 0 : settings->max_status_size;
}

static void open_link(void *arg) {
    struct wire *wire = arg;
    struct host *host = wire->host;
    char instance[128];
    if (gethostname(instance, sizeof instance) != 0)
        text_copy(instance, sizeof instance, "wharf");
    instance[sizeof instance - 1] = '\0';
    struct link_options options = {.cluster = wire->cluster,
                                   .name = wire->name,
                                   .transport = wire->connection.transport,
                                   .budget = &wire->budget,
                                   .meter = wire->meter,
                                   .settings = wire->settings.link,
                                   .origin = startup_origin(host->startup),
                                   .controller_name = host->config->controller_name,
                                   .instance = instance,
                                   .gates = elections_gates(host->elections),
                                   .watch_list = true,
                                   .seed = random_system(),
                                   .post = post_event,
                                   .ctx = wire};
    if (wire->cluster == ENGINE_MANAGEMENT)
        startup_stop(host->startup);
    resize(wire);
    struct error *error = link_new(&options, &wire->link);
    if (error)
        log_fields(LOG_ERROR, "cluster cannot be watched", {"cluster", wire->name}, {"error", error_text(error)});
    error_free(error);
}

// The host's, with what the worker has of its own.
static struct wire_settings settings_of(const struct wire *wire) {
    struct wire_settings settings = wire->host->wire_settings;
    enum choice capacity = wire->host->clusters[wire->cluster]->spec.capacity;
    if (capacity != CHOICE_NOT_MADE)
        settings.link.capacity = capacity == CHOICE_YES;
    return settings;
}

void wire_watch(struct wire *wire) {
    wire->settings = settings_of(wire);
    wire->configured = wire->host->configured;
    loop_post(wire->loop, open_link, wire);
}

struct configuration {
    struct wire *wire;
    struct wire_settings settings;
};

static void configure(void *arg) {
    struct configuration *given = arg;
    struct wire *wire = given->wire;
    bool larger = given->settings.max_object_size > wire->settings.max_object_size ||
                  given->settings.max_object_nodes > wire->settings.max_object_nodes ||
                  given->settings.max_status_size > wire->settings.max_status_size;
    wire->settings = given->settings;
    free(given);
    resize(wire);
    if (!wire->link)
        return;
    link_configure(wire->link, &wire->settings.link);
    if (larger)
        link_accept_larger(wire->link);
}

bool wire_configure(struct wire *wire) {
    struct configuration *given = malloc(sizeof *given);
    if (!given)
        return false;
    *given = (struct configuration){wire, settings_of(wire)};
    if (loop_post(wire->loop, configure, given)) {
        wire->configured = wire->host->configured;
        return true;
    }
    free(given);
    return false;
}

struct fence_change {
    struct wire *wire;
    uint64_t shards;
};

static void renew(void *arg) {
    struct fence_change *change = arg;
    if (change->wire->link)
        link_fence(change->wire->link, change->shards);
    free(change);
}

bool wire_fence(struct wire *wire, uint64_t shards) {
    struct fence_change *change = malloc(sizeof *change);
    if (!change)
        return false;
    *change = (struct fence_change){wire, shards};
    if (loop_post(wire->loop, renew, change))
        return true;
    free(change);
    return false;
}

struct delivery {
    struct wire *wire;
    struct command_batch *batch;
};

static void run_batch(void *arg) {
    struct delivery *delivery = arg;
    struct wire *wire = delivery->wire;
    if (wire->link) {
        command_batch_run(delivery->batch, wire->link, clock_now());
        atomic_store(&wire->pending, link_pending(wire->link));
    } else {
        command_batch_refuse(delivery->batch, post_event, wire);
    }
    free(delivery);
}

bool wire_deliver(struct wire *wire, struct command_batch *batch) {
    struct delivery *delivery = malloc(sizeof *delivery);
    if (!delivery)
        return false;
    *delivery = (struct delivery){wire, batch};
    if (loop_post(wire->loop, run_batch, delivery))
        return true;
    free(delivery);
    return false;
}

// The loop runs what was delivered before it ends; then the connection is this thread's. Closing it may wait for a name
// to be resolved.
static void *close_wire(void *arg) {
    struct wire *wire = arg;
    background_set(true);
    join_opener(wire);
    if (wire->loop)
        loop_stop(TAKE(wire->loop));
    link_close(wire->link, "the connection is replaced or closed");
    wire->link = NULL;
    outbox_tick(&wire->outbox, CLOCK_NEVER);
    atomic_store(&wire->pending, 0);
    atomic_store(&wire->quiet, true);
    inbox_poke(wire->host->inbox);
    connection_close(&wire->connection);
    background_set(false);
    atomic_store(&wire->ended, true);
    inbox_poke(wire->host->inbox);
    return NULL;
}

bool wire_close(struct wire *wire) {
    if (wire->reaping)
        return true;
    atomic_store(&wire->stop, true);
    wire->reaping = start_thread(&wire->reaper, close_wire, wire);
    return wire->reaping;
}

void wire_reap(struct wire *wire) {
    pthread_join(wire->reaper, NULL);
    wire_free(wire);
}

static void drop_link(void *arg) {
    struct wire *wire = arg;
    if (wire->cluster == ENGINE_MANAGEMENT)
        startup_stop(wire->host->startup);
    guests_stop(wire);
    link_free(wire->link);
    wire->link = NULL;
}

void wire_stop(struct wire *wire) {
    atomic_store(&wire->stop, true);
    if (wire->reaping) {
        pthread_join(wire->reaper, NULL);
        wire->reaping = false;
        return;
    }
    join_opener(wire);
    if (!wire->loop)
        return;
    loop_post(wire->loop, drop_link, wire);
    loop_stop(wire->loop);
    wire->loop = NULL;
    drop_link(wire); // where there was no memory to post it
}
