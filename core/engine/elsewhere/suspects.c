// SPDX-License-Identifier: Apache-2.0
// Workers in which several workloads fail for the same reason. The suspension is in memory only: a restarted host
// begins without any.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"

static uint64_t reason_hash(const char *reason) {
    return text_hash(TEXT_HASH, reason);
}

static size_t count_notes(const struct suspect *suspect, uint64_t reason, int64_t now_ns) {
    size_t count = 0;
    for (size_t i = 0; i < SUSPECT_NOTES; i++)
        count += suspect->notes[i].workload && suspect->notes[i].reason == reason &&
                 suspect->notes[i].at_ns > now_ns - ELSEWHERE_WINDOW_NS;
    return count;
}

// One note of a workload and reason; the oldest one makes room.
static void add_note(struct suspect *suspect, uint64_t workload, uint64_t reason, int64_t now_ns) {
    struct suspect_note *place = &suspect->notes[0];
    for (size_t i = 0; i < SUSPECT_NOTES; i++) {
        struct suspect_note *note = &suspect->notes[i];
        if (note->workload == workload && note->reason == reason) {
            place = note;
            break;
        }
        if (note->at_ns < place->at_ns)
            place = note;
    }
    *place = (struct suspect_note){workload, reason, now_ns};
}

// Errors of users cannot suspend all workers.
static bool has_other_worker(const struct engine *engine, size_t cluster, size_t kind) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (c != cluster && engine->workers[kind][c].eligible)
            return true;
    return false;
}

static void changed(struct engine *engine, size_t cluster, bool suspended) {
    engine->stats.clusters[cluster].failing = suspended;
    cluster_changed(engine, cluster);
    placement_queue_retry(engine);
}

void suspects_note(struct engine *engine, struct entry *entry, size_t cluster, const char *reason) {
    struct suspect *suspect = &engine->clusters[cluster].elsewhere;
    const char *name = engine->clusters[cluster].name;
    uint64_t hash = reason_hash(reason);
    add_note(suspect, text_hash(TEXT_HASH, entry->workload->uid), hash, engine->now.mono_ns);
    size_t count = count_notes(suspect, hash, engine->now.mono_ns);
    if (suspect->until_ns || count < ELSEWHERE_SUSPECTS || !has_other_worker(engine, cluster, entry->kind))
        return;
    suspect->until_ns = engine->now.mono_ns + ELSEWHERE_SUSPEND_NS;
    text_copy(suspect->reason, sizeof suspect->reason, reason);
    text_copy(suspect->key, sizeof suspect->key, entry->key);
    suspect->kind = entry->kind;
    text_copy(engine->stats.clusters[cluster].failing_for, sizeof engine->stats.clusters[cluster].failing_for, reason);
    changed(engine, cluster, true);
    report_event(
        engine, entry, true, "WorkerSuspect", "Observe",
        "%zu workloads failed in cluster %s for the same reason, %s, within 5 minutes: the cluster gets no new "
        "workloads for 10 minutes, or until wharf uncordon %s",
        count, name, reason, name);
    report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
               "%zu workloads failed in the worker for the same reason, %s, within 5 minutes: the worker gets no new "
               "workloads for 10 minutes, or until wharf uncordon %s",
               count, reason, name);
}

// On the workload with the Event about the begin.
static void report_end(struct engine *engine, size_t cluster, const char *because) {
    const struct suspect *suspect = &engine->clusters[cluster].elsewhere;
    struct entry *entry = map_get(&engine->store.maps[suspect->kind], suspect->key);
    if (entry && entry->workload->facts.exists)
        report_event(engine, entry, false, "WorkerTrusted", "Observe", "cluster %s gets new workloads again: %s",
                     engine->clusters[cluster].name, because);
}

static void release(struct engine *engine, size_t cluster, const char *because) {
    struct suspect *suspect = &engine->clusters[cluster].elsewhere;
    if (!suspect->until_ns)
        return;
    report_end(engine, cluster, because);
    *suspect = (struct suspect){.until_ns = 0};
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker gets new workloads again: %s", because);
    changed(engine, cluster, false);
}

void suspects_trust(struct engine *engine, size_t cluster) {
    release(engine, cluster, "an operator has uncordoned the cluster");
}

void suspects_forget(struct engine *engine, const struct entry *entry) {
    uint64_t workload = text_hash(TEXT_HASH, entry->workload->uid);
    for (size_t c = 1; c < engine->n_clusters; c++) {
        struct suspect *suspect = &engine->clusters[c].elsewhere;
        bool had = false;
        for (size_t i = 0; i < SUSPECT_NOTES; i++) {
            if (suspect->notes[i].workload != workload)
                continue;
            suspect->notes[i] = (struct suspect_note){0};
            had = true;
        }
        if (had && count_notes(suspect, reason_hash(suspect->reason), engine->now.mono_ns) < ELSEWHERE_SUSPECTS)
            release(engine, c, "workloads that failed there failed in other workers too");
    }
}

static void tick(struct engine *engine) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (engine->clusters[c].elsewhere.until_ns && engine->clusters[c].elsewhere.until_ns <= engine->now.mono_ns)
            release(engine, c, "the 10 minutes are over");
}

static int64_t due_ns(struct engine *engine) {
    int64_t due_ns = CLOCK_NEVER;
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (engine->clusters[c].elsewhere.until_ns)
            due_ns = clock_earlier(due_ns, engine->clusters[c].elsewhere.until_ns);
    return due_ns;
}

const struct part part_suspects = {.name = "suspect workers", .tick = tick, .due_ns = due_ns};
