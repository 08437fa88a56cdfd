// SPDX-License-Identifier: Apache-2.0
#include "core/host/host.h"

#include "core/adapter/process/process.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/config/dependencies.h"
#include "core/engine/fence/fence.h"
#include "core/host/host_internal.h"

#define INBOX_MAX 1024                   // queued events per cluster
#define STOP_GRACE_NS (8 * CLOCK_SECOND) // for writes in flight at shutdown
#define STOP_LEAVE_NS (3 * CLOCK_SECOND) // for giving the Leases back; together less than SIGNALS_STOP_NS
#define STOP_TURN_NS (50 * CLOCK_MS)     // how long a turn waits during shutdown
#define SETTINGS_AGAIN_NS CLOCK_SECOND   // without memory

// Settings --------------------------------------------------------------------------------------------------------
// The live parts of the configuration: settings of the engine and of the connections, credential plugins, and added
// adapters.

const struct exec_policy *host_policy(const struct host *host) {
    return &host->current->credential_plugins;
}

const struct adapters *host_adapters(const struct host *host) {
    return atomic_load(&host->adapters);
}

void host_add_adapters(struct host *host, struct adapters *adapters) {
    atomic_store(&host->adapters, adapters);
    inbox_poke(host->inbox);
}

// Without the kinds, and the number of the fencing.
static struct thread_settings thread_settings_of(const struct config *config) {
    struct fencing_settings fencing = {.enabled = config->engine.fencing.enabled,
                                       .after_ns = config->engine.fencing.after_ns};
    text_copy(fencing.namespace_, sizeof fencing.namespace_, config->fencing_namespace);
    return (struct thread_settings){.io = {.pod_events = config->pod_events,
                                           .capacity = config->engine.placement.capacity,
                                           .namespaces = config_needs_namespaces(config),
                                           .dependencies = dependency_options_any(&config->engine.dependencies),
                                           .pod_causes = config_retries_elsewhere(config),
                                           .tenants = config->engine.tenancy.impersonate,
                                           .fencing = fencing},
                                    .memory_per_cluster = config->memory_per_cluster,
                                    .max_object_size = config->max_object_size,
                                    .max_object_nodes = config->max_object_nodes,
                                    .max_status_size = config->max_status_size};
}

// The caller holds the mutex, or is the only thread. Out of memory: the former dependencies stay.
static void publish_features(struct host *host, const struct config *config) {
    struct rights_features *published = &host->snapshot.features, features = rights_features_of(config);
    (void)dependency_options_set(&published->dependencies, &features.dependencies);
    features.dependencies = published->dependencies;
    *published = features;
}

static void init_settings(struct host *host) {
    host->current = config_share(host->config);
    host->thread_settings = thread_settings_of(host->config);
    host->thread_settings.io.kinds = host->first->kinds;
    host->thread_settings.io.n_kinds = host->first->n_kinds;
    publish_features(host, host->config);
    host->all_configured = true;
    host->configure_at_ns = CLOCK_NEVER;
}

void host_configure(struct host *host, const struct config *config) {
    config_free(atomic_exchange(&host->next, config_share(config)));
    inbox_poke(host->inbox);
    AUTO_LOCK(&host->snapshot_mutex);
    publish_features(host, config);
}

void settings_receive(struct host *host) {
    struct config *next = atomic_exchange(&host->next, NULL);
    if (!next)
        return;
    config_free(host->current);
    host->current = next;
    host->is_current = false;
}

static void settings_changed(struct host *host) {
    host->configured++;
    host->all_configured = false;
}

// Configuring a connection again with the same settings has no effect.
static void use_thread_settings(struct host *host, struct thread_settings settings) {
    struct budget budget;
    budget_init(&budget, settings.memory_per_cluster, 0, 0, NULL);
    inbox_limit(host->inbox, budget.max_queued);
    settings.io.kinds = host->thread_settings.io.kinds;
    settings.io.n_kinds = host->thread_settings.io.n_kinds;
    host->thread_settings = settings;
    settings_changed(host);
}

