// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/unknown.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/decide/lost.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Workers that come from Secrets or a directory are known a little later than the workloads.
#define UNKNOWN_GRACE_NS (5 * CLOCK_SECOND)

static void drop(struct engine *engine, struct unknown_worker *worker) {
    map_remove(&engine->membership.missing, worker->name);
    free(worker->name);
    free(worker);
}

void unknown_free(struct engine *engine) {
    size_t cursor = 0;
    for (struct unknown_worker *w; (w = map_next(&engine->membership.missing, &cursor));)
        drop(engine, w);
    map_free(&engine->membership.missing);
}

// NULL when out of memory: then it is not counted.
static struct unknown_worker *make(struct engine *engine, const char *name) {
    struct unknown_worker *worker = map_get(&engine->membership.missing, name);
    if (worker)
        return worker;
    worker = calloc(1, sizeof *worker);
    char *copy = strdup(name);
    if (!worker || !copy || !map_put(&engine->membership.missing, copy, worker)) {
        free(worker);
        free(copy);
        return NULL;
    }
    worker->name = copy;
    return worker;
}

const char *unknown_name(const struct entry *entry) {
    return entry->workload->membership.missing ? entry->workload->membership.missing->name : NULL;
}

void unknown_count(struct engine *engine, struct entry *entry, const char *name) {
    struct unknown_worker *old = entry->workload->membership.missing, *worker = name ? make(engine, name) : NULL;
    if (old)
        old->unfinished -= entry->workload->membership.missing_unfinished;
    entry->workload->membership.missing_unfinished = worker && !entry->workload->facts.finished;
    if (worker)
        worker->unfinished += entry->workload->membership.missing_unfinished;
    if (old == worker)
        return;
    entry->workload->membership.missing = worker;
    if (worker)
        worker->workloads++;
    if (old && --old->workloads == 0)
        drop(engine, old);
}

// When it is rescheduled, and how long that is from the beginning.
static void times_of(const struct engine *engine, const struct entry *entry, char timeout[CLOCK_RFC3339_MAX],
                     char at[CLOCK_RFC3339_MAX]) {
    int64_t left_ns = clock_after(entry->workload->facts.unknown_since_ns, engine->settings.worker_lost_timeout_ns) -
                      engine->now.mono_ns;
    clock_duration_text(engine->settings.worker_lost_timeout_ns, timeout);
    clock_rfc3339(clock_after(engine->now.wall_ns, clock_later(left_ns, 0)), at);
}

static void log_one(struct engine *engine, struct unknown_worker *worker) {
    char timeout[CLOCK_RFC3339_MAX];
    clock_duration_text(engine->settings.worker_lost_timeout_ns, timeout);
    worker->logged = true;
    report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, LOG_NO_KIND,
               "worker %.63s is not in the configuration, but %zu unfinished workloads are placed there: they are "
               "rescheduled after workerLostTimeout (%s) unless it is added again; mirrors that still run there run "
               "twice then",
               worker->name, worker->unfinished, timeout);
}

// Once the numbers are complete.
static void log_new(struct engine *engine) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        const struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, k);
        if (!watch->listed && watch->state != REFLECTOR_ABSENT)
            return;
    }
    size_t cursor = 0;
    for (struct unknown_worker *w; (w = map_next(&engine->membership.missing, &cursor));)
        if (w->unfinished > 0 && !w->logged)
            log_one(engine, w);
}

void unknown_begin(struct engine *engine, struct entry *entry) {
    entry->workload->facts.cluster = DECIDE_UNKNOWN_CLUSTER;
    entry->workload->facts.unknown_since_ns = engine->now.mono_ns;
}

void unknown_tell(struct engine *engine, struct entry *entry, const char *name) {
    if (entry->workload->facts.finished || entry->workload->loss_reported_ns == entry->workload->facts.unknown_since_ns)
        return;
    entry->workload->loss_reported_ns = entry->workload->facts.unknown_since_ns;
    char short_name[64], timeout[CLOCK_RFC3339_MAX], at[CLOCK_RFC3339_MAX];
    text_copy(short_name, sizeof short_name, name);
    times_of(engine, entry, timeout, at);
    if (lost_is_waited_for(engine, entry)) {
        report_event(engine, entry, true, "UnknownCluster", "Place",
                     MARK_CLUSTER " names %s, which is not in the configuration: it counts as an unreachable worker, "
                                  "where its mirror may still run. This waits until it is in the configuration again "
                                  "(onWorkerLost: wait)",
                     short_name);
        return;
    }
    report_event(engine, entry, true, "UnknownCluster", "Place",
                 MARK_CLUSTER " names %s, which is not in the configuration: it counts as an unreachable worker, where "
                              "its mirror may still run. Add it to the configuration, or this is rescheduled to "
                              "another worker after workerLostTimeout (%s), at %s",
                 short_name, timeout, at);
}

