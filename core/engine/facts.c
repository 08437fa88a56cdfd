// SPDX-License-Identifier: Apache-2.0
// The input of decide() for one entry: pointers to the facts in the store.
#include "core/engine/engine_internal.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"

static struct decide_facts facts_of(const struct engine *engine, const struct entry *entry) {
    bool trusted = cluster_is_identified(engine, ENGINE_MANAGEMENT) && !cluster_is_other(engine, ENGINE_MANAGEMENT);
    struct decide_facts facts = {
        .workload = &entry->workload->facts,
        .busy = entry->busy,
        .mirrors = entry->mirrors,
        .workers = engine->workers[entry->kind],
        .n_clusters = engine->n_clusters,
        .management_connected = trusted && cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind),
        .management_listed = trusted && cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listed,
        .placing = engine->placing,
        .lost_timeout_ns = engine->settings.worker_lost_timeout_ns,
        .now_ns = engine->now.mono_ns};
    EACH_PART(part, facts) part->facts(engine, entry, &facts);
    return facts;
}

struct mirror *facts_placed_mirror(const struct entry *entry) {
    return (struct mirror *)decide_placed(
        &(struct decide_facts){.workload = &entry->workload->facts, .mirrors = entry->mirrors});
}

struct mirror *facts_followed_mirror(const struct engine *engine, const struct entry *entry) {
    struct mirror *placed = facts_placed_mirror(entry);
    if (!placed || engine->workers[entry->kind][placed->facts.cluster].connected) // as decide_followed() does first
        return placed;
    struct decide_facts facts = facts_of(engine, entry);
    return (struct mirror *)decide_followed(&facts);
}

uint32_t facts_placed_cluster(const struct entry *entry) {
    uint32_t cluster = entry->workload->facts.cluster;
    return cluster == DECIDE_UNKNOWN_CLUSTER ? ENGINE_MANAGEMENT : cluster;
}

bool facts_worker_is_lost(const struct engine *engine, const struct entry *entry) {
    uint32_t cluster = entry->workload->facts.cluster;
    return cluster == DECIDE_UNKNOWN_CLUSTER || (cluster && !engine->workers[entry->kind][cluster].connected);
}

const char *facts_worker_name(const struct engine *engine, const struct entry *entry) {
    uint32_t cluster = entry->workload->facts.cluster;
    if (cluster == DECIDE_UNKNOWN_CLUSTER)
        return missing_worker_name(entry);
    return cluster ? engine->clusters[cluster].name : NULL;
}

static void report_quarantined(struct engine *engine, struct entry *entry, const struct decide_facts *facts) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        bool quarantined = decide_is_quarantined(facts, &m->facts);
        if (quarantined == m->quarantine_reported)
            continue;
        m->quarantine_reported = quarantined;
        engine->stats.clusters[m->facts.cluster].quarantined += quarantined ? 1 : UINT64_MAX;
        if (quarantined)
            report_event(
                engine, entry, true, "MirrorHeld", "Place",
                "cluster %s has a mirror of attempt %u that the annotations do not name, and the host cannot prove "
                "that "
                "the mirror is its own: the host neither adopts nor deletes the mirror. Delete the mirror there, or "
                "name it in " MARK_CLUSTER " and " MARK_ATTEMPT,
                engine->clusters[m->facts.cluster].name, m->facts.attempt);
    }
}

// Builds a view only on demand: few workloads need a placement, and few have a restriction.
static struct action decide_with_view(struct engine *engine, struct entry *entry, struct decide_facts facts) {
    bool asks = false;
    facts.asks = &asks;
    struct action action = decide(&facts);
    if (!asks || !placement_is_limited(engine, entry)) {
        placement_queue_note(engine, entry, PLACEMENT_TURN_NONE);
        return action;
    }
    __attribute__((cleanup(placement_view_clear))) struct placement_view view;
    if (!placement_view_make(engine, entry, &view)) {
        action = action_wait_until(engine->now.mono_ns + CLOCK_SECOND, WAITING_BACKOFF, 0);
        action.why = "out of memory for the choice of a worker";
        return action;
    }
    facts.view = &view;
    action = decide(&facts);
    if (action.type == ACTION_PLACE)
        action = scoring_decide(engine, entry, &view, &facts, action);
    bool starts = action.type == ACTION_PLACE || action.type == ACTION_CREATE;
    if (starts && placement_queue_overtakes(engine, entry, action.cluster))
        return action_blocked(WAITING_MAX_ACTIVE, 0);
    bool waits = action.type == ACTION_NONE || action.type == ACTION_WAIT;
    enum placement_turn turn = view.waits_for_limit ? PLACEMENT_TURN_WANTED : PLACEMENT_TURN_NONE;
    placement_queue_note(engine, entry, waits ? turn : PLACEMENT_TURN_USED);
    return action;
}

struct action facts_decide(struct engine *engine, struct entry *entry) {
    // Without a key the annotations are the only proof.
    struct mirror *placed = seal_keys_any(engine->seals) ? NULL : facts_placed_mirror(entry);
    if (placed)
        placed->facts.proven = true;
    struct decide_facts facts = facts_of(engine, entry);
    report_quarantined(engine, entry, &facts);
    struct action action = decide_with_view(engine, entry, facts);
    // The choice of a worker may have asked the adapter for the pods.
    return !facts.adapter_waits && aside_waits(entry) ? action_blocked(WAITING_ADAPTER, 0) : action;
}