// False: out of memory; the next turn tries again.
static bool apply_settings(struct host *host) {
    if (host->is_current)
        return true;
    struct error *error = engine_configure(host->turn.engine, &host->current->engine);
    if (error) {
        error_free(error);
        return false;
    }
    struct thread_settings threads = thread_settings_of(host->current);
    threads.io.fencing.epoch = engine_fence_epoch(host->turn.engine);
    use_thread_settings(host, threads);
    host_words_configure(host);
    host->is_current = true;
    return true;
}

static bool take_kinds(struct host *host, struct moment now) {
    const struct adapters *adapters = host_adapters(host);
    size_t first = engine_n_kinds(host->turn.engine);
    engine_set_scorers(host->turn.engine, adapters->scorers, adapters->n_scorers);
    if (adapters->n_kinds == first)
        return true;
    struct error *error = engine_add_kinds(host->turn.engine, adapters->kinds, adapters->n_kinds, now);
    if (error) {
        log_fields(LOG_ERROR, "the kinds that were added are not watched yet", {"error", error_text(error)});
        error_free(error);
        return false;
    }
    host->turn.dispatch.kinds = adapters->kinds;
    host->thread_settings.io.kinds = adapters->kinds;
    host->thread_settings.io.n_kinds = adapters->n_kinds;
    cluster_threads_lost(host, first);
    settings_changed(host);
    return true;
}

// Connections that start their watches later get the settings then.
static bool configure_wires(struct host *host) {
    bool all = true;
    for (size_t c = 0; c < host->n_clusters; c++) {
        struct cluster_thread *thread = host->clusters[c]->thread;
        all = (!thread || thread->configured == host->configured || cluster_thread_configure(thread)) && all;
    }
    return all;
}

static void tick_settings(struct host *host, struct moment now) {
    bool applied = apply_settings(host), done = take_kinds(host, now) && applied;
    if (!host->all_configured)
        host->all_configured = configure_wires(host);
    host->configure_at_ns = done && host->all_configured ? CLOCK_NEVER : now.mono_ns + SETTINGS_AGAIN_NS;
}

// Turns -----------------------------------------------------------------------------------------------------------

static struct moment now_and_alive(void *ctx) {
    struct host *host = ctx;
    struct moment now = clock_now();
    heartbeat_work(&host->heart, now.mono_ns);
    return now;
}

static const char *kind_name(const struct host *host, const struct engine_event *event) {
    return host_adapters(host)->kinds[event->kind]->plural_group;
}

static void log_contact(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {
        [CONTACT_UNKNOWN] = "the state of the cluster is not known yet",
        [CONTACT_GOOD] = "the cluster is reachable",
        [CONTACT_SUSPECT] = "the cluster does not respond: nothing new is placed there until it does",
        [CONTACT_LOST] = "the cluster is unreachable",
        [CONTACT_REJECTED] = "the cluster rejects the host's credentials or rights: nothing new is placed there",
    };
    const char *text =
        event->contact.repeated ? "no attempt to reach the cluster succeeds" : words[event->contact.state];
    log_fields(event->contact.state == CONTACT_GOOD ? LOG_INFO : LOG_WARN, text,
               {"cluster", host->names[event->cluster]}, {"error", event->contact.problem});
}

static void log_state(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {[REFLECTOR_STARTING] = "starting",
                                        [REFLECTOR_CONNECTED] = "connected",
                                        [REFLECTOR_LOST] = "lost",
                                        [REFLECTOR_ABSENT] = "kind is not served"};
    bool good = event->watch.state == REFLECTOR_CONNECTED || event->watch.state == REFLECTOR_STARTING;
    log_fields(good ? LOG_INFO : LOG_WARN, words[event->watch.state], {"cluster", host->names[event->cluster]},
               {"kind", kind_name(host, event)}, {"error", event->watch.problem});
}

// Logs connection changes of the clusters.
static void log_event(void *ctx, const struct engine_event *event) {
    const struct host *host = ctx;
    if (event->type == EVENT_CONTACT)
        log_contact(host, event);
    else if (event->type == EVENT_RESTORED)
        log_fields(LOG_WARN,
                   "resourceVersions went backwards: the cluster was restored or wiped, and its objects are listed "
                   "again before anything is done",
                   {"cluster", host->names[event->cluster]}, {"kind", kind_name(host, event)},
                   {"error", event->problem});
    else if (event->type == EVENT_STATE)
        log_state(host, event);
}

