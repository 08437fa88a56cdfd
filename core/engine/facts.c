// SPDX-License-Identifier: Apache-2.0
// The input of decide() for one entry: pointers to the facts where they are kept.
#include "core/engine/facts.h"

#include "core/engine/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror.h"
#include "core/engine/report.h"
#include "core/engine/unknown.h"

static struct decide_facts facts_of(const struct engine *engine, const struct entry *entry) {
    const struct watch_state *management = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    bool trusted = cluster_is_identified(engine, ENGINE_MANAGEMENT) && !cluster_is_other(engine, ENGINE_MANAGEMENT);
    return (struct decide_facts){.workload = &entry->facts,
                                 .mirrors = entry->mirrors,
                                 .workers = engine->workers[entry->kind],
                                 .n_clusters = engine->n_clusters,
                                 .management_connected =
                                     trusted && cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind),
                                 .management_listed = trusted && management->listed,
                                 .placing = engine->placing,
                                 .settle_time_is_over = entry->kind < engine->n_settled,
                                 .status_at_ns = management->status_at_ns,
                                 .lost_timeout_ns = engine->lost_timeout_ns,
                                 .now_ns = engine->now.mono_ns};
}

struct mirror *facts_placed_mirror(const struct entry *entry) {
    return (struct mirror *)decide_placed(&(struct decide_facts){.workload = &entry->facts, .mirrors = entry->mirrors});
}

struct mirror *facts_followed_mirror(const struct engine *engine, const struct entry *entry) {
    struct decide_facts facts = facts_of(engine, entry);
    return (struct mirror *)decide_followed(&facts);
}

// It is placed in a worker that is unreachable or not in the configuration.
bool facts_worker_is_lost(const struct engine *engine, const struct entry *entry) {
    return entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER ||
           (entry->facts.cluster && !engine->workers[entry->kind][entry->facts.cluster].connected);
}

const char *facts_worker_name(const struct engine *engine, const struct entry *entry) {
    if (entry->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        return entry->facts.cluster ? engine->names[entry->facts.cluster] : NULL;
    return entry->unknown ? entry->unknown->name : NULL;
}

static void report_held(struct engine *engine, struct entry *entry, const struct decide_facts *facts) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        bool held = decide_is_held(facts, &m->facts);
        if (held == m->unproven_reported)
            continue;
        m->unproven_reported = held;
        engine->stats.clusters[m->facts.cluster].unproven += held ? 1 : UINT64_MAX;
        if (held)
            report_event(
                engine, entry, true, "MirrorHeld", "Place",
                "cluster %s has a mirror of attempt %u that the annotations do not name and that cannot be proven to "
                "be this host's: it is neither adopted nor deleted. Delete it there, or name it in " MARK_CLUSTER
                " and " MARK_ATTEMPT,
                engine->names[m->facts.cluster], m->facts.attempt);
    }
}

struct action facts_decide(struct engine *engine, struct entry *entry) {
    // Without a key the annotations are the only proof.
    struct mirror *placed = seal_keys_any(engine->seals) ? NULL : facts_placed_mirror(entry);
    if (placed)
        placed->facts.proven = true;
    struct decide_facts facts = facts_of(engine, entry);
    report_held(engine, entry, &facts);
    return decide(&facts);
}
