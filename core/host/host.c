// SPDX-License-Identifier: Apache-2.0
#include "core/host/host.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/access.h"
#include "core/host/host_internal.h"
#include "core/host/memory_trim.h"
#include "core/kube/curl_transport.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INBOX_MAX 1024                   // events of one cluster that wait for the engine
#define STOP_GRACE_NS (8 * CLOCK_SECOND) // for writes in flight when stopping; less than SIGNALS_STOP_NS
#define PUBLISH_NS (250 * CLOCK_MS)      // how old a snapshot may be
#define TRIM_EVENTS 2000                 // so many events make it worth giving memory back
#define TRIM_AFTER_NS (4 * CLOCK_SECOND)
#define OPEN_RETRY_FIRST_NS CLOCK_SECOND      // until a kubeconfig that could not be used is read again, doubling
#define OPEN_RETRY_MAX_NS (30 * CLOCK_SECOND) // up to this

static void post_event(void *ctx, struct engine_event *event) {
    struct host_cluster *cluster = ctx;
    event->received_ns = clock_now().mono_ns;
    inbox_post(cluster->host->inbox, event);
}

static int64_t tick_cluster(void *ctx, struct moment now) {
    struct host_cluster *cluster = ctx;
    int64_t next_ns = host_origin_tick(cluster, now), seal_ns = host_seal_tick(cluster, now);
    next_ns = seal_ns < next_ns ? seal_ns : next_ns;
    if (cluster->link) {
        int64_t at_ns = link_tick(cluster->link, now);
        next_ns = at_ns < next_ns ? at_ns : next_ns;
        atomic_store(&cluster->pending, link_pending(cluster->link));
    }
    return next_ns;
}

// Makes the cluster's link on its own thread.
static void open_link(void *arg) {
    struct host_cluster *cluster = arg;
    struct host *host = cluster->host;
    char instance[128];
    if (gethostname(instance, sizeof instance) != 0)
        text_copy(instance, sizeof instance, "wharf");
    instance[sizeof instance - 1] = '\0';
    struct link_options options = {.cluster = cluster->index,
                                   .name = cluster->name,
                                   .transport = cluster->transport,
                                   .budget = &cluster->budget,
                                   .origin = host->origin,
                                   .controller_name = host->config->controller_name,
                                   .instance = instance,
                                   .kinds = host->adapters->kinds,
                                   .n_kinds = host->adapters->n_kinds,
                                   .qps = host->config->qps,
                                   .burst = host->config->burst,
                                   .watch_list = true,
                                   .seed = random_system(),
                                   .post = post_event,
                                   .ctx = cluster};
    struct error *error = link_new(&options, clock_now(), &cluster->link);
    if (error)
        log_fields(LOG_ERROR, "cluster cannot be watched", {"cluster", cluster->name}, {"error", error_text(error)});
    error_free(error);
}

static void close_link(void *arg) {
    struct host_cluster *cluster = arg;
    host_origin_stop(cluster);
    host_seal_stop(cluster);
    link_free(cluster->link);
    cluster->link = NULL;
}

// Reads the kubeconfig and starts the thread. What fails leaves the cluster closed.
static struct error *open_cluster(struct host_cluster *cluster) {
    struct error *error = access_load(cluster->config, clock_now().wall_ns, &cluster->endpoint);
    error = error_wrap(error, "cluster %s", cluster->name);
    if (!error)
        error = curl_transport_new(cluster->endpoint, "wharf/" WHARF_VERSION, &cluster->transport);
    if (!error)
        curl_transport_limit(cluster->transport, &cluster->budget);
    if (!error)
        error = loop_start(cluster->name, cluster->transport, tick_cluster, cluster, &cluster->loop);
    if (error) {
        if (cluster->transport)
            cluster->transport->ops->free(cluster->transport);
        cluster->transport = NULL;
        endpoint_free(cluster->endpoint);
        cluster->endpoint = NULL;
    }
    return error;
}

static void lost_cluster(struct host_cluster *cluster, const struct error *error) {
    struct host *host = cluster->host;
    for (size_t k = 0; k < host->adapters->n_kinds; k++)
        inbox_post_now(host->inbox, &(struct engine_event){.type = EVENT_STATE,
                                                           .cluster = cluster->index,
                                                           .kind = k,
                                                           .watch = {REFLECTOR_LOST, error->message}});
}