static void post_own(void *ctx, struct engine_event *event) {
    struct host *host = ctx;
    inbox_post_now(host->inbox, event);
}

struct gate *host_gate(const struct host *host) {
    return gates_at(election_thread_gates(host->election), 0);
}

struct worker_records *host_records(const struct host *host) {
    return host->records;
}

static void poke_inbox(void *ctx) {
    struct host *host = ctx;
    inbox_poke(host->inbox);
}

static struct error *fill_host(struct host *host) {
    struct budget budget;
    budget_init(&budget, host->config->memory_per_cluster, 0, 0, NULL);
    TRY(clusters_init(host));
    TRY(inbox_new(host->n_clusters, INBOX_MAX, budget.max_queued, &host->inbox));
    adapter_process_on_ready(poke_inbox, host);
    TRY(queries_new(&host->queries));
    TRY(worker_records_new(&host->records));
    TRY(host_words_begin(host));
    TRY(startup_new(host->config, poke_inbox, host, &host->startup));
    TRY(election_thread_new(host->config, post_own, host, &host->election));
    host->turn.dispatch = (struct dispatch){.names = host->names,
                                            .kinds = host->first->kinds,
                                            .deliver = clusters_deliver,
                                            .post = post_own,
                                            .words = host_words_take,
                                            .ctx = host};
    TRY(cluster_thread_open(host, &host->clusters[ENGINE_MANAGEMENT]->thread));
    host->management = host->clusters[ENGINE_MANAGEMENT]->thread;
    return NULL;
}

struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out) {
    *out = NULL;
    struct host *host = calloc(1, sizeof *host);
    if (!host)
        return error_no_memory();
    host->config = config;
    host->first = adapters;
    atomic_init(&host->adapters, adapters);
    init_settings(host);
    host->trim_at_ns = CLOCK_NEVER;
    host->turn = (struct turn){.now = now_and_alive, .before = log_event, .ctx = host};
    host->made_ns = clock_now().mono_ns;
    host->snapshot.started_wall_ns = clock_now().wall_ns;
    host->snapshot.notes.reload = (struct reload_note){.at_wall_ns = host->snapshot.started_wall_ns,
                                                       .success_wall_ns = host->snapshot.started_wall_ns,
                                                       .successful = true};
    pthread_mutex_init(&host->snapshot_mutex, NULL);
    pthread_mutex_init(&host->wanted_mutex, NULL);
    struct error *error = fill_host(host);
    if (error) {
        host_free(host);
        return error;
    }
    *out = host;
    return NULL;
}

void host_free(struct host *host) {
    if (!host)
        return;
    adapter_process_on_ready(NULL, NULL);
    last_words_free(host->words);
    clusters_free(host);
    election_thread_free(host->election); // its gates outlive the connections
    startup_free(host->startup);
    engine_free(host->turn.engine);
    update_free(&host->turn.update);
    inbox_free(host->inbox);
    queries_free(host->queries);
    workers_free(host);
    worker_records_free(host->records);
    host_snapshot_free(&host->snapshot);
    config_free(host->current);
    config_free(host->next);
    adapters_free_newer((struct adapters *)atomic_load(&host->adapters), host->first);
    pthread_mutex_destroy(&host->wanted_mutex);
    pthread_mutex_destroy(&host->snapshot_mutex);
    free(host);
}

void host_stop(struct host *host) {
    atomic_store(&host->stop, true);
    inbox_poke(host->inbox);
}

