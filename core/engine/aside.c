// SPDX-License-Identifier: Apache-2.0
// Kinds that are set aside in one cluster, told in the log and in a metric: in the management cluster, because its
// objects are not ours any more all at once or because their status cannot be written; in a worker, because it shows
// more mirrors without a workload than are kept.
#include "core/engine/engine_internal.h"

#include <inttypes.h>

#define FULL_UNLISTED 8 // times as many, as long as it is not known which of them have a workload
#define STATUS_FIRST_NS (30 * CLOCK_SECOND)
#define STATUS_MAX_NS (10 * CLOCK_MINUTE)
#define STATUS_TRIAL_NS (1 * CLOCK_SECOND) // so long the others wait for the one that tries

static void mark(struct engine *engine, size_t cluster, size_t kind, enum aside why, bool on) {
    struct feed *feed = engine_feed(engine, cluster, kind);
    feed->aside = (uint8_t)(on ? feed->aside | why : feed->aside & ~(unsigned)why);
    engine->stats.clusters[cluster].feeds[kind].aside = feed->aside != 0;
}

bool aside_takes(struct engine *engine, size_t cluster, size_t kind) {
    bool listed = engine_feed(engine, ENGINE_MANAGEMENT, kind)->listed;
    size_t max = engine->max_orphans * (listed ? 1 : FULL_UNLISTED);
    struct feed *feed = engine_feed(engine, cluster, kind);
    if (engine->max_orphans == 0 || engine->orphans[cluster].names < max)
        return true;
    feed->overflowed = true;
    if (feed->aside & ASIDE_FULL)
        return false;
    mark(engine, cluster, kind, ASIDE_FULL, true);
    engine_cluster_changed(engine, cluster);
    engine_remark(engine, true, cluster, kind,
                  "the kind is set aside: there are more than %zu mirrors without a workload, which are not looked at. "
                  "Nothing new is placed there until a list has fewer",
                  max);
    return false;
}

void aside_listed(struct engine *engine, size_t cluster, size_t kind) {
    struct feed *feed = engine_feed(engine, cluster, kind);
    if ((feed->aside & ASIDE_FULL) && !feed->overflowed) {
        mark(engine, cluster, kind, ASIDE_FULL, false);
        engine_remark(engine, false, cluster, kind, "the kind is not set aside any more");
    }
    feed->overflowed = false;
}

void aside_gone(struct engine *engine, size_t cluster) {
    size_t names = engine->orphans[cluster].names;
    if (names != engine->max_orphans / 2 && names != 0)
        return;
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (engine_feed(engine, cluster, k)->aside & ASIDE_FULL)
            engine_relist(engine, cluster, k);
}

void aside_disowned(struct engine *engine, struct entry *entry, const char *manager) {
    const struct kind *kind = engine->kinds[entry->kind];
    struct feed *feed = engine_feed(engine, ENGINE_MANAGEMENT, entry->kind);
    command_note(engine, entry, true, "NotDelegated", "Leave",
                 "%s was %s and is %s now: it is left alone, and its mirror is one without a workload",
                 kind->abi.managed_by, kind->managed_by, manager ? manager : "not there");
    feed->disowned++;
    uint64_t left = 0;
    for (size_t p = 0; p < STATS_PHASES; p++)
        left += engine->stats.kinds[entry->kind].phases[p];
    if (left > 1 || (manager && feed->disowned == 1) || (feed->aside & ASIDE_DISOWNED))
        return;
    mark(engine, ENGINE_MANAGEMENT, entry->kind, ASIDE_DISOWNED, true);
    orphans_suspect(engine, entry->kind, false);
    engine_remark(engine, true, ENGINE_MANAGEMENT, entry->kind,
                  "the kind is set aside: none of its objects is delegated to this host any more, %" PRIu32
                  " were. If its CRD has lost %s, put that back; their mirrors are held",
                  feed->disowned, kind->abi.managed_by);
}

void aside_owned(struct engine *engine, size_t kind) {
    struct feed *feed = engine_feed(engine, ENGINE_MANAGEMENT, kind);
    if (feed->disowned == 0 && !(feed->aside & ASIDE_DISOWNED))
        return;
    feed->disowned = 0;
    if (feed->aside & ASIDE_DISOWNED)
        engine_remark(engine, false, ENGINE_MANAGEMENT, kind, "objects of the kind are delegated again");
    mark(engine, ENGINE_MANAGEMENT, kind, ASIDE_DISOWNED, false);
}

void aside_status_sent(struct engine *engine, size_t kind) {
    struct feed *feed = engine_feed(engine, ENGINE_MANAGEMENT, kind);
    if (feed->aside & ASIDE_STATUS)
        feed->status_at_ns = engine->now.mono_ns + STATUS_TRIAL_NS;
}

void aside_status_answered(struct engine *engine, size_t kind, enum reason reason) {
    struct feed *feed = engine_feed(engine, ENGINE_MANAGEMENT, kind);
    if (reason == REASON_KIND_NOT_FOUND) {
        feed->status_failures++;
        feed->status_at_ns =
            engine->now.mono_ns + answer_backoff_ns(engine, feed->status_failures, STATUS_FIRST_NS, STATUS_MAX_NS);
        if (!(feed->aside & ASIDE_STATUS))
            engine_remark(engine, true, ENGINE_MANAGEMENT, kind,
                          "the kind is set aside: it has no status subresource (404), so no status is written; "
                          "that is tried again with growing waits");
        mark(engine, ENGINE_MANAGEMENT, kind, ASIDE_STATUS, true);
    } else if (reason == REASON_OK && (feed->aside & ASIDE_STATUS)) {
        feed->status_failures = 0;
        feed->status_at_ns = 0;
        mark(engine, ENGINE_MANAGEMENT, kind, ASIDE_STATUS, false);
        engine_remark(engine, false, ENGINE_MANAGEMENT, kind, "the kind's status is written again");
        engine_cluster_changed(engine, ENGINE_MANAGEMENT);
    }
}
