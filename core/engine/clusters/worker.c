// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/worker.h"

#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/identity.h"
#include "core/engine/clusters/slots.h"
#include "core/engine/clusters/unknown.h"
#include "core/engine/fence/fence_state.h"
#include "core/engine/limits/limits.h"
#include "core/engine/placement/placement_worker.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/answer.h"
#include "core/engine/request/command.h"
#include "core/engine/request/pacing.h"
#include "core/engine/status/final_status.h"

#include <stdlib.h>
#include <string.h>

// When the mirror will be given up: rule 2, as in an unreachable worker.
static int64_t given_up_ns(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    const struct worker_facts *worker = &engine->workers[entry->kind][mirror->facts.cluster];
    int64_t since_ns = worker->connected ? engine->now.mono_ns : worker->lost_since_ns;
    int64_t at_ns = since_ns > CLOCK_NEVER - engine->settings.worker_lost_timeout_ns
                        ? CLOCK_NEVER
                        : since_ns + engine->settings.worker_lost_timeout_ns;
    // That the worker leaves is somebody's decision: it is not waited for without end.
    int64_t fenced_ns = fence_until_ns(engine, entry, mirror->facts.cluster);
    return fenced_ns == CLOCK_NEVER ? at_ns : clock_later(at_ns, fenced_ns);
}

static void forget_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    bool current = entry->workload->facts.exists && !entry->workload->facts.being_deleted &&
                   !entry->workload->facts.finished && mirror->facts.of_workload &&
                   mirror->facts.attempt == entry->workload->facts.attempt &&
                   mirror->facts.cluster == entry->workload->facts.cluster;
    if (current && mirror->facts.present && mirror->facts.finished) // it is not run again
        final_status_keep(engine, entry, mirror);
    if (!current && mirror->facts.of_workload && (mirror->facts.present || mirror->facts.may_exist))
        entry->workload->facts.earlier_until_ns =
            clock_later(entry->workload->facts.earlier_until_ns, given_up_ns(engine, entry, mirror));
    orphans_forget(engine, mirror);
    large_mirrors_forget(engine, mirror);
    entry_remove_mirror(&engine->store, entry, mirror);
    queue_entry(engine, entry);
}

static void forget_in(struct engine *engine, struct entry *entry, uint32_t cluster) {
    struct mirror *mirror = entry_mirror(entry, cluster);
    if (mirror)
        forget_mirror(engine, entry, mirror);
    if (!entry->workload->facts.exists) {
        if (entry->blocked)
            queue_entry(engine, entry);
        return;
    }
    if (entry->workload->active_in == cluster)
        cluster_count_active(engine, entry, 0);
    if (entry->workload->requested_cluster == cluster)
        entry->workload->requested_cluster = DECIDE_UNKNOWN_CLUSTER;
    if (entry->workload->accepted_cluster == cluster)
        entry->workload->accepted_attempt = 0;
    if (entry->workload->facts.cluster == cluster) {
        unknown_begin(engine, entry);
        unknown_tell(engine, entry, engine->clusters[cluster].name);
        unknown_count(engine, entry, engine->clusters[cluster].name);
        entry->workload->facts.misplaced = false;
        queue_entry(engine, entry);
    } else if (entry->blocked) {
        queue_entry(engine, entry);
    }
}

static void leave(struct engine *engine, size_t cluster) {
    answer_end_requests(engine, cluster);
    for (size_t k = 0; k < engine->n_kinds; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            forget_in(engine, e, (uint32_t)cluster);
    }
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker left");
    unknown_left(engine, engine->clusters[cluster].name, engine->clusters[cluster].membership.identity.first);
    capacity_left(engine, cluster);
    slot_vacate(engine, cluster);
    identity_left(engine);
}

static bool join(struct engine *engine, size_t cluster, const struct worker_settings *settings) {
    if (!slot_take(engine, cluster, settings->name, settings))
        return false;
    unknown_joined(engine, cluster);
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker joined");
    return true;
}

static void log_policy(struct engine *engine, size_t cluster, enum worker_policy policy) {
    static const char *const words[] = {
        [WORKER_ACTIVE] = "the worker gets new workloads",
        [WORKER_CORDONED] = "the worker is cordoned: nothing new is placed there",
        [WORKER_DRAIN_FINISH] = "the worker is drained: nothing new is placed there, and what runs there ends there",
        [WORKER_DRAIN_MOVE] = "the worker is drained: what runs there is deleted and rescheduled to other workers",
    };
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "%s", words[policy]);
}

static void change_policy(struct engine *engine, size_t cluster, const struct worker_settings *settings) {
    if (settings->policy == WORKER_DRAIN_MOVE)
        engine->clusters[cluster].membership.moves_since_ns = engine->now.mono_ns;
    engine->stats.clusters[cluster].policy = settings->policy;
    if (!settings->quiet)
        log_policy(engine, cluster, settings->policy);
}

void worker_take(struct engine *engine, const struct engine_event *event) {
    const struct worker_settings *settings = &event->worker;
    size_t cluster = event->cluster;
    bool vacant = cluster_is_vacant(engine, cluster);
    if (cluster == ENGINE_MANAGEMENT || (vacant && settings->policy == WORKER_LEFT))
        return;
    if (settings->policy == WORKER_LEFT) {
        leave(engine, cluster);
        return;
    }
    struct worker_settings copy, former = {.name = NULL};
    if (!worker_settings_copy(settings, &copy))
        return;
    if (vacant && !join(engine, cluster, &copy)) {
        worker_settings_clear(&copy);
        return;
    }
    if (!vacant) {
        former = engine->clusters[cluster].settings;
        engine->clusters[cluster].settings = copy;
    }
    if (!vacant && (former.qps != copy.qps || former.burst != copy.burst))
        pacing_refresh_rate(engine, cluster);
    if (former.policy != copy.policy)
        change_policy(engine, cluster, &copy);
    worker_settings_clear(&former);
    placement_workers_changed(engine);
    identity_expect(engine, cluster, copy.uid, copy.recorded);
    cluster_changed(engine, cluster);
}

// Something of the entry is in the cluster, or may be, that has not been given up.
static bool is_needed_by(const struct engine *engine, const struct entry *entry, size_t cluster) {
    const struct mirror *mirror = entry_mirror(entry, cluster);
    bool there = mirror && (mirror->facts.present || mirror->facts.may_exist);
    if (mirror && (mirror->facts.busy || (there && given_up_ns(engine, entry, mirror) > engine->now.mono_ns)))
        return true;
    return entry->workload->facts.exists && entry->workload->facts.cluster == cluster &&
           !entry->workload->facts.finished && !entry->workload->facts.being_deleted &&
           !entry->workload->facts.suspended;
}

bool worker_may_leave(const struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        size_t cursor = 0;
        for (const struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            if (is_needed_by(engine, e, cluster))
                return false;
        bool listed = cluster_watch(engine, ENGINE_MANAGEMENT, k)->listed;
        if (!listed && cluster_watch(engine, ENGINE_MANAGEMENT, k)->state != REFLECTOR_ABSENT)
            return false;
    }
    return true;
}
