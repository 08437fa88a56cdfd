// SPDX-License-Identifier: Apache-2.0
// The table of clusters. A number is free for reuse after the last reference to its former worker.
#include "core/base/thread.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

static const char former[] = "a former worker";

static struct error *grow_clusters(struct host *host, size_t count) {
    pthread_mutex_lock(&host->snapshot_mutex); // other threads read the table
    struct host_cluster **clusters = realloc(host->clusters, count * sizeof *clusters);
    if (clusters)
        host->clusters = clusters;
    pthread_mutex_unlock(&host->snapshot_mutex);
    const char **names = realloc(host->names, count * sizeof *names);
    if (names)
        host->names = names;
    struct host_cluster *cluster = calloc(1, sizeof *cluster);
    struct error *error = clusters && names && cluster ? NULL : error_no_memory();
    if (!error && host->inbox)
        error = inbox_grow(host->inbox, count);
    host->turn.dispatch.names = host->names; // which may have moved
    if (error) {
        free(cluster);
        return error;
    }
    *cluster = (struct host_cluster){.index = count - 1, .open_at_ns = CLOCK_NEVER};
    clusters[count - 1] = cluster;
    names[count - 1] = former;
    host->n_clusters = count;
    return NULL;
}

static struct host_cluster *take_vacant(struct host *host) {
    for (size_t c = 1; c < host->n_clusters; c++)
        if (host->clusters[c]->state == CLUSTER_VACANT)
            return host->clusters[c];
    struct error *error = grow_clusters(host, host->n_clusters + 1);
    if (!error)
        return host->clusters[host->n_clusters - 1];
    error_free(error);
    return NULL;
}

static bool name_cluster(struct host *host, struct host_cluster *cluster, const char *name) {
    cluster->name = strdup(name);
    if (!cluster->name)
        return false;
    cluster->state = CLUSTER_USED;
    host->names[cluster->index] = cluster->name;
    return true;
}

struct host_cluster *clusters_add(struct host *host, struct worker_spec *spec) {
    struct host_cluster *cluster = take_vacant(host);
    if (!cluster || !name_cluster(host, cluster, spec->settings.name))
        return NULL;
    cluster->spec = *spec;
    cluster->open_at_ns = 0;
    *spec = (struct worker_spec){0};
    return cluster;
}

void clusters_vacate(struct host *host, struct host_cluster *cluster) {
    host->names[cluster->index] = former;
    worker_spec_clear(&cluster->spec);
    worker_settings_clear(&cluster->posted);
    free(cluster->name);
    AUTO_LOCK(&host->snapshot_mutex); // other threads read the meter
    *cluster = (struct host_cluster){.index = cluster->index, .open_at_ns = CLOCK_NEVER};
}

struct error *clusters_init(struct host *host) {
    struct error *error = grow_clusters(host, 1);
    if (!error && !name_cluster(host, host->clusters[ENGINE_MANAGEMENT], "management"))
        error = error_no_memory();
    for (size_t i = 0; i < host->config->n_workers && !error; i++) {
        struct worker_spec spec;
        if (!worker_spec_copy(&host->config->workers[i], &spec))
            return error_no_memory();
        if (!clusters_add(host, &spec))
            error = error_no_memory();
        worker_spec_clear(&spec);
    }
    return error;
}

struct error *clusters_open_management(struct host *host) {
    struct host_cluster *cluster = host->clusters[ENGINE_MANAGEMENT];
    struct error *error = cluster_thread_open(host, &cluster->thread);
    host->management = cluster->thread;
    return error;
}

bool clusters_deliver(void *ctx, struct command_batch *batch) {
    struct host *host = ctx;
    struct cluster_thread *thread = host->clusters[batch->cluster]->thread;
    return thread && cluster_thread_deliver(thread, batch);
}

size_t clusters_pending(const struct host *host) {
    size_t count = 0;
    for (size_t c = 0; c < host->n_clusters; c++)
        count += host->clusters[c]->thread ? atomic_load(&host->clusters[c]->thread->pending) : 0;
    return count;
}

void clusters_stop(struct host *host) {
    if (host->inbox)
        inbox_close(host->inbox);
    for (size_t c = 0; c < host->n_clusters; c++)
        if (host->clusters[c]->thread)
            atomic_store(&host->clusters[c]->thread->stop, true);
    for (size_t c = 0; c < host->n_clusters; c++) {
        const struct host_cluster *cluster = host->clusters[c];
        struct cluster_thread *const threads[] = {cluster->thread, cluster->replacement, cluster->opening};
        for (size_t t = 0; t < 3; t++)
            if (threads[t])
                cluster_thread_stop(threads[t]);
    }
    for (struct cluster_thread *thread = host->closing; thread; thread = thread->next)
        cluster_thread_stop(thread);
}

void clusters_free(struct host *host) {
    clusters_stop(host);
    for (size_t c = 0; c < host->n_clusters; c++) {
        cluster_thread_free(host->clusters[c]->thread);
        cluster_thread_free(host->clusters[c]->replacement);
        cluster_thread_free(host->clusters[c]->opening);
        worker_spec_clear(&host->clusters[c]->spec);
        worker_settings_clear(&host->clusters[c]->posted);
        free(host->clusters[c]->name);
        free(host->clusters[c]);
    }
    for (struct cluster_thread *thread = host->closing, *next; thread; thread = next) {
        next = thread->next;
        cluster_thread_free(thread);
    }
    free(host->clusters);
    free(host->names);
}
