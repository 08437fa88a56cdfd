// SPDX-License-Identifier: Apache-2.0
// What is known of one entry, as decide() is told it.
#include "core/engine/engine_internal.h"

#define STATUS_REFUSALS 2 // from then on they hold nothing up

static int64_t later(int64_t a_ns, int64_t b_ns) {
    return a_ns > b_ns ? a_ns : b_ns;
}

// What was held back because it was repeated may be done again.
static bool is_due(const struct engine *engine, bool held, const struct throttle *throttle) {
    return held && throttle->last_ns <= engine->now.mono_ns;
}

static size_t mirror_list(const struct engine *engine, const struct entry *entry, struct mirror_facts *facts) {
    size_t n = 0;
    // Without a key the annotations are all the proof that there is.
    struct mirror *placed = seal_keys_any(engine->seals) ? NULL : act_placed_mirror(entry);
    if (placed)
        placed->proven = true;
    for (const struct mirror *m = entry->mirrors; m; m = m->next) {
        facts[n++] = (struct mirror_facts){.cluster = m->cluster,
                                           .present = m->doc.text,
                                           .of_workload = m->of_workload,
                                           .being_deleted = m->being_deleted,
                                           .busy = m->command != 0,
                                           .unsure = m->unsure,
                                           .update_due = m->update_due && !m->too_large,
                                           .finished = m->finished,
                                           .finalizer = m->finalizer,
                                           .condemned = m->condemned,
                                           .proven = m->proven,
                                           .attempt = m->attempt,
                                           .not_before_ns = later(m->not_before_ns, m->held_until_ns),
                                           .update_at_ns = m->update_at_ns,
                                           .excluded_until_ns = m->excluded_until_ns};
    }
    return n;
}

static void tell_held(struct engine *engine, struct entry *entry, const struct decide_facts *facts) {
    const struct mirror_facts *fact = facts->mirrors;
    for (struct mirror *m = entry->mirrors; m; m = m->next, fact++) {
        bool held = decide_is_held(facts, fact);
        if (held == m->doubted)
            continue;
        m->doubted = held;
        engine->stats.clusters[m->cluster].doubted += held ? 1 : UINT64_MAX;
        if (held)
            command_note(
                engine, entry, true, "MirrorHeld", "Place",
                "cluster %s has a mirror of attempt %u that the annotations do not name, and nothing proves "
                "that it is ours: it is neither adopted nor deleted. Delete it there, or name it in " MARK_CLUSTER
                " and " MARK_ATTEMPT,
                engine->names[m->cluster], m->attempt);
    }
}

struct action facts_decide(struct engine *engine, struct entry *entry) {
    struct mirror_facts *mirrors = engine->mirror_facts; // there is at most one mirror a cluster
    const struct feed *management = engine_feed(engine, ENGINE_MANAGEMENT, entry->kind);
    bool trusted = identity_is_read(engine, ENGINE_MANAGEMENT) && !identity_is_other(engine, ENGINE_MANAGEMENT);
    const struct mirror *current = act_current_mirror(engine, entry);
    bool unread = current && current->by_name; // it is asked for first
    struct workload_facts workload = {
        .exists = entry->workload.text,
        .being_deleted = entry->being_deleted,
        .finished = entry->finished,
        .suspended = entry->suspended,
        .attempt = entry->attempt,
        .gone_attempt = entry->gone_attempt,
        .cluster = entry->cluster == ENTRY_UNKNOWN_CLUSTER ? DECIDE_UNKNOWN_CLUSTER : entry->cluster,
        .clean_attempt = entry->clean_attempt,
        .busy = entry->command != 0,
        .status_due = !unread && (entry->status_due || is_due(engine, entry->status_held, &entry->statuses)),
        .status_at_ns = management->status_at_ns,
        .status_held_ns = entry->status_held ? entry->statuses.last_ns : 0,
        .place_after_ns = entry->places.last_ns,
        .too_large = entry->too_large,
        .status_refused = entry->status_refusals >= STATUS_REFUSALS,
        .last_word = last_word_counts(entry),
        .not_before_ns = entry->not_before_ns,
        .unknown_since_ns = entry->unknown_since_ns,
        .retain_until_ns = entry->retain_until_ns,
        .misplaced = entry->misplaced,
        .restore_at_ns = entry->restore_at_ns};
    struct decide_facts facts = {.workload = &workload,
                                 .mirrors = mirrors,
                                 .n_mirrors = mirror_list(engine, entry, mirrors),
                                 .workers = engine->workers[entry->kind],
                                 .n_clusters = engine->n_clusters,
                                 .management_connected =
                                     trusted && engine_connected(engine, ENGINE_MANAGEMENT, entry->kind),
                                 .management_listed = trusted && management->listed,
                                 .placing = engine->placing,
                                 .settle_time_is_over = engine->settle_over,
                                 .lost_timeout_ns = engine->lost_timeout_ns,
                                 .now_ns = engine->now.mono_ns};
    tell_held(engine, entry, &facts);
    return decide(&facts);
}
