// SPDX-License-Identifier: Apache-2.0
// The connections of the clusters. A worker with other credentials or another address gets a new connection, whose
// watches begin after the last event of the old one, so that no event of the old connection follows one of the new.
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/host/host_internal.h"
#include "core/kube/transport/curl_transport.h"

#define OPEN_RETRY_FIRST_NS CLOCK_SECOND      // until an unusable kubeconfig is read again, doubling
#define OPEN_RETRY_MAX_NS (30 * CLOCK_SECOND) // up to this

static void post_lost(struct host *host, const struct host_cluster *cluster, size_t first, const char *problem) {
    for (size_t k = first; k < host->thread_settings.io.n_kinds; k++)
        inbox_post_now(host->inbox, &(struct engine_event){.type = EVENT_STATE,
                                                           .cluster = cluster->index,
                                                           .kind = k,
                                                           .watch = {REFLECTOR_LOST, problem}});
}

void cluster_threads_lost(struct host *host, size_t first) {
    const struct stats *stats = engine_stats(host->turn.engine);
    for (size_t c = 1; c < host->n_clusters && c < stats->n_clusters; c++)
        if (!stats->clusters[c].vacant && !host->clusters[c]->thread && host->clusters[c]->open_wait_ns > 0)
            post_lost(host, host->clusters[c], first, stats->clusters[c].watches[0].problem);
}

// Takes the error; NULL is allowed.
static void handle_failure(struct host *host, struct host_cluster *cluster, struct error *error, struct moment now) {
    bool has = cluster->thread;
    if (!error)
        return;
    log_fields(LOG_ERROR,
               has ? "the new credentials of the worker cannot be used, the former ones are still in use"
                   : "worker cannot be used",
               {"cluster", cluster->name}, {"from", cluster->spec.origin_text}, {"error", error_text(error)});
    if (!has)
        post_lost(host, cluster, 0, error->message);
    error_free(error);
    if (cluster->reopen) // changed meanwhile
        return;
    int64_t wait_ns = cluster->open_wait_ns > 0 ? 2 * cluster->open_wait_ns : OPEN_RETRY_FIRST_NS;
    cluster->reopen = has;
    cluster->open_wait_ns = wait_ns < OPEN_RETRY_MAX_NS ? wait_ns : OPEN_RETRY_MAX_NS;
    cluster->open_at_ns = now.mono_ns + cluster->open_wait_ns;
}

static void begin_to_close(struct host *host, struct cluster_thread *thread) {
    if (!thread)
        return;
    thread->next = host->closing;
    host->closing = thread;
    cluster_thread_close(thread); // after a failure, cluster_threads_reap tries again
}

// Starts the watches of the open connection at once, or after the present connection has closed.
static void use_opened(struct host *host, struct host_cluster *cluster, struct cluster_thread *thread) {
    cluster->open_wait_ns = 0;
    cluster->watched = true;
    if (!cluster->thread && !cluster->replaced) {
        cluster->thread = thread;
        cluster_thread_watch(thread);
        return;
    }
    log_fields(LOG_INFO, "the connection is replaced", {"cluster", cluster->name}, {"from", cluster->spec.origin_text});
    begin_to_close(host, cluster->replacement);
    cluster->replacement = thread;
    if (cluster->thread)
        cluster->replaced = cluster->thread;
    begin_to_close(host, TAKE(cluster->thread));
}

static void switch_over(struct host_cluster *cluster) {
    if (!cluster->replaced || !atomic_load(&cluster->replaced->quiet))
        return;
    cluster->replaced = NULL;
    cluster->thread = TAKE(cluster->replacement);
    if (cluster->thread)
        cluster_thread_watch(cluster->thread);
}

static void handle_opening(struct host *host, struct host_cluster *cluster, struct moment now) {
    struct error *error = NULL;
    if (!cluster->opening || cluster->spec.awaits_records || !cluster_thread_is_open(cluster->opening, &error))
        return;
    struct cluster_thread *thread = TAKE(cluster->opening);
    bool other_map = !error && !cluster_map_is_of(cluster, thread); // as the record shows
    cluster->reopen |= other_map;
    if (other_map)
        cluster->open_at_ns = 0;
    if (error)
        cluster_thread_free(thread);
    else if (other_map)
        begin_to_close(host, thread); // its loop runs
    else
        use_opened(host, cluster, thread);
    handle_failure(host, cluster, error, now);
}

void cluster_threads_open(struct host *host, struct host_cluster *cluster, struct moment now) {
    switch_over(cluster);
    if (cluster->thread && !cluster->reopen && !cluster->opening &&
        curl_transport_moved(cluster->thread->connection.transport)) {
        cluster->reopen = true;
        cluster->open_at_ns = cluster->open_wait_ns = 0;
    }
    handle_opening(host, cluster, now);
    bool needed = cluster->reopen || (!cluster->thread && !cluster->replacement);
    if (!needed || cluster->opening || now.mono_ns < cluster->open_at_ns)
        return;
    cluster->reopen = false;
    cluster->open_at_ns = CLOCK_NEVER;
    struct error *error = cluster_thread_begin(host, cluster->index, cluster->name, &cluster->spec, &cluster->opening);
    handle_failure(host, cluster, error, now);
}

bool cluster_threads_renew(struct host *host, struct host_cluster *cluster, const struct worker_spec *spec) {
    if (!cluster->thread || cluster->reopen || cluster->opening || cluster->replacement ||
        !connection_renew(&cluster->thread->connection, spec, host_policy(host), clock_now().wall_ns))
        return false;
    log_fields(LOG_INFO, "the credentials of the worker are replaced", {"cluster", cluster->name},
               {"from", spec->origin_text});
    return true;
}

void cluster_threads_recheck(struct host_cluster *cluster) {
    if (cluster->thread)
        curl_transport_recheck(cluster->thread->connection.transport);
}

void cluster_threads_close(struct host *host, struct host_cluster *cluster) {
    begin_to_close(host, TAKE(cluster->thread));
    begin_to_close(host, TAKE(cluster->replacement));
    begin_to_close(host, TAKE(cluster->opening));
    cluster->replaced = NULL;
    cluster->open_at_ns = CLOCK_NEVER;
}

bool cluster_threads_are_closed(const struct host *host, size_t cluster) {
    for (const struct cluster_thread *thread = host->closing; thread; thread = thread->next)
        if (thread->cluster == cluster)
            return false;
    return true;
}

void cluster_threads_reap(struct host *host) {
    for (struct cluster_thread **at = &host->closing; *at;) {
        struct cluster_thread *thread = *at;
        // A cluster that waits for the end of this one first has to notice `quiet`.
        bool awaited = host->clusters[thread->cluster]->replaced == thread;
        if (cluster_thread_close(thread) && atomic_load(&thread->ended) && !awaited) {
            *at = thread->next;
            cluster_thread_reap(thread);
        } else {
            at = &thread->next;
        }
    }
}
