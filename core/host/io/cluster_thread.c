// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_thread.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/host_internal.h"
#include "core/host/tokens/tokens.h"

#include <unistd.h>

static void post_event(void *ctx, struct engine_event *event) {
    struct cluster_thread *thread = ctx;
    event->received_ns = clock_now().mono_ns;
    outbox_put(&thread->outbox, event, event->echo, event->received_ns);
}

// The handshakes and lists of a joining worker have lower priority than the work for present workers.
static void set_background(struct cluster_thread *thread) {
    bool joins = thread->cluster != ENGINE_MANAGEMENT && !thread->settled;
    if (joins != thread->background)
        thread_set_background(joins);
    thread->background = joins;
}

// For status and metrics. Reads the token again only after a change.
static void publish_credentials(struct cluster_thread *thread) {
    enum credentials_kind kind = CREDENTIALS_NONE;
    const char *token = NULL;
    struct token_life life = {.expires_wall_ns = 0};
    meter_expiry(thread->meter, curl_transport_expiry(thread->connection.transport));
    uint64_t generation = curl_transport_credentials(thread->connection.transport, &kind, &token);
    if (thread->published && generation == thread->credentials)
        return;
    if (!token_life_read(token, &life))
        life.expires_wall_ns = 0;
    meter_credentials(thread->meter, kind, life.expires_wall_ns);
    thread->published = true;
    thread->credentials = generation;
}

static int64_t tick(void *ctx, struct moment now) {
    struct cluster_thread *thread = ctx;
    set_background(thread);
    int64_t next_ns = CLOCK_NEVER;
    if (thread->cluster == ENGINE_MANAGEMENT && !thread->io)
        next_ns = startup_tick(thread->host->startup, &thread->connection, now);
    if (thread->io && atomic_exchange(&thread->forgets, false))
        post_event(thread, &(struct engine_event){.type = EVENT_DEPENDENCY,
                                                  .cluster = thread->cluster,
                                                  .dependency = {.news = DEPENDENCIES_FORGOTTEN}});
    if (thread->io) {
        next_ns = cluster_io_tick(thread->io, now);
        thread->settled = thread->settled || cluster_io_is_settled(thread->io);
        atomic_store(&thread->pending, cluster_io_pending(thread->io));
    }
    publish_credentials(thread);
    if (thread->attached.row)
        next_ns = clock_earlier(next_ns, thread->attached.row->step(thread->attached.state, now));
    return clock_earlier(next_ns, outbox_tick(&thread->outbox, clock_now().mono_ns));
}

void cluster_thread_free(struct cluster_thread *thread) {
    if (!thread)
        return;
    connection_close(&thread->connection);
    outbox_free(&thread->outbox);
    worker_spec_clear(&thread->spec);
    exec_policy_free(thread->policy);
    error_free(thread->error);
    free(thread->name);
    free(thread);
}

static struct error *make_thread(struct host *host, size_t cluster, const char *name, const struct worker_spec *spec,
                                 struct cluster_thread **out) {
    struct cluster_thread *thread = *out = calloc(1, sizeof *thread);
    if (!thread)
        return error_no_memory();
    thread->host = host;
    thread->cluster = cluster;
    thread->meter = &host->clusters[cluster]->meter;
    thread->name = strdup(name);
    const struct thread_settings *settings = &host->thread_settings;
    budget_init(&thread->budget, settings->memory_per_cluster, settings->max_object_size, settings->max_object_nodes,
                &thread->stop);
    outbox_init(&thread->outbox, host->inbox);
    if (gethostname(thread->instance, sizeof thread->instance - 1) != 0)
        text_copy(thread->instance, sizeof thread->instance, "wharf");
    bool ok =
        thread->name && worker_spec_copy(spec, &thread->spec) && exec_policy_copy(host_policy(host), &thread->policy);
    return ok ? NULL : error_no_memory();
}

static struct error *open_connection(struct cluster_thread *thread) {
    TRY(error_wrap(connection_load(&thread->connection, &thread->spec, thread->policy, clock_now().wall_ns),
                   "cluster %s", thread->name));
    TRY(connection_open(&thread->connection, &thread->budget));
    thread->scope = (struct cluster_scope){.cluster = thread->cluster,
                                           .name = thread->name,
                                           .connection = &thread->connection,
                                           .transport = thread->connection.transport,
                                           .meter = thread->meter,
                                           .budget = &thread->budget,
                                           .controller_name = thread->host->config->controller_name,
                                           .instance = thread->instance,
                                           .gates = election_thread_gates(thread->host->election),
                                           .watch_list = true,
                                           .post = post_event,
                                           .ctx = thread};
    return loop_start(thread->name, thread->connection.transport, tick, thread, &thread->loop);
}

