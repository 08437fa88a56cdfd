// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/missing_worker.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"

// The host learns of workers from Secrets or a directory a little later than of the workloads.
#define SOURCES_GRACE_NS (5 * CLOCK_SECOND)

static void drop(struct engine *engine, struct missing_worker *worker) {
    map_remove(&engine->membership.missing, worker->name);
    free(worker);
}

void missing_workers_free(struct engine *engine) {
    size_t cursor = 0;
    for (struct missing_worker *w; (w = map_next(&engine->membership.missing, &cursor));)
        drop(engine, w);
    map_free(&engine->membership.missing);
}

// NULL: out of memory, so the workload does not count.
static struct missing_worker *find_or_make(struct engine *engine, const char *name) {
    struct missing_worker *worker = map_get(&engine->membership.missing, name);
    size_t size = strlen(name) + 1;
    if (worker || !(worker = calloc(1, sizeof *worker + size)))
        return worker;
    memcpy(worker->name, name, size);
    if (map_put(&engine->membership.missing, worker->name, worker))
        return worker;
    free(worker);
    return NULL;
}

const char *missing_worker_name(const struct entry *entry) {
    return entry->workload->membership.missing ? entry->workload->membership.missing->name : NULL;
}

void missing_worker_count(struct engine *engine, struct entry *entry, const char *name) {
    struct workload_membership *membership = &entry->workload->membership;
    struct missing_worker *old = membership->missing, *worker = name ? find_or_make(engine, name) : NULL;
    if (old)
        old->unfinished -= membership->missing_unfinished;
    membership->missing_unfinished = worker && !entry->workload->facts.finished;
    if (worker)
        worker->unfinished += membership->missing_unfinished;
    if (old == worker)
        return;
    membership->missing = worker;
    if (worker)
        worker->workloads++;
    if (old && --old->workloads == 0)
        drop(engine, old);
}

static void log_missing(struct engine *engine, struct missing_worker *worker) {
    char timeout[CLOCK_RFC3339_MAX];
    clock_duration_text(engine->settings.worker_lost_timeout_ns, timeout);
    worker->logged = true;
    report_log(
        engine, LOG_WARN, ENGINE_MANAGEMENT, LOG_NO_KIND,
        "worker %.63s is not in the configuration, but %zu unfinished workloads are placed there: the host "
        "reschedules these after workerLostTimeout (%s) unless the worker is configured again; mirrors that still "
        "run there then run concurrently",
        worker->name, worker->unfinished, timeout);
}

// Once the numbers are complete.
static void log_new(struct engine *engine) {
    size_t cursor = 0;
    if (cluster_unlisted_kind(engine) < engine->n_kinds)
        return;
    for (struct missing_worker *w; (w = map_next(&engine->membership.missing, &cursor));)
        if (w->unfinished > 0 && !w->logged)
            log_missing(engine, w);
}

void missing_worker_begin(struct engine *engine, struct entry *entry) {
    entry->workload->facts.cluster = DECIDE_UNKNOWN_CLUSTER;
    entry->workload->facts.unknown_since_ns = engine->now.mono_ns;
}

static bool needs_report(const struct workload *w) {
    return !w->facts.finished && w->loss_reported_ns != w->facts.unknown_since_ns;
}

void missing_worker_report(struct engine *engine, struct entry *entry, const char *name) {
    struct workload *w = entry->workload;
    char short_name[64], timeout[CLOCK_RFC3339_MAX], at[CLOCK_RFC3339_MAX];
    int64_t timeout_ns = engine->settings.worker_lost_timeout_ns;
    int64_t left_ns = clock_after(w->facts.unknown_since_ns, timeout_ns) - engine->now.mono_ns;
    if (!needs_report(w))
        return;
    w->loss_reported_ns = w->facts.unknown_since_ns;
    text_copy(short_name, sizeof short_name, name);
    clock_duration_text(timeout_ns, timeout);
    clock_rfc3339(clock_after(engine->now.wall_ns, clock_later(left_ns, 0)), at);
    AUTO_TEXT then =
        placement_waits_when_lost(engine, entry)
            ? strdup("The workload waits until the configuration has the worker again (onWorkerLost: wait)")
            : text_format("Add the worker to the configuration, or the host reschedules the workload after "
                          "workerLostTimeout (%s), at %s",
                          timeout, at);
    report_event(engine, entry, true, "UnknownCluster", "Place",
                 MARK_CLUSTER " names %s, which is not in the configuration: the host treats %s as an unreachable "
                              "worker, where the mirror may still run. %s",
                 short_name, short_name, then ? then : "");
}