// A worker that cannot even be tried is as good as one that cannot be reached, and is tried again.
static void open_workers(struct host *host, struct moment now) {
    for (size_t c = 1; c < host->n_clusters; c++) {
        struct host_cluster *cluster = &host->clusters[c];
        if (cluster->loop || now.mono_ns < cluster->open_at_ns)
            continue;
        struct error *error = open_cluster(cluster);
        if (error) {
            log_fields(LOG_ERROR, "worker cannot be used", {"cluster", cluster->name}, {"error", error_text(error)});
            lost_cluster(cluster, error);
            int64_t wait_ns = cluster->open_wait_ns > 0 ? 2 * cluster->open_wait_ns : OPEN_RETRY_FIRST_NS;
            cluster->open_wait_ns = wait_ns < OPEN_RETRY_MAX_NS ? wait_ns : OPEN_RETRY_MAX_NS;
            cluster->open_at_ns = now.mono_ns + cluster->open_wait_ns;
        } else {
            cluster->open_at_ns = CLOCK_NEVER;
            loop_post(cluster->loop, open_link, cluster);
        }
        error_free(error);
    }
}

static int64_t next_open_ns(const struct host *host) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t c = 1; c < host->n_clusters; c++)
        if (host->clusters[c].open_at_ns < next_ns)
            next_ns = host->clusters[c].open_at_ns;
    return next_ns;
}

static struct error *init_clusters(struct host *host) {
    const struct config *config = host->config;
    host->n_clusters = config->n_workers + 1;
    host->clusters = calloc(host->n_clusters, sizeof *host->clusters);
    host->names = calloc(host->n_clusters, sizeof *host->names);
    if (!host->clusters || !host->names)
        return error_no_memory();
    for (size_t c = 0; c < host->n_clusters; c++) {
        const struct config_cluster *cluster = c == ENGINE_MANAGEMENT ? &config->management : &config->workers[c - 1];
        host->names[c] = c == ENGINE_MANAGEMENT ? "management" : cluster->name;
        host->clusters[c] = (struct host_cluster){.host = host, .index = c, .name = host->names[c], .config = cluster};
        budget_init(&host->clusters[c].budget, config->memory_per_cluster, config->max_object_size,
                    config->max_object_nodes, &host->closing);
    }
    return NULL;
}

struct error *host_new(const struct config *config, const struct adapters *adapters, struct host **out) {
    *out = NULL;
    struct host *host = calloc(1, sizeof *host);
    if (!host)
        return error_no_memory();
    host->config = config;
    host->adapters = adapters;
    host->trim_at_ns = CLOCK_NEVER;
    host->snapshot.started_wall_ns = clock_now().wall_ns;
    pthread_mutex_init(&host->snapshot_mutex, NULL);
    struct error *error = init_clusters(host);
    if (!error)
        error = inbox_new(host->n_clusters, INBOX_MAX, host->clusters[0].budget.max_queued, &host->inbox);
    if (!error && config->origin && !(host->origin = strdup(config->origin)))
        error = error_no_memory();
    if (!error)
        error = host_seal_begin(host);
    if (!error)
        error = open_cluster(&host->clusters[ENGINE_MANAGEMENT]);
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
    for (size_t c = 0; host->clusters && c < host->n_clusters; c++) {
        struct host_cluster *cluster = &host->clusters[c];
        if (cluster->loop)
            loop_stop(cluster->loop);
        if (cluster->transport)
            cluster->transport->ops->free(cluster->transport);
        endpoint_free(cluster->endpoint);
        free(cluster->outbox);
        free(cluster->notes);
    }
    engine_free(host->engine);
    inbox_free(host->inbox);
    update_free(&host->update);
    stats_free(&host->snapshot.stats);
    pthread_mutex_destroy(&host->snapshot_mutex);
    free(host->origin);
    seal_keys_free(host->seals);
    free(host->clusters);
    free(host->names);
    free(host);
}

void host_stop(struct host *host) {
    atomic_store(&host->stop, true);
    inbox_poke(host->inbox);
}

#define ORPHAN_SHARE ((size_t)6 << 10) // of a cluster's memory, for each mirror without a workload

