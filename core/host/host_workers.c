// SPDX-License-Identifier: Apache-2.0
// Workers that come and go while the host runs: compares the wanted set with the existing clusters.
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"
#include "core/host/sources/sources.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_LOOK_NS CLOCK_SECOND // between checks of a leaving worker

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
    return cluster->spec.cordoned ? WORKER_CORDONED : WORKER_ACTIVE;
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
    return cluster || clusters_add(host, spec);
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
    uint64_t found = text_hash(text_hash(TEXT_HASH, uid ? uid : "left"), source ? source : "");
    if (cluster->recorded == found)
        return;
    cluster->recorded = found;
    if (worker_records_set(host->records, cluster->name, uid, source))
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
        post_settings(host, cluster);
        record_identity(host, cluster);
        cluster_threads_open(host, cluster, now);
    } else if (cluster->state == CLUSTER_LEFT && is_over(host, cluster)) {
        clusters_vacate(host, cluster);
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