void missing_worker_check(struct engine *engine, struct entry *entry) {
    struct missing_worker *missing = entry->workload->membership.missing;
    if (!missing || !needs_report(entry->workload) ||
        queue_is_early(engine, entry, entry->workload->facts.unknown_since_ns + SOURCES_GRACE_NS))
        return;
    missing_worker_report(engine, entry, missing->name);
    if (!missing->logged) // together with all others
        log_new(engine);
}

void missing_worker_rescheduled(struct engine *engine, struct entry *entry, const struct action *action) {
    const struct workload_facts *w = &entry->workload->facts;
    const char *missing = missing_worker_name(entry), *to = engine->clusters[action->cluster].name;
    char name[64];
    text_copy(name, sizeof name, missing ? missing : "the worker");
    if (w->clean_attempt == w->attempt || w->gone_attempt == w->attempt)
        report_event(engine, entry, true, "Rescheduled", "Place",
                     "%s is not in the configuration, and no mirror is there; running again in %s (attempt %u)", name,
                     to, action->attempt);
    else
        report_event(
            engine, entry, true, "Rescheduled", "Place",
            "%s is not in the configuration; running again in %s (attempt %u). If the mirror of attempt %u still "
            "runs in %s, both run concurrently until the configuration has %s again, or somebody deletes that "
            "mirror",
            name, to, action->attempt, w->attempt, name, name);
}

void missing_worker_left(struct engine *engine, const char *name, const char *uid) {
    struct missing_worker *worker = map_get(&engine->membership.missing, name);
    if (!worker)
        return;
    text_copy(worker->uid, sizeof worker->uid, uid);
    if (worker->unfinished > 0)
        log_missing(engine, worker);
}

void missing_worker_joined(struct engine *engine, size_t cluster) {
    const char *name = engine->clusters[cluster].name;
    struct missing_worker *worker = map_get(&engine->membership.missing, name);
    struct store_cursor at = {0};
    if (worker && worker->unfinished > 0)
        text_copy(engine->clusters[cluster].membership.identity.first, STORE_UID_MAX, worker->uid);
    for (struct entry *e; (e = store_next(&engine->store, &at));) {
        struct workload *w = e->workload;
        if (!w->facts.exists || w->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
            continue;
        // Without memory the worker was not counted.
        bool same = w->membership.missing
                        ? w->membership.missing == worker
                        : text_equal(object_annotation(doc_tree(&engine->store, &w->doc), MARK_CLUSTER), name);
        if (!same)
            continue;
        w->facts.cluster = (uint32_t)cluster;
        w->loss_reported_ns = 0;
        w->facts.status_due = !w->facts.finished;
        cluster_count_active(engine, e, w->facts.finished || w->facts.being_deleted ? 0 : (uint32_t)cluster);
        missing_worker_count(engine, e, NULL);
        queue_entry(engine, e);
    }
}

void missing_workers_stats(struct engine *engine) {
    struct stats *stats = &engine->stats;
    size_t cursor = 0;
    stats->n_unknown = stats->unknown_rest = 0;
    for (const struct missing_worker *w; (w = map_next(&engine->membership.missing, &cursor));) {
        struct stats_unknown *out = &stats->unknown[stats->n_unknown];
        if (w->unfinished > 0 && stats->n_unknown == STATS_UNKNOWN)
            stats->unknown_rest += w->unfinished;
        else if (w->unfinished > 0) {
            out->workloads = w->unfinished;
            text_copy(out->name, sizeof out->name, w->name);
            stats->n_unknown++;
        }
    }
}