static struct error *start_engine(struct host *host, struct moment now) {
    struct engine_options options = {.origin = host->origin,
                                     .seals = host->seals,
                                     .adopt_unsealed = host->config->seal.adopt_unsealed,
                                     .worker_names = host->names + 1,
                                     .n_workers = host->n_clusters - 1,
                                     .kinds = host->adapters->kinds,
                                     .n_kinds = host->adapters->n_kinds,
                                     .create_namespaces = host->config->create_namespaces,
                                     .kueue_carried = host->config->kueue_carried,
                                     .mirror_finalizer = host->config->mirror_finalizer,
                                     .worker_lost_timeout_ns = host->config->worker_lost_timeout_ns,
                                     .mirror_retention_ns = host->config->mirror_retention_ns,
                                     .management_uid = host->config->origin ? NULL : host->origin,
                                     .max_orphans = host->config->memory_per_cluster / ORPHAN_SHARE,
                                     .mass_deletion_max = host->config->mass_deletion_max,
                                     .mass_deletion_percent = host->config->mass_deletion_percent,
                                     .orphan_grace_ns = host->config->orphan_grace_ns,
                                     .seed = random_system()};
    struct error *error = engine_new(&options, now, &host->engine);
    if (error)
        return error;
    log_fields(LOG_INFO, "started", {"origin", host->origin}, {"controller", host->config->controller_name});
    loop_post(host->clusters[ENGINE_MANAGEMENT].loop, open_link, &host->clusters[ENGINE_MANAGEMENT]);
    return NULL;
}

static void publish(struct host *host, struct moment now, bool force) {
    if (!force && now.mono_ns < host->published_ns + PUBLISH_NS) {
        host->publish_due = true;
        return;
    }
    struct stats copy;
    if (stats_copy(engine_stats(host->engine), &copy))
        return;
    bool in_sync = engine_in_sync(host->engine);
    if (in_sync && !host->trimmed) {
        memory_trim_all();
        host->trimmed = true;
        log_plain(LOG_INFO, "in sync");
    }
    pthread_mutex_lock(&host->snapshot_mutex);
    stats_free(&host->snapshot.stats);
    host->snapshot.stats = copy;
    host->snapshot.running = true;
    host->snapshot.in_sync = in_sync;
    host->snapshot.stopping = atomic_load(&host->stop);
    pthread_mutex_unlock(&host->snapshot_mutex);
    host->published_ns = now.mono_ns;
    host->publish_due = false;
}

static void log_contact(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {
        [CONTACT_UNKNOWN] = "nothing is known of the cluster",
        [CONTACT_GOOD] = "the cluster answers",
        [CONTACT_SUSPECT] = "the cluster is suspect: it gets no new work",
        [CONTACT_LOST] = "the cluster is lost: it does not answer",
    };
    log_fields(event->contact.state == CONTACT_GOOD ? LOG_INFO : LOG_WARN, words[event->contact.state],
               {"cluster", host->names[event->cluster]}, {"error", event->contact.problem});
}

static void log_event(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {[REFLECTOR_STARTING] = "starting",
                                        [REFLECTOR_CONNECTED] = "connected",
                                        [REFLECTOR_LOST] = "lost",
                                        [REFLECTOR_ABSENT] = "kind is not served"};
    if (event->type == EVENT_CONTACT)
        log_contact(host, event);
    if (event->type == EVENT_REWOUND)
        log_fields(LOG_WARN, "the cluster's versions went back", {"cluster", host->names[event->cluster]},
                   {"kind", host->adapters->kinds[event->kind]->plural_group}, {"error", event->problem});
    if (event->type != EVENT_STATE)
        return;
    bool good = event->watch.state == REFLECTOR_CONNECTED || event->watch.state == REFLECTOR_STARTING;
    log_fields(good ? LOG_INFO : LOG_WARN, words[event->watch.state], {"cluster", host->names[event->cluster]},
               {"kind", host->adapters->kinds[event->kind]->plural_group}, {"error", event->watch.problem});
}

// After much has gone through, and then nothing for a while, free memory is given back.
static void trim_when_idle(struct host *host, struct moment now, size_t events) {
    host->churn += events;
    if (events > 0)
        host->trim_at_ns = host->churn >= TRIM_EVENTS ? now.mono_ns + TRIM_AFTER_NS : CLOCK_NEVER;
    if (now.mono_ns < host->trim_at_ns)
        return;
    memory_trim_heap();
    host->churn = 0;
    host->trim_at_ns = CLOCK_NEVER;
}

