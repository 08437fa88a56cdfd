// SPDX-License-Identifier: Apache-2.0
// The cluster threads: opening, closing and delivering to them.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <unistd.h>

#define OPEN_RETRY_FIRST_NS CLOCK_SECOND      // until an unusable kubeconfig is read again, doubling
#define OPEN_RETRY_MAX_NS (30 * CLOCK_SECOND) // up to this

struct error *clusters_init(struct host *host) {
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

void clusters_free(struct host *host) {
    for (size_t c = 0; host->clusters && c < host->n_clusters; c++) {
        if (host->clusters[c].loop)
            loop_stop(host->clusters[c].loop);
        guests_stop(&host->clusters[c]);
        outbox_free(&host->clusters[c].outbox);
        connection_close(&host->clusters[c].connection);
    }
    free(host->clusters);
    free(host->names);
}

static void post_event(void *ctx, struct engine_event *event) {
    struct host_cluster *cluster = ctx;
    event->received_ns = clock_now().mono_ns;
    outbox_put(&cluster->outbox, event, event->echo, event->received_ns);
}

static int64_t tick_cluster(void *ctx, struct moment now) {
    struct host_cluster *cluster = ctx;
    int64_t next_ns = CLOCK_NEVER;
    if (cluster->index == ENGINE_MANAGEMENT && !cluster->link)
        next_ns = startup_tick(cluster->host->startup, &cluster->connection, now);
    if (cluster->link) {
        next_ns = link_tick(cluster->link, now);
        atomic_store(&cluster->pending, link_pending(cluster->link));
    }
    if (cluster->index == ENGINE_MANAGEMENT)
        next_ns = clock_earlier(next_ns, guests_tick(cluster, now));
    return clock_earlier(next_ns, outbox_tick(&cluster->outbox, clock_now().mono_ns));
}

struct error *clusters_open(struct host_cluster *cluster) {
    struct error *error = connection_load(&cluster->connection, cluster->config, clock_now().wall_ns);
    error = error_wrap(error, "cluster %s", cluster->name);
    outbox_init(&cluster->outbox, cluster->host->inbox);
    if (!error)
        error = connection_open(&cluster->connection, &cluster->budget);
    if (!error)
        error = loop_start(cluster->name, cluster->connection.transport, tick_cluster, cluster, &cluster->loop);
    if (error)
        connection_close(&cluster->connection);
    return error;
}

static void open_link(void *arg) {
    struct host_cluster *cluster = arg;
    struct host *host = cluster->host;
    char instance[128];
    if (gethostname(instance, sizeof instance) != 0)
        text_copy(instance, sizeof instance, "wharf");
    instance[sizeof instance - 1] = '\0';
    struct link_options options = {.cluster = cluster->index,
                                   .name = cluster->name,
                                   .transport = cluster->connection.transport,
                                   .budget = &cluster->budget,
                                   .meter = &cluster->meter,
                                   .origin = startup_origin(host->startup),
                                   .controller_name = host->config->controller_name,
                                   .instance = instance,
                                   .kinds = host->adapters->kinds,
                                   .n_kinds = host->adapters->n_kinds,
                                   .watch_list = true,
                                   .seed = random_system(),
                                   .post = post_event,
                                   .ctx = cluster};
    if (cluster->index == ENGINE_MANAGEMENT)
        startup_stop(host->startup);
    struct error *error = link_new(&options, &cluster->link);
    if (error)
        log_fields(LOG_ERROR, "cluster cannot be watched", {"cluster", cluster->name}, {"error", error_text(error)});
    error_free(error);
}

void clusters_watch(struct host_cluster *cluster) {
    loop_post(cluster->loop, open_link, cluster);
}

static void close_link(void *arg) {
    struct host_cluster *cluster = arg;
    if (cluster->index == ENGINE_MANAGEMENT)
        startup_stop(cluster->host->startup);
    guests_stop(cluster);
    link_free(cluster->link);
    cluster->link = NULL;
}

void clusters_stop(struct host *host) {
    atomic_store(&host->closing, true);
    inbox_close(host->inbox);
    for (size_t c = 0; c < host->n_clusters; c++) {
        struct host_cluster *cluster = &host->clusters[c];
        if (!cluster->loop)
            continue;
        loop_post(cluster->loop, close_link, cluster);
        loop_stop(cluster->loop);
        outbox_free(&cluster->outbox);
        cluster->loop = NULL;
    }
}

static void lost_cluster(struct host_cluster *cluster, const struct error *error) {
    struct host *host = cluster->host;
    for (size_t k = 0; k < host->adapters->n_kinds; k++)
        inbox_post_now(host->inbox, &(struct engine_event){.type = EVENT_STATE,
                                                           .cluster = cluster->index,
                                                           .kind = k,
                                                           .watch = {REFLECTOR_LOST, error->message}});
}

static void cannot_open(struct host_cluster *cluster, const struct error *error, struct moment now) {
    log_fields(LOG_ERROR, "worker cannot be used", {"cluster", cluster->name}, {"error", error_text(error)});
    lost_cluster(cluster, error);
    int64_t wait_ns = cluster->open_wait_ns > 0 ? 2 * cluster->open_wait_ns : OPEN_RETRY_FIRST_NS;
    cluster->open_wait_ns = wait_ns < OPEN_RETRY_MAX_NS ? wait_ns : OPEN_RETRY_MAX_NS;
    cluster->open_at_ns = now.mono_ns + cluster->open_wait_ns;
}

void clusters_open_workers(struct host *host, struct moment now) {
    for (size_t c = 1; c < host->n_clusters; c++) {
        struct host_cluster *cluster = &host->clusters[c];
        if (cluster->loop || now.mono_ns < cluster->open_at_ns)
            continue;
        struct error *error = clusters_open(cluster);
        if (error) {
            cannot_open(cluster, error, now);
        } else {
            cluster->open_at_ns = CLOCK_NEVER;
            clusters_watch(cluster);
        }
        error_free(error);
    }
}

int64_t clusters_next_open_ns(const struct host *host) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t c = 1; c < host->n_clusters; c++)
        if (host->clusters[c].open_at_ns < next_ns)
            next_ns = host->clusters[c].open_at_ns;
    return next_ns;
}

struct delivery {
    struct host_cluster *cluster;
    struct command_batch *batch;
};

static void run_batch(void *arg) {
    struct delivery *delivery = arg;
    struct host_cluster *cluster = delivery->cluster;
    command_batch_run(delivery->batch, cluster->link, clock_now());
    if (cluster->link)
        atomic_store(&cluster->pending, link_pending(cluster->link));
    free(delivery);
}

bool clusters_deliver(void *ctx, struct command_batch *batch) {
    struct host *host = ctx;
    struct host_cluster *cluster = &host->clusters[batch->cluster];
    struct delivery *delivery = cluster->loop ? malloc(sizeof *delivery) : NULL;
    if (!delivery)
        return false;
    *delivery = (struct delivery){cluster, batch};
    if (loop_post(cluster->loop, run_batch, delivery))
        return true;
    free(delivery);
    return false;
}

size_t clusters_pending(const struct host *host) {
    size_t count = 0;
    for (size_t c = 0; c < host->n_clusters; c++)
        count += atomic_load(&host->clusters[c].pending);
    return count;
}
