// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/status.h"

#include "core/base/bucket.h"
#include "core/engine/report/report.h"

// The budget of bytes grows with time, up to this many seconds' worth. An API server compacts every 5 minutes, so a
// version of an object takes space for up to 10: with 1 MiB a second a worker takes up to 856 MiB.
#define BYTES_BURST_NS (256 * CLOCK_SECOND)
// The pause of a worker over the budget, so that the host does not try all waiting workloads after each write.
#define BYTES_PAUSE_NS (5 * CLOCK_SECOND)
#define CROWD 6000 // spreads waiting workloads over a second: those with fewer changes come first

// 20 writes at once, then one a second; after a minute of that one in 5 s, after ten one in 30 s.
static const struct {
    int64_t token_ns, burst;
} tiers[STATUS_TIERS] = {{CLOCK_SECOND, 20}, {5 * CLOCK_SECOND, 80}, {30 * CLOCK_SECOND, 200}};

static int64_t changes_at_ns(const struct status_budget *budget) {
    int64_t at_ns = 0;
    for (size_t i = 0; i < STATUS_TIERS; i++)
        at_ns = clock_later(at_ns, budget->full_ns[i] - (tiers[i].burst - 1) * tiers[i].token_ns);
    return at_ns;
}

// The worker that causes the writes; 0: none.
static uint32_t charged_cluster(const struct entry *entry) {
    return entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : entry->workload->facts.cluster;
}

// Statuses that do not wait have a bound as well: an author may have many workloads in a worker, and the worker may
// report the end of all.
static int64_t bytes_at_ns(const struct engine *engine, const struct entry *entry, bool passes) {
    uint32_t cluster = charged_cluster(entry);
    if (cluster == 0 || engine->settings.status_bytes == 0)
        return 0;
    const struct status_bytes *bytes = &engine->clusters[cluster].status;
    if (passes)
        return bytes->full_ns - 2 * BYTES_BURST_NS;
    int64_t used_ns = clock_later(entry->workload->status.budget.full_ns[STATUS_TIERS - 1] - engine->now.mono_ns, 0);
    return clock_later(bytes->closed_until_ns, bytes->full_ns - BYTES_BURST_NS) + used_ns / CROWD;
}

// Only the first final status of an attempt passes: a finished workload may get further ones.
static bool passes(const struct entry *entry, const struct decide_facts *facts) {
    const struct mirror_facts *m = decide_followed(facts);
    bool final = m ? m->finished : decide_has_final_status(facts->workload);
    const struct status_budget *budget = &entry->workload->status.budget;
    uint32_t attempt = facts->workload->attempt;
    return budget->first_attempt != attempt || (final && budget->final_attempt != attempt);
}

void status_budget_facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->changes_at_ns = changes_at_ns(&entry->workload->status.budget);
    if (!facts->workload->status_due && !facts->workload->status_held)
        return;
    facts->status_passes = passes(entry, facts);
    facts->bytes_at_ns = bytes_at_ns(engine, entry, facts->status_passes);
}

static void charge(struct engine *engine, uint32_t cluster, size_t size) {
    struct status_bytes *bytes = &engine->clusters[cluster].status;
    int64_t now_ns = engine->now.mono_ns;
    engine->stats.clusters[cluster].status_bytes += size;
    if (engine->settings.status_bytes == 0)
        return;
    bytes->reported &= bytes->full_ns - now_ns > BYTES_BURST_NS / 2;
    bucket_spend(&bytes->full_ns, now_ns, (int64_t)(size * (uint64_t)CLOCK_SECOND / engine->settings.status_bytes));
    if (bytes->full_ns - now_ns <= BYTES_BURST_NS)
        return;
    bytes->closed_until_ns = bytes->full_ns - BYTES_BURST_NS + BYTES_PAUSE_NS;
    if (!bytes->reported)
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "statuses of its mirrors wait: they take more space in the management cluster than "
                   "rateLimit.statusBytes allows, %zu bytes a second; first and final ones are still copied",
                   engine->settings.status_bytes);
    bytes->reported = true;
}

// Reports once, after a minute of too many changes; again after half of the tokens have come back.
static void report_changes(struct engine *engine, struct entry *entry) {
    struct status_budget *budget = &entry->workload->status.budget;
    int64_t tokens = tiers[1].burst - (budget->full_ns[1] - engine->now.mono_ns) / tiers[1].token_ns;
    if (tokens > tiers[1].burst / 2)
        budget->reported = false;
    if (tokens > 1 || budget->reported)
        return;
    uint32_t cluster = charged_cluster(entry);
    report_event(engine, entry, false, "StatusDelayed", "CopyStatus",
                 "its status changes more than once a second%s%s: it is copied with delays of up to 30 s, and the "
                 "final one at once",
                 cluster ? " in cluster " : "", cluster ? engine->clusters[cluster].name : "");
    budget->reported = true;
}

void status_budget_sent(struct engine *engine, struct entry *entry) {
    for (size_t i = 0; i < STATUS_TIERS; i++)
        bucket_spend(&entry->workload->status.budget.full_ns[i], engine->now.mono_ns, tiers[i].token_ns);
    report_changes(engine, entry);
}

void status_budget_stored(struct engine *engine, const struct entry *entry, size_t size) {
    uint32_t cluster = charged_cluster(entry);
    if (cluster)
        charge(engine, cluster, size);
}

void status_budget_copied(struct entry *entry, uint32_t attempt, bool is_final) {
    entry->workload->status.budget.first_attempt = attempt;
    if (is_final)
        entry->workload->status.budget.final_attempt = attempt;
}

void status_budget_count(struct engine *engine) {
    for (size_t c = 1; c < engine->n_clusters; c++) {
        const struct status_bytes *bytes = &engine->clusters[c].status;
        engine->stats.clusters[c].statuses_wait =
            bytes->reported && bytes->full_ns - engine->now.mono_ns > BYTES_BURST_NS / 2;
    }
}