static struct error *start_engine(struct host *host, struct moment now) {
    const struct config *config = host->current;
    const char *origin = startup_origin(host->startup);
    const struct gates *gates = election_thread_gates(host->election);
    struct engine_options options = {.origin = origin,
                                     .seals = startup_seals(host->startup),
                                     .adopt_until_ns = startup_adopt_until_ns(host->startup),
                                     .kinds = host->thread_settings.io.kinds,
                                     .n_kinds = host->thread_settings.io.n_kinds,
                                     .scorers = host->first->scorers,
                                     .n_scorers = host->first->n_scorers,
                                     .settings = config->engine,
                                     .management_uid = config->origin ? NULL : origin,
                                     .ticks = clock_ticks,
                                     .processor = clock_processor,
                                     .shards = gates ? (uint32_t)gates->count : 0,
                                     .seed = random_system()};
    TRY(engine_new(&options, now, &host->turn.engine));
    if (!host_marks_begin(host))
        return error_no_memory();
    host->is_current = true;
    queries_open(host->queries, poke_inbox, host);
    host_words_configure(host);
    log_fields(LOG_INFO, "started", {"origin", origin}, {"controller", config->controller_name});
    workers_tick(host, now); // before the engine gets the first workload
    cluster_thread_watch(host->clusters[ENGINE_MANAGEMENT]->thread);
    election_thread_start(host->election, origin, host_policy(host));
    return NULL;
}

// Hands each connection the shards with Leases for the guard that the connection renews (docs/fencing.md).
static void assign_fences(struct host *host) {
    for (size_t c = 1; c < host->n_clusters; c++) {
        struct host_cluster *cluster = host->clusters[c];
        uint64_t renews = engine_has_worker(host->turn.engine, c) ? engine_renews(host->turn.engine, c) : 0;
        if (!cluster->thread || (cluster->fenced == cluster->thread && cluster->renews == renews) ||
            !cluster_thread_fence(cluster->thread, renews))
            continue;
        cluster->fenced = cluster->thread;
        cluster->renews = renews;
    }
}

static int64_t next_turn_ns(const struct host *host, int64_t now_ns) {
    int64_t times[] = {host->turn.update.wake_ns,
                       workers_next_ns(host),
                       host->trim_at_ns,
                       host_marks_next_ns(host),
                       host->configure_at_ns,
                       host->publish_due ? host->published_ns + HOST_PUBLISH_NS : CLOCK_NEVER,
                       atomic_load(&host->stop) ? now_ns + STOP_TURN_NS : CLOCK_NEVER};
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        next_ns = times[i] < next_ns ? times[i] : next_ns;
    return next_ns;
}

// Waits for events, then runs one turn of the engine.
static void take_turn(struct host *host) {
    if (!atomic_load(&host->stop))
        workers_tick(host, clock_now());
    int64_t now_ns = clock_now().mono_ns, until_ns = next_turn_ns(host, now_ns);
    heartbeat_wait(&host->heart, now_ns, until_ns);
    struct event_item *items = inbox_take(host->inbox, until_ns);
    tick_settings(host, now_and_alive(host)); // a step follows
    host_adapters_look(host);
    size_t events = turn_run(&host->turn, items);
    inbox_charge(host->inbox, host->turn.engine, clock_now().mono_ns);
    queries_run(host->queries, host->turn.engine);
    assign_fences(host);
    struct moment now = now_and_alive(host);
    snapshot_publish(host, now, false);
    host_marks_check(host, now.mono_ns, false);
    trim_when_idle(host, now, events);
}

struct error *host_run(struct host *host) {
    struct error *error = NULL;
    while (!startup_is_over(host->startup) && !atomic_load(&host->stop))
        event_items_free(inbox_take(host->inbox, CLOCK_NEVER));
    if (startup_is_over(host->startup))
        error = start_engine(host, clock_now());
    if (!error && host->turn.engine) {
        while (!atomic_load(&host->stop))
            take_turn(host);
        host_marks_check(host, clock_now().mono_ns, true);
        engine_drain(host->turn.engine);
        snapshot_publish(host, clock_now(), true);
        int64_t until_ns = clock_now().mono_ns + STOP_GRACE_NS;
        while (engine_pending(host->turn.engine) + clusters_pending(host) > 0 && clock_now().mono_ns < until_ns)
            take_turn(host);
        election_thread_leave(host->election, STOP_LEAVE_NS);
    }
    queries_close(host->queries);
    last_words_stop(host->words);
    clusters_stop(host);
    log_plain(LOG_INFO, "stopped");
    return error;
}
