// SPDX-License-Identifier: Apache-2.0
// The table of clusters, and the workers that come and go while the host runs: compares the wanted set with the
// existing clusters. A number is free for reuse after the last reference to its former worker.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/host_internal.h"

#define LEFT_LOOK_NS CLOCK_SECOND // between checks of a leaving worker

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

// Gives the worker a number and takes its spec; NULL when out of memory.
static struct host_cluster *add_cluster(struct host *host, struct worker_spec *spec) {
    struct host_cluster *cluster = take_vacant(host);
    if (!cluster || !name_cluster(host, cluster, spec->settings.name))
        return NULL;
    cluster_map_choose(cluster, spec);
    cluster->spec = *spec;
    cluster->open_at_ns = 0;
    *spec = (struct worker_spec){0};
    return cluster;
}

static void vacate(struct host *host, struct host_cluster *cluster) {
    host->names[cluster->index] = former;
    worker_spec_clear(&cluster->spec);
    worker_settings_clear(&cluster->posted);
    free(cluster->next_map);
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
        if (!add_cluster(host, &spec))
            error = error_no_memory();
        worker_spec_clear(&spec);
    }
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
        free(host->clusters[c]->next_map);
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

// Workers ----------------------------------------------------------------------------------------------------------

void host_set_workers(struct host *host, struct worker_spec *specs, size_t count, enum removal removal) {
    pthread_mutex_lock(&host->wanted_mutex);
    struct wanted_workers old = host->wanted;
    host->wanted = (struct wanted_workers){specs, count, removal, true};
    pthread_mutex_unlock(&host->wanted_mutex);
    worker_specs_free(old.specs, old.count);
    inbox_poke(host->inbox);
}

void workers_free(struct host *host) {
    worker_specs_free(host->wanted.specs, host->wanted.count);
    worker_specs_free(host->waiting, host->n_waiting);
}

static enum worker_policy policy_of(const struct host_cluster *cluster) {
    enum drain drain = cluster->spec.drain;
    if (cluster->state == CLUSTER_LEAVING) // drained by moving already: goes on
        return cluster->removal == REMOVAL_MOVE || drain == DRAIN_MOVE ? WORKER_DRAIN_MOVE : WORKER_DRAIN_FINISH;
    if (drain != DRAIN_NO)
        return drain == DRAIN_MOVE ? WORKER_DRAIN_MOVE : WORKER_DRAIN_FINISH;
    return cluster->spec.cordoned || cluster_map_changes(cluster) ? WORKER_CORDONED : WORKER_ACTIVE;
}

static bool is_same_connection(const struct worker_spec *a, const struct worker_spec *b) {
    const char *a_context = a->context ? a->context : "", *b_context = b->context ? b->context : "";
    return text_equal(a->kubeconfig_path, b->kubeconfig_path) && text_equal(a->kubeconfig_text, b->kubeconfig_text) &&
           strcmp(a_context, b_context) == 0 && a->revision == b->revision;
}

static struct host_cluster *find_worker(const struct host *host, const char *name) {
    for (size_t c = 1; c < host->n_clusters; c++)
        if (host->clusters[c]->state != CLUSTER_VACANT && strcmp(host->clusters[c]->name, name) == 0)
            return host->clusters[c];
    return NULL;
}

static void update_worker(struct host *host, struct host_cluster *cluster, struct worker_spec *spec) {
    if (cluster->state == CLUSTER_LEAVING)
        log_fields(LOG_INFO, "the worker was configured again: removal cancelled", {"cluster", cluster->name});
    cluster->state = CLUSTER_USED;
    if (is_same_connection(&cluster->spec, spec)) {
        cluster_threads_recheck(cluster);
    } else if (!cluster_threads_renew(host, cluster, spec)) {
        cluster->reopen = true;
        cluster->open_at_ns = cluster->open_wait_ns = 0;
    }
    if (cluster->spec.capacity != spec->capacity) { // settings_tick configures the connection
        host->configured++;
        host->all_configured = false;
    }
    cluster_map_choose(cluster, spec);
    worker_spec_clear(&cluster->spec);
    cluster->spec = *spec;
    *spec = (struct worker_spec){0};
}