void unknown_check(struct engine *engine, struct entry *entry) {
    int64_t at_ns = entry->workload->facts.unknown_since_ns + UNKNOWN_GRACE_NS;
    if (!entry->workload->membership.missing || entry->workload->facts.finished ||
        entry->workload->loss_reported_ns == entry->workload->facts.unknown_since_ns)
        return;
    if (engine->now.mono_ns < at_ns) {
        queue_wake(engine, entry, at_ns);
        return;
    }
    unknown_tell(engine, entry, entry->workload->membership.missing->name);
    if (!entry->workload->membership.missing->logged) // with it, all that were known then
        log_new(engine);
}

void unknown_placed_again(struct engine *engine, struct entry *entry, const struct action *action) {
    char name[64];
    text_copy(name, sizeof name,
              entry->workload->membership.missing ? entry->workload->membership.missing->name : "its worker");
    bool gone = entry->workload->facts.clean_attempt == entry->workload->facts.attempt ||
                entry->workload->facts.gone_attempt == entry->workload->facts.attempt;
    if (gone)
        report_event(engine, entry, true, "Rescheduled", "Place",
                     "%s is not in the configuration, and no mirror is there; running again in %s (attempt %u)", name,
                     engine->clusters[action->cluster].name, action->attempt);
    else
        report_event(engine, entry, true, "Rescheduled", "Place",
                     "%s is not in the configuration; running again in %s (attempt %u). If the mirror of attempt %u "
                     "still runs in %s, it runs twice until %s is added to the configuration again, or that mirror is "
                     "deleted there",
                     name, engine->clusters[action->cluster].name, action->attempt, entry->workload->facts.attempt,
                     name, name);
}

void unknown_left(struct engine *engine, const char *name, const char *uid) {
    struct unknown_worker *worker = map_get(&engine->membership.missing, name);
    if (!worker)
        return;
    text_copy(worker->uid, sizeof worker->uid, uid);
    if (worker->unfinished > 0)
        log_one(engine, worker);
}

void unknown_joined(struct engine *engine, size_t cluster) {
    const char *name = engine->clusters[cluster].name;
    struct unknown_worker *worker = map_get(&engine->membership.missing, name);
    if (worker && worker->unfinished > 0)
        text_copy(engine->clusters[cluster].membership.identity.first, STORE_UID_MAX, worker->uid);
    for (size_t k = 0; k < engine->n_kinds; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));) {
            if (!e->workload->facts.exists || e->workload->facts.cluster != DECIDE_UNKNOWN_CLUSTER ||
                (e->workload->membership.missing && e->workload->membership.missing != worker))
                continue;
            const struct json *object =
                e->workload->membership.missing ? NULL : doc_tree(&engine->store, &e->workload->doc);
            if (!e->workload->membership.missing && !text_equal(object_annotation(object, MARK_CLUSTER), name))
                continue;
            e->workload->facts.cluster = (uint32_t)cluster;
            e->workload->loss_reported_ns = 0;
            e->workload->facts.status_due = !e->workload->facts.finished;
            cluster_count_active(
                engine, e, e->workload->facts.finished || e->workload->facts.being_deleted ? 0 : (uint32_t)cluster);
            unknown_count(engine, e, NULL);
            queue_entry(engine, e);
        }
    }
}

void unknown_stats(struct engine *engine) {
    struct stats *stats = &engine->stats;
    size_t cursor = 0, count = 0;
    stats->unknown_rest = 0;
    for (const struct unknown_worker *w; (w = map_next(&engine->membership.missing, &cursor));) {
        if (w->unfinished == 0)
            continue;
        if (count == STATS_UNKNOWN) {
            stats->unknown_rest += w->unfinished;
            continue;
        }
        stats->unknown[count].workloads = w->unfinished;
        text_copy(stats->unknown[count++].name, sizeof stats->unknown->name, w->name);
    }
    stats->n_unknown = count;
}
