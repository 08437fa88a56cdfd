// SPDX-License-Identifier: Apache-2.0
// The names of namespaces in a worker (namespaces.map), which may change. Under another map, the host would not find
// the present mirrors, and run their workloads twice. So a changed map waits until the worker certainly has no mirror,
// and nothing new is placed there meanwhile. After a restart the host's record (sources.h) has the map of the mirrors:
// no worker is watched before the records are known.
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"

#define LOOK_NS CLOCK_SECOND

static size_t length_of(const char *map) {
    size_t len = map ? strlen(map) : 0;
    return len > 0 && map[len - 1] == '\n' ? len - 1 : len; // which records leave out
}

static bool is_same(const char *a, const char *b) {
    size_t len = length_of(a);
    return len == length_of(b) && (len == 0 || memcmp(a, b, len) == 0);
}

bool cluster_map_is_of(const struct host_cluster *cluster, const struct cluster_thread *thread) {
    return is_same(cluster->spec.settings.namespace_map, thread->spec.settings.namespace_map);
}

bool cluster_map_changes(const struct host_cluster *cluster) {
    return cluster->remaps || (cluster->thread && !cluster_map_is_of(cluster, cluster->thread));
}

// Uses the map that `from` has, instead of the configured one.
static void keep_map(struct host_cluster *cluster, struct worker_spec *spec, const char **from) {
    free(cluster->next_map);
    cluster->next_map = (char *)TAKE(spec->settings.namespace_map);
    spec->settings.namespace_map = TAKE(*from);
}

void cluster_map_choose(struct host_cluster *cluster, struct worker_spec *spec) {
    bool waited = cluster->remaps;
    bool known = cluster->watched || spec->settings.recorded;
    if (cluster->watched)
        keep_map(cluster, spec, &cluster->spec.settings.namespace_map);
    else if (known)
        keep_map(cluster, spec, (const char **)&spec->names);
    cluster->remaps = known && !is_same(cluster->next_map, spec->settings.namespace_map);
    if (cluster->remaps && !waited)
        log_fields(LOG_WARN,
                   "namespaces.map of the worker has changed: while it has mirrors or copies under the former names, "
                   "these names apply and nothing new is placed there; `wharf drain` moves the workloads",
                   {"cluster", cluster->name});
}

void cluster_map_tick(struct host *host, struct host_cluster *cluster, struct moment now, bool look) {
    if (!cluster->remaps)
        return;
    host->left_at_ns = clock_earlier(host->left_at_ns, now.mono_ns + LOOK_NS);
    // The engine knows that nothing new is to be placed there.
    bool closed = cluster->joined && cluster->posted.policy != WORKER_ACTIVE;
    if (!look || !closed || !inbox_is_empty(host->inbox, cluster->index) ||
        !engine_is_unused(host->turn.engine, cluster->index))
        return;
    free((char *)cluster->spec.settings.namespace_map);
    cluster->spec.settings.namespace_map = TAKE(cluster->next_map);
    cluster->remaps = false;
    cluster->reopen = true;
    cluster->open_at_ns = cluster->open_wait_ns = 0;
    log_fields(LOG_INFO, "the new namespaces.map of the worker applies", {"cluster", cluster->name});
}
