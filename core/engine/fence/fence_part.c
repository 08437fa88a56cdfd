// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/event.h"
#include "core/engine/fence/fence_lease.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

static void count_guards(struct engine *engine, size_t cluster) {
    const struct fence *fence = &engine->clusters[cluster].fence;
    struct stats_cluster *stats = &engine->stats.clusters[cluster];
    bool enabled = engine->settings.fencing.enabled;
    enum guard_state state = !enabled                                   ? GUARD_STATE_OFF
                             : !fence->known                            ? GUARD_STATE_UNKNOWN
                             : fence->news.guarded == 0                 ? GUARD_STATE_NONE
                             : fence->news.fencing & shard_mask(engine) ? GUARD_STATE_FENCING
                                                                        : GUARD_STATE_ALIVE;
    if (state != stats->guard)
        stats->guard_since_ns = engine->now.wall_ns;
    stats->guard = state;
    stats->guards = enabled && fence->known ? fence->news.guards : 0;
}

void fence_forget(struct engine *engine, size_t cluster) {
    engine->clusters[cluster].fence.known = false;
    count_guards(engine, cluster);
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

static void report_change(struct engine *engine, size_t cluster, const struct fence *before) {
    const struct fence_news *news = &engine->clusters[cluster].fence.news;
    uint64_t held = shard_mask(engine);
    if (!news->guarded && (before->news.guarded || !before->known))
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "no guard is seen in the worker: if the worker is lost, the host reschedules workloads %s",
                   engine->settings.fencing.wait ? "only after the worker is back"
                                                 : "after workerLostTimeout, and they may run in two workers");
    if (news->guards == 1 && before->news.guards != 1)
        report_log(
            engine, LOG_WARN, cluster, LOG_NO_KIND,
            "the worker has a guard, but only one: if the guard fails too, a lost worker goes on running mirrors");
    else if (news->guards > 1 && before->news.guards != news->guards)
        report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker has %u guards", news->guards);
    if ((news->fencing & held) && !(before->known && (before->news.fencing & held)))
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "the worker's guard got no heartbeat of this host, and stops mirrors until the next one");
}

static void configure(struct engine *engine, const struct engine_settings *former) {
    bool anew = engine->settings.fencing.enabled && !former->fencing.enabled;
    engine->fence.epoch += anew;
    for (size_t c = 0; anew && c < engine->n_clusters; c++)
        engine->clusters[c].fence = (struct fence){.news = {.sure_ns = engine->clusters[c].fence.news.sure_ns}};
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            count_guards(engine, c);
}

uint32_t engine_fence_epoch(const struct engine *engine) {
    return engine->fence.epoch;
}

static void handle_news(struct engine *engine, struct engine_event *event) {
    size_t cluster = event->cluster;
    if (cluster == ENGINE_MANAGEMENT || cluster_is_other(engine, cluster) || event->fence.epoch != engine->fence.epoch)
        return;
    struct fence *fence = &engine->clusters[cluster].fence, before = *fence;
    fence->known = true;
    fence->news = event->fence;
    fence->news.sure_ns = clock_later(before.news.sure_ns, event->fence.sure_ns);
    report_change(engine, cluster, &before);
    count_guards(engine, cluster);
    if (before.known && before.news.guarded == fence->news.guarded && before.news.fencing == fence->news.fencing)
        for (size_t k = 0; k < engine->n_kinds; k++)
            cluster_refresh(engine, cluster, k);
    else
        cluster_changed(engine, cluster);
}

uint64_t engine_renews(const struct engine *engine, size_t cluster) {
    if (cluster_is_vacant(engine, cluster))
        return 0;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        const struct worker_facts *worker = &engine->workers[k][cluster];
        if (worker->connected && !worker->frozen)
            return shard_mask(engine);
    }
    return 0;
}

void fence_read_mirror(struct engine *engine, struct mirror *mirror, const struct json *object) {
    bool was = mirror->facts.fenced;
    mirror->facts.fenced = object_annotation(object, MARK_FENCED);
    mirror->fenced_reported = mirror->fenced_reported && mirror->facts.fenced;
    if (!mirror->facts.fenced || was)
        return;
    fence_forget(engine, mirror->facts.cluster); // the guard may still stop mirrors: the known state is older
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_refresh(engine, mirror->facts.cluster, k);
}

static void report_fenced(struct engine *engine, struct entry *entry) {
    bool runs = entry->workload->facts.exists && !entry->workload->facts.finished;
    struct mirror *mirror = runs ? facts_placed_mirror(entry) : NULL;
    if (!mirror || !mirror->facts.fenced || mirror->fenced_reported)
        return;
    mirror->fenced_reported = true;
    report_event(engine, entry, true, "Fenced", "Observe",
                 "the guard of %s suspended the mirror, having had no heartbeat of this host; %s",
                 engine->clusters[mirror->facts.cluster].name,
                 engine->settings.fencing.enabled
                     ? "the host resumes the mirror after the next heartbeat"
                     : "fencing is not enabled in this host, so the mirror stays suspended");
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->shard = engine->settings.fencing.enabled ? shard_of(engine, entry) : 0;
    facts->fence_begun_ns = engine->fence.begun_ns[facts->shard];
}

const struct part part_fence = {.name = "fencing",
                                .configure = configure,
                                .events = PART_EVENT(EVENT_FENCE),
                                .event = handle_news,
                                .before = report_fenced,
                                .facts = facts};
