// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_state.h"

#include "core/engine/fence/fence_lease.h"
#include "core/engine/shard/shard_of.h"

void fence_forget(struct engine *engine, size_t cluster) {
    engine->clusters[cluster].fence.known = false;
    fence_count(engine, cluster);
}

void fence_count(struct engine *engine, size_t cluster) {
    const struct fence *fence = &engine->clusters[cluster].fence;
    struct stats_cluster *stats = &engine->stats.clusters[cluster];
    enum guard_state state = !engine->settings.fencing.enabled          ? GUARD_STATE_OFF
                             : !fence->known                            ? GUARD_STATE_UNKNOWN
                             : fence->news.guarded == 0                 ? GUARD_STATE_NONE
                             : fence->news.fencing & shard_mask(engine) ? GUARD_STATE_FENCING
                                                                        : GUARD_STATE_ALIVE;
    if (state != stats->guard)
        stats->guard_since_ns = engine->now.wall_ns;
    stats->guard = state;
    stats->guards = engine->settings.fencing.enabled && fence->known ? fence->news.guards : 0;
}

int64_t fence_until_ns(const struct engine *engine, const struct entry *entry, size_t cluster) {
    uint32_t shard = shard_of(engine, entry);
    return decide_fenced_ns(&engine->workers[entry->kind][cluster], shard, engine->fence.begun_ns[shard]);
}

void fence_refresh(const struct engine *engine, size_t cluster, struct worker_facts *facts) {
    const struct fence *fence = &engine->clusters[cluster].fence;
    bool enabled = engine->settings.fencing.enabled;
    facts->guarded = enabled ? fence->news.guarded : 0;
    facts->fenced_ns = enabled ? fence->news.sure_ns : 0;
    facts->unguarded_ns = enabled && engine->settings.fencing.wait ? CLOCK_NEVER : 0;
    facts->resumes = enabled && fence->known ? ~fence->news.fencing : 0;
    facts->closed_shards = enabled ? ~facts->resumes : 0;
}

void fence_begin(struct engine *engine, uint32_t shard, struct moment now) {
    engine->fence.begun_ns[shard] = now.mono_ns + fence_sure_ns(engine->settings.fencing.after_ns);
}
