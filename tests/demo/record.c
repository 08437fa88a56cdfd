// SPDX-License-Identifier: Apache-2.0
// Hooks in the clusters that count writes about each Job. They run with the lock of a cluster's front held, on the
// writing thread; a separate lock protects the counters.
#include "tests/demo/demo.h"

#include <string.h>

// A kind without a status subresource has its status patched with the rest.
static bool is_status(const struct world_write *write) {
    return write->verb == WORLD_UPDATE_STATUS ||
           (write->verb == WORLD_UPDATE && !json_equal(json_get(write->old, "status"), json_get(write->now, "status")));
}

static unsigned *counter_of(struct writes *writes, const struct world_write *write, bool management) {
    if (write->status >= 400)
        return &writes->refused;
    if (write->noop)
        return &writes->noops;
    switch (write->verb) {
    case WORLD_CREATE:
        return &writes->creates;
    case WORLD_UPDATE:
        return management ? &writes->annotations : &writes->updates;
    case WORLD_UPDATE_STATUS:
        return &writes->statuses;
    case WORLD_DELETE:
        return &writes->deletes;
    case WORLD_READ:
    case WORLD_VERBS:
        break;
    }
    return NULL;
}

static void count(struct demo *demo, const struct world_write *write, bool management) {
    struct job *job = write->name ? demo_find(demo, write->plural, write->name) : NULL;
    if (!job || pthread_equal(pthread_self(), demo->user))
        return;
    if (write->internal) {
        job->changes += !management && !write->noop && write->status < 400 && is_status(write);
        return;
    }
    unsigned *counter = counter_of(&job->writes, write, management);
    if (counter)
        ++*counter;
}

static void on_management(void *ctx, const struct world_write *write) {
    struct demo *demo = ctx;
    pthread_mutex_lock(&demo->counters);
    count(demo, write, true);
    pthread_mutex_unlock(&demo->counters);
}

static void on_worker(void *ctx, const struct world_write *write) {
    struct demo *demo = ctx;
    pthread_mutex_lock(&demo->counters);
    count(demo, write, false);
    pthread_mutex_unlock(&demo->counters);
}

void record_start(struct demo *demo) {
    for (size_t i = 0; i < demo->scene->count; i++) {
        struct scene_cluster *cluster = &demo->scene->clusters[i];
        front_lock(cluster->front);
        world_set_hook(cluster->cluster, i == SCENE_MANAGEMENT ? on_management : on_worker, demo);
        front_unlock(cluster->front);
    }
}
