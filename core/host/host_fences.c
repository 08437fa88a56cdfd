// SPDX-License-Identifier: Apache-2.0
// Which connections renew which Leases for the guard of their worker (docs/fencing.md).
#include "core/engine/fence/fence.h"
#include "core/host/host_internal.h"

void fences_tick(struct host *host) {
    for (size_t c = 1; c < host->n_clusters; c++) {
        struct host_cluster *cluster = host->clusters[c];
        uint64_t renews = engine_has_worker(host->turn.engine, c) ? engine_renews(host->turn.engine, c) : 0;
        if (!cluster->thread || (cluster->fenced == cluster->thread && cluster->renews == renews) ||
            !cluster_thread_fence(cluster->thread, renews))
            continue;
        cluster->fenced = cluster->thread;
        cluster->renews = renews;
    }
}