// True: the worker has a number now, or gets none. A former worker of the same name has to be removed first.
static bool place_spec(struct host *host, struct worker_spec *spec) {
    struct host_cluster *cluster = find_worker(host, spec->settings.name);
    if (cluster && cluster->state == CLUSTER_LEFT)
        return false;
    if (cluster)
        update_worker(host, cluster, spec);
    return cluster || add_cluster(host, spec);
}

static void place_waiting(struct host *host) {
    size_t left = 0;
    for (size_t i = 0; i < host->n_waiting; i++) {
        struct worker_spec *spec = &host->waiting[i];
        if (!place_spec(host, spec)) {
            host->waiting[left] = *spec;
            if (left++ != i)
                *spec = (struct worker_spec){0};
        }
    }
    host->n_waiting = left;
}

static bool is_among(const struct host *host, const char *name) {
    for (size_t i = 0; i < host->n_waiting; i++)
        if (strcmp(host->waiting[i].settings.name, name) == 0)
            return true;
    return false;
}

static void begin_removals(struct host *host, enum removal removal) {
    static const char *const words[] = {
        [REMOVAL_FINISH] = "the worker leaves: nothing new is placed there, and running workloads finish there first",
        [REMOVAL_MOVE] = "the worker leaves: running workloads move to other workers first",
        [REMOVAL_ABANDON] = "the worker leaves at once"};
    for (size_t c = 1; c < host->n_clusters; c++) {
        struct host_cluster *cluster = host->clusters[c];
        if ((cluster->state != CLUSTER_USED && cluster->state != CLUSTER_LEAVING) || is_among(host, cluster->name))
            continue;
        if (cluster->state == CLUSTER_USED || cluster->removal != removal)
            log_fields(LOG_INFO, words[removal], {"cluster", cluster->name});
        cluster->state = CLUSTER_LEAVING;
        cluster->removal = removal;
        host->left_at_ns = 0;
    }
}

static void receive_wanted(struct host *host) {
    pthread_mutex_lock(&host->wanted_mutex);
    struct wanted_workers wanted = host->wanted;
    host->wanted = (struct wanted_workers){.specs = NULL};
    pthread_mutex_unlock(&host->wanted_mutex);
    if (!wanted.is_new)
        return;
    worker_specs_free(host->waiting, host->n_waiting);
    host->waiting = wanted.specs;
    host->n_waiting = wanted.count;
    begin_removals(host, wanted.removal);
}

// The settings for the engine; texts belong to the spec.
static struct worker_settings settings_of(const struct host_cluster *cluster) {
    struct worker_settings settings = cluster->spec.settings;
    settings.policy = policy_of(cluster);
    // No log lines: at the start all workers are cordoned for a moment.
    settings.quiet = cluster->spec.awaits_overrides || (cluster->posted_awaiting && settings.policy == WORKER_ACTIVE);
    return settings;
}

static void post_worker(struct host *host, const struct host_cluster *cluster, const struct worker_settings *settings) {
    inbox_post_now(host->inbox,
                   &(struct engine_event){.type = EVENT_WORKER, .cluster = cluster->index, .worker = *settings});
}

// Before the connection posts anything. Without memory, the next turn posts the settings.
static void post_settings(struct host *host, struct host_cluster *cluster) {
    bool known = cluster->joined &&
                 (!inbox_is_empty(host->inbox, cluster->index) || engine_has_worker(host->turn.engine, cluster->index));
    const struct worker_settings settings = settings_of(cluster);
    bool awaits_overrides = cluster->spec.awaits_overrides;
    if (cluster->posted_awaiting && !awaits_overrides && settings.policy == WORKER_CORDONED) // no change for the engine
        log_fields(LOG_INFO, "the worker is cordoned: nothing new is placed there", {"cluster", cluster->name});
    cluster->posted_awaiting &= awaits_overrides || settings.policy == WORKER_ACTIVE;
    if (known && worker_settings_equal(&cluster->posted, &settings))
        return;
    post_worker(host, cluster, &settings);
    worker_settings_clear(&cluster->posted);
    cluster->joined = true;
    cluster->posted_awaiting = awaits_overrides;
    (void)worker_settings_copy(&settings, &cluster->posted);
}