struct error *cluster_thread_open(struct host *host, struct cluster_thread **out) {
    const char *name = host->clusters[ENGINE_MANAGEMENT]->name;
    struct error *error = make_thread(host, ENGINE_MANAGEMENT, name, &host->config->management, out);
    if (!error)
        error = open_connection(*out);
    if (error)
        cluster_thread_free(TAKE(*out));
    return error;
}

static void *open_connection_thread(void *arg) {
    struct cluster_thread *thread = arg;
    thread_set_background(true);
    thread->error = open_connection(thread);
    thread_set_background(false); // another thread waits for this one's end
    atomic_store(&thread->opened, true);
    inbox_poke(thread->host->inbox);
    return NULL;
}

struct error *cluster_thread_begin(struct host *host, size_t cluster, const char *name, const struct worker_spec *spec,
                                   struct cluster_thread **out) {
    struct error *error = make_thread(host, cluster, name, spec, out);
    if (!error && thread_start("open", 0, open_connection_thread, *out, &(*out)->opener) != 0)
        error = error_new(ERROR_IO, "cannot start a thread");
    if (error)
        cluster_thread_free(TAKE(*out));
    else
        (*out)->opening = true;
    return error;
}

static void join_opener(struct cluster_thread *thread) {
    if (thread->opening)
        pthread_join(thread->opener, NULL);
    thread->opening = false;
}

bool cluster_thread_is_open(struct cluster_thread *thread, struct error **error) {
    if (!atomic_load(&thread->opened))
        return false;
    join_opener(thread);
    *error = TAKE(thread->error);
    return true;
}

static void resize(struct cluster_thread *thread) {
    const struct thread_settings *settings = &thread->settings;
    budget_resize(&thread->budget, settings->memory_per_cluster, settings->max_object_size, settings->max_object_nodes);
    thread->budget.max_status_size = thread->cluster == ENGINE_MANAGEMENT ? 0 : settings->max_status_size;
}

static void open_io(void *arg) {
    struct cluster_thread *thread = arg;
    struct host *host = thread->host;
    thread->scope.settings = thread->settings.io;
    thread->scope.origin = startup_origin(host->startup);
    thread->scope.namespace_map = thread->spec.settings.namespace_map;
    thread->scope.seed = random_system();
    if (thread->cluster == ENGINE_MANAGEMENT)
        startup_stop(host->startup);
    resize(thread);
    struct error *error = cluster_io_new(&thread->scope, &thread->io);
    if (error)
        log_fields(LOG_ERROR, "cluster cannot be watched", {"cluster", thread->name}, {"error", error_text(error)});
    error_free(error);
}

// The host's settings, with the worker's own.
static struct thread_settings settings_of(const struct cluster_thread *thread) {
    struct thread_settings settings = thread->host->thread_settings;
    enum choice capacity = thread->host->clusters[thread->cluster]->spec.capacity;
    if (capacity != CHOICE_NOT_MADE)
        settings.io.capacity = capacity == CHOICE_YES;
    return settings;
}

void cluster_thread_watch(struct cluster_thread *thread) {
    thread->settings = settings_of(thread);
    thread->configured = thread->host->configured;
    loop_post(thread->loop, open_io, thread);
}

// A task from another thread for a cluster's thread.
struct errand {
    struct cluster_thread *thread;
    void (*run)(struct cluster_thread *thread, const struct errand *errand);
    union {
        struct attached_watcher watcher;
        struct thread_settings settings;
        uint64_t shards;
        struct command_batch *batch;
    };
};

static void run_errand(void *arg) {
    struct errand *errand = arg;
    errand->run(errand->thread, errand);
    free(errand);
}

// Copies the errand. False: out of memory, or the thread has ended.
static bool post_errand(const struct errand *errand) {
    struct errand *copy = errand->thread->loop ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return false;
    *copy = *errand;
    if (loop_post(errand->thread->loop, run_errand, copy))
        return true;
    free(copy);
    return false;
}

