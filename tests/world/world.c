// SPDX-License-Identifier: Apache-2.0
// Construction and destruction of a cluster, and access for tests.
#include "tests/world/world.h"
#include "core/base/clock.h"
#include "tests/world/collector.h"
#include "tests/world/controllers.h"
#include "tests/world/model.h"
#include "tests/world/server.h"
#include "tests/world/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_MAX ((size_t)1 << 30)

static struct kind *add_builtin(struct world_cluster *cluster, const char *group, const char *plural,
                                const char *kind_name, bool cluster_scoped, enum special special) {
    struct world_kind from = {.group = group,
                              .versions = {"v1"},
                              .plural = plural,
                              .kind = kind_name,
                              .cluster_scoped = cluster_scoped,
                              .no_status = special >= SPECIAL_EVENT && special != SPECIAL_CLAIM};
    struct kind *kind = world_kind_add(cluster, &from, special);
    kind->builtin = true;
    return kind;
}

// The random numbers of a cluster are the same without them.
static void add_referenced(struct world_cluster *cluster) {
    struct random kept = cluster->random;
    add_builtin(cluster, "", "configmaps", "ConfigMap", false, SPECIAL_CONFIGMAP);
    add_builtin(cluster, "", "secrets", "Secret", false, SPECIAL_SECRET);
    add_builtin(cluster, "", "serviceaccounts", "ServiceAccount", false, SPECIAL_SERVICEACCOUNT);
    add_builtin(cluster, "", "persistentvolumeclaims", "PersistentVolumeClaim", false, SPECIAL_CLAIM);
    add_builtin(cluster, "scheduling.k8s.io", "priorityclasses", "PriorityClass", true, SPECIAL_PRIORITYCLASS);
    add_builtin(cluster, "node.k8s.io", "runtimeclasses", "RuntimeClass", true, SPECIAL_RUNTIMECLASS);
    cluster->random = kept;
}

static void add_namespace(struct world_cluster *cluster, const char *name) {
    struct json *object = json_new_object();
    if (!object)
        world_oom();
    world_set_text(world_json_child(object, "metadata"), "name", name);
    world_create_internal(cluster->namespaces, "", object);
}

void world_add_namespaces(struct world_cluster *cluster) {
    add_namespace(cluster, "default");
    add_namespace(cluster, "kube-system");
    add_namespace(cluster, "kube-public");
    add_namespace(cluster, "kube-node-lease");
}

struct world_cluster *world_new(const struct world_options *options, int64_t now_ns) {
    struct world_cluster *cluster = world_alloc(sizeof *cluster);
    cluster->options = *options;
    cluster->name = world_strdup(options->name ? options->name : "world");
    cluster->options.name = cluster->name;
    cluster->random.state = options->seed;
    cluster->now_ns = now_ns;
    cluster->version = 100 + random_below(&cluster->random, 900);
    map_init(&cluster->by_uid, random_next(&cluster->random));
    map_init(&cluster->dependents, random_next(&cluster->random));
    heap_init(&cluster->controllers);
    heap_init(&cluster->garbage);
    heap_init(&cluster->watch_times);
    buffer_init(&cluster->scratch, SCRATCH_MAX);
    cluster->namespaces = add_builtin(cluster, "", "namespaces", "Namespace", true, SPECIAL_NAMESPACE);
    cluster->pods = add_builtin(cluster, "", "pods", "Pod", false, SPECIAL_POD);
    cluster->jobs = add_builtin(cluster, "batch", "jobs", "Job", false, SPECIAL_JOB);
    add_builtin(cluster, "batch", "cronjobs", "CronJob", false, SPECIAL_CRONJOB);
    add_builtin(cluster, "events.k8s.io", "events", "Event", false, SPECIAL_EVENT);
    add_builtin(cluster, "coordination.k8s.io", "leases", "Lease", false, SPECIAL_LEASE);
    add_referenced(cluster);
    world_add_namespaces(cluster);
    cluster->counts = (struct world_counts){0};
    return cluster;
}

void world_free(struct world_cluster *cluster) {
    if (!cluster)
        return;
    cluster->hook = NULL;
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        while (kind->head.next[0])
            world_store_remove(kind->head.next[0]);
    while (cluster->kinds) {
        struct kind *kind = cluster->kinds;
        cluster->kinds = kind->next_kind;
        world_kind_free(kind);
    }
    world_collector_free(cluster);
    world_allow_all(cluster);
    map_free(&cluster->by_uid);
    heap_free(&cluster->controllers);
    heap_free(&cluster->garbage);
    heap_free(&cluster->watch_times);
    buffer_free(&cluster->scratch);
    free(cluster->name);
    free(cluster);
}

const char *world_name(const struct world_cluster *cluster) {
    return cluster->name;
}

uint64_t world_version(const struct world_cluster *cluster) {
    return cluster->version;
}

const struct world_counts *world_counts(const struct world_cluster *cluster) {
    return &cluster->counts;
}

static int64_t first_of(const struct heap *heap, int64_t otherwise) {
    const struct timer *timer = heap_first(heap);
    return timer && timer->at_ns < otherwise ? timer->at_ns : otherwise;
}

int64_t world_due(const struct world_cluster *cluster) {
    return first_of(&cluster->controllers, first_of(&cluster->garbage, first_of(&cluster->watch_times, WORLD_NEVER)));
}

int64_t world_step(struct world_cluster *cluster, int64_t now_ns) {
    if (now_ns > cluster->now_ns)
        cluster->now_ns = now_ns;
    world_controllers_step(cluster);
    world_collector_step(cluster);
    world_watches_step(cluster);
    return world_due(cluster);
}

const struct json *world_object(struct world_cluster *cluster, const char *group, const char *plural,
                                const char *namespace_, const char *name) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    const struct stored *object = kind ? world_find(kind, namespace_, name) : NULL;
    return object ? object->value : NULL;
}

void world_let_end(struct world_cluster *cluster, bool may_end, int64_t now_ns) {
    cluster->held_may_end = may_end;
    size_t cursor = 0;
    for (struct stored *job; (job = map_next(&cluster->jobs->by_key, &cursor));)
        world_controllers_at(job, now_ns);
}

const struct json *world_next(struct world_cluster *cluster, const char *group, const char *plural,
                              const void **cursor) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    if (!kind)
        return NULL;
    const struct stored *last = *cursor;
    const struct stored *object = last ? last->next[0] : kind->head.next[0];
    *cursor = object;
    return object ? object->value : NULL;
}

size_t world_count(struct world_cluster *cluster, const char *group, const char *plural) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    return kind ? kind->by_key.count : 0;
}

void world_set_hook(struct world_cluster *cluster, void (*hook)(void *ctx, const struct world_write *write),
                    void *ctx) {
    cluster->hook = hook;
    cluster->hook_ctx = ctx;
}

void world_set_scheduling(struct world_cluster *cluster, bool has) {
    cluster->scheduling = has;
}

void world_set_pod_hook(struct world_cluster *cluster, world_pod_hook hook, void *ctx) {
    cluster->pod_hook = hook;
    cluster->pod_hook_ctx = ctx;
}

void world_set_admission(struct world_cluster *cluster, world_admission admit, void *ctx) {
    cluster->admit = admit;
    cluster->admit_ctx = ctx;
}
