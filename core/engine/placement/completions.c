// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"

#define POOLS 64             // of a worker: kinds and namespaces, by hash
#define SAMPLES 8            // of a pool; the host ignores a smaller pool
#define OTHERS_MAX 64        // workers in a comparison
#define FAST_FACTOR 10       // far faster, if a workload in the others takes
#define LEAST_MS (10 * 1000) // at least this, so that noise does not matter
#define SUSPECT_OF_16 12     // fast ones of the last 16 compared workloads
#define CLEARED_OF_16 6
#define WINDOW_MAX_NS (60 * CLOCK_MINUTE) // of a suspect worker

struct durations {
    struct pool {
        uint32_t ms[SAMPLES]; // of the last ones
        uint8_t count, next;
    } pools[POOLS];
};

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// The lower one of an even number.
static uint32_t median(uint32_t *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[(count - 1) / 2];
}

// The duration of such workloads in the other workers: the median of the medians; 0: unknown.
static uint32_t median_of_others(const struct engine *engine, size_t cluster, size_t pool) {
    uint32_t medians[OTHERS_MAX];
    size_t count = 0;
    for (size_t c = 1; c < engine->n_clusters && count < OTHERS_MAX; c++) {
        const struct durations *durations = engine->clusters[c].placement.durations;
        if (c == cluster || !durations || durations->pools[pool].count < SAMPLES)
            continue;
        struct pool sorted = durations->pools[pool];
        medians[count++] = median(sorted.ms, SAMPLES);
    }
    return count > 0 ? median(medians, count) : 0;
}

static void add_sample(struct engine_cluster *slot, size_t pool, uint32_t ms) {
    if (!slot->placement.durations)
        slot->placement.durations = calloc(1, sizeof *slot->placement.durations);
    if (!slot->placement.durations)
        return;
    struct pool *p = &slot->placement.durations->pools[pool];
    p->ms[p->next] = ms;
    p->next = (uint8_t)((p->next + 1) % SAMPLES);
    p->count = p->count < SAMPLES ? (uint8_t)(p->count + 1) : SAMPLES;
}

static void set_suspect(struct engine *engine, struct entry *entry, size_t cluster, uint32_t ms, uint32_t others_ms) {
    char own[CLOCK_RFC3339_MAX], others[CLOCK_RFC3339_MAX];
    clock_duration_text((int64_t)ms * CLOCK_MS, own);
    clock_duration_text((int64_t)others_ms * CLOCK_MS, others);
    const char *name = engine->clusters[cluster].name;
    engine->stats.clusters[cluster].suspect = 1;
    report_event(engine, entry, true, "WorkerSuspect", "Observe",
                 "cluster %s finishes workloads of this kind and namespace in %s, other workers take %s: compare the "
                 "results. Until %s takes as long, the cluster gets no more such workloads than the others",
                 name, own, others, name);
    report_log(engine, LOG_WARN, cluster, entry->kind,
               "the worker finishes workloads such as %s in %s, other workers take %s: compare the results", entry->key,
               own, others);
}

static void judge(struct engine *engine, struct entry *entry, size_t cluster, uint32_t ms, uint32_t others_ms) {
    struct engine_cluster *slot = &engine->clusters[cluster];
    uint64_t *suspect = &engine->stats.clusters[cluster].suspect;
    bool fast = others_ms >= LEAST_MS && (uint64_t)ms * FAST_FACTOR < others_ms;
    slot->placement.fast = (uint16_t)(slot->placement.fast << 1 | fast);
    int count = __builtin_popcount(slot->placement.fast);
    if (!*suspect && count >= SUSPECT_OF_16) {
        set_suspect(engine, entry, cluster, ms, others_ms);
    } else if (*suspect && count <= CLEARED_OF_16) {
        *suspect = 0;
        slot->placement.finished.window_ns = 0;
        report_event(engine, entry, false, "WorkerTrusted", "Observe",
                     "cluster %s is no longer far faster than other workers", slot->name);
        report_log(engine, LOG_INFO, cluster, entry->kind, "the worker is no longer far faster than other workers");
    }
    if (*suspect && fast)
        slot->placement.finished.window_ns =
            clock_later(CLOCK_MINUTE, clock_earlier((int64_t)others_ms * CLOCK_MS, WINDOW_MAX_NS));
}

void completions_created(const struct engine *engine, struct entry *entry) {
    struct workload_placement *placement = &entry->workload->placement;
    placement->runs_in = placement->had_choice ? entry->workload->facts.cluster : 0;
    placement->runs_since_ns = engine->now.mono_ns;
    placement->start_seen = false;
}

void completions_started(const struct engine *engine, struct entry *entry, size_t cluster) {
    struct workload_placement *placement = &entry->workload->placement;
    if (placement->runs_in != cluster || placement->start_seen)
        return;
    placement->runs_since_ns = engine->now.mono_ns;
    placement->start_seen = true;
}

void completions_finished(struct engine *engine, struct entry *entry) {
    size_t cluster = entry->workload->active_in;
    const struct workload_placement *placement = &entry->workload->placement;
    if (!cluster || placement->runs_in != cluster)
        return;
    struct engine_cluster *slot = &engine->clusters[cluster];
    int64_t took_ms = (engine->now.mono_ns - placement->runs_since_ns) / CLOCK_MS;
    uint32_t ms = took_ms < UINT32_MAX ? (uint32_t)took_ms : UINT32_MAX;
    char namespace_[254];
    entry_namespace(entry, namespace_);
    size_t pool = (text_hash(TEXT_HASH, namespace_) ^ entry->kind * UINT64_C(0x9e3779b97f4a7c15)) % POOLS;
    uint32_t others_ms = median_of_others(engine, cluster, pool);
    add_sample(slot, pool, ms);
    if (others_ms)
        judge(engine, entry, cluster, ms, others_ms);
    recent_add(&slot->placement.finished, placement->runs_since_ns, engine->now.mono_ns);
    for (size_t k = 0; k < engine->n_kinds; k++)
        engine->workers[k][cluster].finished = slot->placement.finished;
}

void completions_end(struct entry *entry) {
    entry->workload->placement.runs_in = 0;
}

const struct recent *completions_of(const struct engine *engine, size_t cluster) {
    return &engine->clusters[cluster].placement.finished;
}

void completions_free(struct engine *engine, size_t cluster) {
    free(engine->clusters[cluster].placement.durations);
    engine->clusters[cluster].placement.durations = NULL;
}