// Records the identity that the engine has found.
static void record_identity(struct host *host, struct host_cluster *cluster) {
    const struct worker_spec *spec = &cluster->spec;
    const char *uid = cluster->state == CLUSTER_LEFT ? NULL : engine_identity(host->turn.engine, cluster->index);
    const char *source = worker_source_has_objects(spec->source) ? spec->origin_text : NULL;
    const char *names = spec->settings.namespace_map;
    uint64_t found = text_hash(text_hash(TEXT_HASH, uid ? uid : "left"), source ? source : "");
    found = names ? text_hash(found, names) : found;
    if (cluster->recorded == found)
        return;
    cluster->recorded = found;
    if (worker_records_set(host->records, cluster->name, uid, source, names))
        host_step_watchers(host);
}

static void remove_worker(struct host *host, struct host_cluster *cluster) {
    cluster->state = CLUSTER_LEFT;
    if (cluster->joined)
        post_worker(host, cluster, &(struct worker_settings){.name = cluster->name, .policy = WORKER_LEFT});
    record_identity(host, cluster);
    cluster_threads_close(host, cluster);
}

// The line of the inbox is empty: the engine has forgotten the worker, and its connections post nothing more.
static bool is_over(const struct host *host, const struct host_cluster *cluster) {
    return cluster_threads_are_closed(host, cluster->index) && inbox_is_empty(host->inbox, cluster->index) &&
           !engine_has_worker(host->turn.engine, cluster->index);
}

static void tick_worker(struct host *host, struct host_cluster *cluster, struct moment now, bool look) {
    bool leaves = cluster->state == CLUSTER_LEAVING;
    bool may_leave =
        leaves && look &&
        (cluster->removal == REMOVAL_ABANDON || !cluster->joined ||
         (inbox_is_empty(host->inbox, cluster->index) && engine_may_leave(host->turn.engine, cluster->index)));
    if (may_leave)
        remove_worker(host, cluster);
    if (cluster->state == CLUSTER_LEAVING || cluster->state == CLUSTER_LEFT)
        host->left_at_ns = clock_earlier(host->left_at_ns, now.mono_ns + LEFT_LOOK_NS);
    if (cluster->state == CLUSTER_USED || cluster->state == CLUSTER_LEAVING) {
        cluster_map_tick(host, cluster, now, look);
        post_settings(host, cluster);
        record_identity(host, cluster);
        cluster_threads_open(host, cluster, now);
    } else if (cluster->state == CLUSTER_LEFT && is_over(host, cluster)) {
        vacate(host, cluster);
    }
}

void workers_tick(struct host *host, struct moment now) {
    receive_wanted(host);
    settings_receive(host); // host_configure is called before host_set_workers
    cluster_threads_reap(host);
    bool look = now.mono_ns >= host->left_at_ns;
    if (look)
        host->left_at_ns = CLOCK_NEVER;
    for (int pass = 0; pass < 2; pass++) { // a number may have become vacant in the first one
        place_waiting(host);
        for (size_t c = 1; c < host->n_clusters; c++)
            tick_worker(host, host->clusters[c], now, look);
    }
}

int64_t workers_next_ns(const struct host *host) {
    int64_t next_ns = host->left_at_ns;
    for (size_t c = 1; c < host->n_clusters; c++)
        if (!host->clusters[c]->opening)
            next_ns = clock_earlier(next_ns, host->clusters[c]->open_at_ns);
    return next_ns;
}