static void attach(struct cluster_thread *thread, const struct errand *errand) {
    struct error *error = errand->watcher.row->start(&thread->scope, errand->watcher.state);
    if (error)
        errand->watcher.row->stop(errand->watcher.state);
    else
        thread->attached = errand->watcher;
    error_free(error);
}

bool host_attach(struct host *host, const struct watcher *row, void *state) {
    return post_errand(&(struct errand){.thread = host->management, .run = attach, .watcher = {row, state}});
}

static void wake(void *arg) {
    (void)arg; // a tick follows
}

void host_step_watchers(struct host *host) {
    if (host->management->loop)
        (void)loop_post(host->management->loop, wake, NULL);
}

static void configure(struct cluster_thread *thread, const struct errand *errand) {
    const struct thread_settings *next = &errand->settings, *former = &thread->settings;
    bool larger = next->max_object_size > former->max_object_size ||
                  next->max_object_nodes > former->max_object_nodes || next->max_status_size > former->max_status_size;
    thread->settings = *next;
    resize(thread);
    if (!thread->io)
        return;
    cluster_io_configure(thread->io, &thread->settings.io);
    if (larger)
        cluster_io_accept_larger(thread->io);
}

bool cluster_thread_configure(struct cluster_thread *thread) {
    bool posted = post_errand(&(struct errand){.thread = thread, .run = configure, .settings = settings_of(thread)});
    if (posted)
        thread->configured = thread->host->configured;
    return posted;
}

static void renew_leases(struct cluster_thread *thread, const struct errand *errand) {
    if (thread->io)
        cluster_io_fence(thread->io, errand->shards);
}

bool cluster_thread_fence(struct cluster_thread *thread, uint64_t shards) {
    return post_errand(&(struct errand){.thread = thread, .run = renew_leases, .shards = shards});
}

static void run_batch(struct cluster_thread *thread, const struct errand *errand) {
    if (!thread->io) {
        command_batch_refuse(errand->batch, post_event, thread);
        return;
    }
    command_batch_run(errand->batch, thread->io, clock_now());
    atomic_store(&thread->pending, cluster_io_pending(thread->io));
}

bool cluster_thread_deliver(struct cluster_thread *thread, struct command_batch *batch) {
    bool posted = post_errand(&(struct errand){.thread = thread, .run = run_batch, .batch = batch});
    if (!posted && batch->n_wishes > 0)
        atomic_store(&thread->forgets, true);
    return posted;
}

// The loop runs the delivered tasks before its end; then this thread owns the connection. Closing may wait for a DNS
// lookup.
static void *close_thread(void *arg) {
    struct cluster_thread *thread = arg;
    thread_set_background(true);
    join_opener(thread);
    if (thread->loop)
        loop_stop(TAKE(thread->loop));
    cluster_io_close(thread->io, "the connection is replaced or closed");
    thread->io = NULL;
    outbox_tick(&thread->outbox, CLOCK_NEVER);
    atomic_store(&thread->pending, 0);
    atomic_store(&thread->quiet, true);
    inbox_poke(thread->host->inbox);
    connection_close(&thread->connection);
    thread_set_background(false);
    atomic_store(&thread->ended, true);
    inbox_poke(thread->host->inbox);
    return NULL;
}

bool cluster_thread_close(struct cluster_thread *thread) {
    if (thread->reaping)
        return true;
    atomic_store(&thread->stop, true);
    thread->reaping = thread_start("close", 0, close_thread, thread, &thread->reaper) == 0;
    return thread->reaping;
}

void cluster_thread_reap(struct cluster_thread *thread) {
    pthread_join(thread->reaper, NULL);
    cluster_thread_free(thread);
}

static void drop_io(void *arg) {
    struct cluster_thread *thread = arg;
    if (thread->cluster == ENGINE_MANAGEMENT)
        startup_stop(thread->host->startup);
    if (thread->attached.row)
        TAKE(thread->attached.row)->stop(thread->attached.state);
    cluster_io_free(thread->io);
    thread->io = NULL;
}

void cluster_thread_stop(struct cluster_thread *thread) {
    atomic_store(&thread->stop, true);
    if (thread->reaping) {
        pthread_join(thread->reaper, NULL);
        thread->reaping = false;
        return;
    }
    join_opener(thread);
    if (!thread->loop)
        return;
    loop_post(thread->loop, drop_io, thread);
    loop_stop(thread->loop);
    thread->loop = NULL;
    drop_io(thread); // if loop_post had no memory
}
