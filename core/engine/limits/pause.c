// SPDX-License-Identifier: Apache-2.0
// Rules 8 and 9. Paused kinds.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/limits/limits.h"
#include "core/engine/report/report.h"

#include <inttypes.h>

#define STATUS_FIRST_NS (30 * CLOCK_SECOND)
#define STATUS_MAX_NS (10 * CLOCK_MINUTE)
#define STATUS_TRIAL_NS (1 * CLOCK_SECOND) // delay of all other writes after a trial write

static void mark(struct engine *engine, size_t cluster, size_t kind, enum pause why, bool on) {
    struct watch_state *watch = cluster_watch(engine, cluster, kind);
    watch->paused = (uint8_t)(on ? watch->paused | why : watch->paused & ~(unsigned)why);
    engine->stats.clusters[cluster].watches[kind].paused = watch->paused != 0;
}

bool pause_has_room(struct engine *engine, size_t cluster, size_t kind) {
    bool listed = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->listed;
    size_t max = engine->settings.max_orphans * (listed ? 1 : ENGINE_UNLISTED);
    struct watch_state *watch = cluster_watch(engine, cluster, kind);
    if (engine->settings.max_orphans == 0 || engine->clusters[cluster].limits.names < max)
        return true;
    watch->overflowed = true;
    if (watch->paused & PAUSE_FULL)
        return false;
    mark(engine, cluster, kind, PAUSE_FULL, true);
    cluster_changed(engine, cluster);
    report_log(
        engine, LOG_WARN, cluster, kind,
        "the kind is paused: there are more than %zu orphans (mirrors without a workload), and the host ignores the "
        "rest. Nothing new is placed there until a list has fewer; delete some",
        max);
    return false;
}

void pause_listed(struct engine *engine, size_t cluster, size_t kind) {
    struct watch_state *watch = cluster_watch(engine, cluster, kind);
    if ((watch->paused & PAUSE_FULL) && !watch->overflowed) {
        mark(engine, cluster, kind, PAUSE_FULL, false);
        report_log(engine, LOG_INFO, cluster, kind, "the kind is no longer paused");
    }
    watch->overflowed = false;
}

static void list_ignored(struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (cluster_watch(engine, cluster, k)->paused & PAUSE_FULL)
            cluster_relist(engine, cluster, k);
}

void pause_orphan_gone(struct engine *engine, size_t cluster) {
    size_t names = engine->clusters[cluster].limits.names;
    if (names == engine->settings.max_orphans / 2 || names == 0)
        list_ignored(engine, cluster);
}

void pause_limit_grew(struct engine *engine) {
    engine->limits.grew = false;
    for (size_t c = 0; c < engine->n_clusters; c++)
        list_ignored(engine, c);
}

void pause_disowned(struct engine *engine, struct entry *entry, const char *manager) {
    const struct kind *kind = engine->kinds[entry->kind];
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    report_event(engine, entry, true, "NotDelegated", "Leave",
                 "%s was %s and is %s now: the host no longer handles the object, and the mirror is an orphan",
                 kind->abi.managed_by, kind->managed_by, manager ? manager : "unset");
    watch->disowned++;
    if (limits_count_workloads(engine, entry->kind) > 1 || (manager && watch->disowned == 1) ||
        (watch->paused & PAUSE_DISOWNED))
        return;
    mark(engine, ENGINE_MANAGEMENT, entry->kind, PAUSE_DISOWNED, true);
    cluster_suspect_deletions(engine, entry->kind, false);
    report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, entry->kind,
               "the kind is paused: no object is delegated to this host any longer, %" PRIu32
               " were; the host holds the mirrors. If the CRD has lost %s, restore it",
               watch->disowned, kind->abi.managed_by);
}

void pause_owned(struct engine *engine, size_t kind) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    if (watch->disowned == 0 && !(watch->paused & PAUSE_DISOWNED))
        return;
    watch->disowned = 0;
    if (watch->paused & PAUSE_DISOWNED)
        report_log(engine, LOG_INFO, ENGINE_MANAGEMENT, kind, "the kind has delegated objects again");
    mark(engine, ENGINE_MANAGEMENT, kind, PAUSE_DISOWNED, false);
}

// Without the field no object of the kind can be delegated: the server stores new objects without the field, and
// existing objects have lost the field.
void pause_set_field(struct engine *engine, size_t kind, bool lacks) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    bool known = watch->paused & PAUSE_FIELD;
    if (lacks)
        cluster_suspect_deletions(engine, kind, false);
    if (lacks == known)
        return;
    mark(engine, ENGINE_MANAGEMENT, kind, PAUSE_FIELD, lacks);
    engine->stats.clusters[ENGINE_MANAGEMENT].watches[kind].no_field = lacks;
    if (lacks)
        report_log(
            engine, LOG_WARN, ENGINE_MANAGEMENT, kind,
            "the kind is not handled: the API of the management cluster does not have the field %s and drops the "
            "field, so "
            "nothing can be delegated, and new objects with the field run in the management cluster; upgrade the "
            "kind's CRD, or Kubernetes (docs/kinds.md has the least versions)",
            engine->kinds[kind]->abi.managed_by);
    else
        report_log(engine, LOG_INFO, ENGINE_MANAGEMENT, kind, "the kind is handled: the API has the field %s now",
                   engine->kinds[kind]->abi.managed_by);
}

void pause_adapter(struct engine *engine, size_t kind, bool on) {
    mark(engine, ENGINE_MANAGEMENT, kind, PAUSE_ADAPTER, on);
}

void pause_status_sent(struct engine *engine, size_t kind) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    if (watch->paused & PAUSE_STATUS)
        watch->status_at_ns = engine->now.mono_ns + STATUS_TRIAL_NS;
}

void pause_status_answered(struct engine *engine, size_t kind, enum reason reason) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    if (reason == REASON_KIND_NOT_FOUND) {
        watch->status_failures++;
        watch->status_at_ns =
            engine->now.mono_ns + backoff_ns(engine, watch->status_failures, STATUS_FIRST_NS, STATUS_MAX_NS);
        if (!(watch->paused & PAUSE_STATUS))
            report_log(
                engine, LOG_WARN, ENGINE_MANAGEMENT, kind,
                "the kind is paused: there is no status subresource (404), so the host writes no status, and retries "
                "with a backoff; check the CRD");
        mark(engine, ENGINE_MANAGEMENT, kind, PAUSE_STATUS, true);
    } else if (reason == REASON_OK && (watch->paused & PAUSE_STATUS)) {
        watch->status_failures = 0;
        watch->status_at_ns = 0;
        mark(engine, ENGINE_MANAGEMENT, kind, PAUSE_STATUS, false);
        report_log(engine, LOG_INFO, ENGINE_MANAGEMENT, kind, "the host writes the status again");
        cluster_changed(engine, ENGINE_MANAGEMENT);
    }
}