// One turn: waits, then feeds the engine and sends what it asks for.
static void turn(struct host *host) {
    struct moment now = clock_now();
    size_t events = 0;
    int64_t until_ns = host->update.wake_ns;
    int64_t open_ns = next_open_ns(host),
            publish_ns = host->publish_due ? host->published_ns + PUBLISH_NS : CLOCK_NEVER;
    until_ns = open_ns < until_ns ? open_ns : until_ns;
    until_ns = publish_ns < until_ns ? publish_ns : until_ns;
    until_ns = host->trim_at_ns < until_ns ? host->trim_at_ns : until_ns;
    if (atomic_load(&host->stop) && now.mono_ns + 50 * CLOCK_MS < until_ns)
        until_ns = now.mono_ns + 50 * CLOCK_MS;
    heartbeat_wait(&host->heart, now.mono_ns, until_ns);
    struct inbox_item *items = inbox_take(host->inbox, until_ns);
    heartbeat_work(&host->heart, clock_now().mono_ns);
    if (!atomic_load(&host->stop))
        open_workers(host, clock_now());
    for (struct inbox_item *item = items, *next; item; item = next) {
        next = item->next;
        events++;
        log_event(host, &item->event);
        item->event.now = clock_now();
        heartbeat_work(&host->heart, item->event.now.mono_ns);
        engine_step(host->engine, &item->event, &host->update);
        inbox_item_free(item);
        if (host->update.n_commands >= 64)
            host_dispatch(host);
    }
    now = clock_now();
    heartbeat_work(&host->heart, now.mono_ns);
    if (!items || host->update.wake_ns <= now.mono_ns)
        engine_step(host->engine, &(struct engine_event){.type = EVENT_TIME, .now = now}, &host->update);
    host_dispatch(host);
    publish(host, now, false);
    trim_when_idle(host, now, events);
}

static size_t in_flight(const struct host *host) {
    size_t count = engine_pending(host->engine);
    for (size_t c = 0; c < host->n_clusters; c++)
        count += atomic_load(&host->clusters[c].pending);
    return count;
}

static void stop_clusters(struct host *host) {
    atomic_store(&host->closing, true);
    inbox_close(host->inbox);
    for (size_t c = 0; c < host->n_clusters; c++) {
        struct host_cluster *cluster = &host->clusters[c];
        if (!cluster->loop)
            continue;
        loop_post(cluster->loop, close_link, cluster);
        loop_stop(cluster->loop);
        cluster->loop = NULL;
    }
}

struct error *host_run(struct host *host) {
    struct error *error = host_wait_for_origin(host);
    if (!error && host->origin && host_seal_is_settled(host))
        error = start_engine(host, clock_now());
    if (!error && host->engine) {
        while (!atomic_load(&host->stop))
            turn(host);
        engine_drain(host->engine);
        publish(host, clock_now(), true);
        int64_t until_ns = clock_now().mono_ns + STOP_GRACE_NS;
        while (in_flight(host) > 0 && clock_now().mono_ns < until_ns)
            turn(host);
    }
    stop_clusters(host);
    log_plain(LOG_INFO, "stopped");
    return error;
}

int64_t host_stalled_ns(struct host *host) {
    return heartbeat_stalled_ns(&host->heart, inbox_waiting_since(host->inbox), clock_now().mono_ns);
}

struct error *host_snapshot(struct host *host, struct host_snapshot *out) {
    pthread_mutex_lock(&host->snapshot_mutex);
    *out = host->snapshot;
    struct error *error = stats_copy(&host->snapshot.stats, &out->stats);
    pthread_mutex_unlock(&host->snapshot_mutex);
    out->stalled_ns = host_stalled_ns(host);
    out->names = host->names;
    out->kinds = (const struct kind *const *)host->adapters->kinds;
    for (size_t k = 0; !error && k < out->stats.n_kinds; k++)
        for (size_t p = 0; p < STATS_PHASES; p++)
            out->workloads += out->stats.kinds[k].phases[p];
    return error;
}

void host_snapshot_free(struct host_snapshot *snapshot) {
    stats_free(&snapshot->stats);
}
