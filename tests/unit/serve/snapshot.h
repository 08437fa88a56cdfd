// SPDX-License-Identifier: Apache-2.0
// A host_snapshot of a management cluster and two workers with one kind, for the tests of core/serve.
#pragma once

#include "core/host/host.h"

#define SNAPSHOT_CLUSTERS 3

struct fake {
    struct stats_watch feeds[SNAPSHOT_CLUSTERS][1];
    struct stats_cluster clusters[SNAPSHOT_CLUSTERS];
    struct cluster_reading readings[SNAPSHOT_CLUSTERS];
    struct stats_kind kind_stats[1];
    struct kind kind;
    const struct kind *kinds[1];
    const char *names[SNAPSHOT_CLUSTERS];
    struct host_snapshot snapshot;
};

// Running and in sync, everything connected, nothing counted.
static inline void fake_init(struct fake *fake) {
    static char plural_group[] = "jobs.batch";
    static const char *const names[SNAPSHOT_CLUSTERS] = {"management", "w1", "w2"};
    *fake = (struct fake){.kind = {.plural_group = plural_group}};
    for (size_t c = 0; c < SNAPSHOT_CLUSTERS; c++) {
        fake->names[c] = names[c];
        fake->feeds[c][0].state = REFLECTOR_CONNECTED;
        fake->clusters[c].watches = fake->feeds[c];
    }
    fake->kinds[0] = &fake->kind;
    fake->snapshot = (struct host_snapshot){
        .stats = {.clusters = fake->clusters, .n_clusters = SNAPSHOT_CLUSTERS, .kinds = fake->kind_stats, .n_kinds = 1},
        .readings = fake->readings,
        .names = fake->names,
        .kinds = fake->kinds,
        .running = true,
        .in_sync = true,
    };
}
