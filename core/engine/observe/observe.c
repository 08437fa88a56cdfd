// SPDX-License-Identifier: Apache-2.0
// Objects from watches, lists and answers become facts and compact text.
#include "core/engine/observe/observe.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/engine.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/history/changes.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/kueue/kueue_status.h"
#include "core/engine/limits/limit.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/limits/pause.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/observe_parts.h"
#include "core/engine/observe/restored.h"
#include "core/engine/observe/stale_version.h"
#include "core/engine/part.h"
#include "core/engine/placement/completions.h"
#include "core/engine/placement/placement_rules.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/call.h"
#include "core/engine/status/final_status.h"
#include "core/engine/status/retry.h"
#include "core/engine/status/rival.h"
#include "core/engine/unstarted/unstarted.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

bool observe_is_stale(struct engine *engine, struct doc *doc, bool stub, const struct object *object) {
    if (!doc->text.own)
        return false;
    bool known = true;
    int order = object_version_compare(object_version(object->value), doc_version(&engine->store, doc), &known);
    return known && (order < 0 || (order == 0 && (!stub || object->too_large || object->reduced)));
}

static void set_phase(struct engine *engine, struct entry *entry, bool had, uint8_t phase, bool has) {
    struct stats_kind *kind = &engine->stats.kinds[entry->kind];
    if (had)
        kind->phases[entry->workload->phase]--;
    if (has)
        kind->phases[phase]++;
    entry->workload->phase = phase;
}

static void read_phase(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    wharf_result result = adapter_phase(&call, object, &phase);
    if (result != WHARF_OK) {
        engine->stats.kinds[entry->kind].adapter_errors++;
        phase = (wharf_phase){.phase = WHARF_ACTIVE};
    }
    bool finished = phase.phase == WHARF_SUCCEEDED || phase.phase == WHARF_FAILED;
    if (finished && !entry->workload->facts.finished) {
        // Retention starts at the end of the workload, by a remote clock: at the latest now.
        int64_t age_ns = phase.since_ns > 0 ? engine->now.wall_ns - phase.since_ns : 0;
        if (age_ns < 0)
            age_ns = 0;
        entry->workload->facts.retain_until_ns =
            clock_after(engine->now.mono_ns - age_ns, engine->settings.mirror_retention_ns);
    }
    bool was_finished = entry->workload->facts.finished;
    entry->workload->facts.finished = finished;
    if (finished)
        final_status_drop(entry);
    if (!finished)
        entry->workload->facts.ended = entry->workload->facts.foreign_end = entry->workload->facts.end_untold = false;
    if (finished && !was_finished && rival_believes_end(engine, entry, phase.phase, had)) {
        attempt_history_finished(engine, entry, &phase);
        if (had) {
            completions_finished(engine, entry);
            report_finished(engine, entry);
        }
    }
    set_phase(engine, entry, had, (uint8_t)phase.phase, true);
    adapter_call_end(&call);
}

static void read_workload(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    const struct kind *kind = engine->kinds[entry->kind];
    EACH_PART(part, seen) part->seen(engine, entry, object, had);
    text_copy(entry->workload->uid, sizeof entry->workload->uid, object_uid(object));
    entry->workload->generation = object_generation(object);
    entry->workload->facts.being_deleted = object_is_being_deleted(object);
    bool resumed = entry->workload->facts.suspended;
    entry->workload->facts.suspended = phase_suspend_asked(&kind->abi, object);
    if (resumed && !entry->workload->facts.suspended)
        unstarted_resumed(engine, entry);
    uint32_t cluster = observe_annotated_cluster(engine, object), attempt = mirror_attempt(object);
    if (cluster == 0 || attempt == 0)
        cluster = attempt = 0;
    observe_check_annotations(engine, entry, object, cluster, attempt);
    if (entry->workload->facts.misplaced) {
        cluster = entry->workload->facts.cluster;
        attempt = entry->workload->facts.attempt;
    }
    entry->workload->facts.record_unsure = false;
    bool was_unknown = had && entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER;
    if (was_unknown)
        observe_keep_unknown(engine, entry, cluster, attempt);
    entry->workload->facts.cluster = cluster;
    entry->workload->facts.attempt = attempt;
    if (attempt > 0 || entry->workload->facts.suspended || entry->workload->facts.being_deleted)
        entry->workload->ready_ns = attempt == 1 ? entry->workload->ready_ns : 0; // counted at the create of the mirror
    else if (entry->workload->ready_ns == 0)
        entry->workload->ready_ns = engine->received_ns;
    read_phase(engine, entry, object, had);
    observe_read_unknown(engine, entry, object, was_unknown);
    bool counts =
        !entry->workload->facts.finished && !entry->workload->facts.being_deleted && cluster != DECIDE_UNKNOWN_CLUSTER;
    cluster_count_active(engine, entry, counts ? cluster : 0);
    uint64_t hash = mirror_carry_hash(object, false);
    if (hash != entry->workload->carry_hash) {
        entry->workload->carry_hash = hash;
        if (entry->workload->refusals > 0)
            entry->workload->facts.not_before_ns = 0; // the changed workload may be accepted
        for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
            m->facts.update_due = true;
            m->carry = CARRY_UNKNOWN;
            m->noop_patch_hash = 0;
            m->dropping_reported = false;
            m->facts.update_at_ns = 0;
        }
    }
    entry->workload->facts.status_due = true;
}

// The workload is gone or no longer delegated.
static void end_workload(struct engine *engine, struct entry *entry) {
    if (!entry->workload->facts.exists)
        return;
    EACH_PART(part, workload_ends) part->workload_ends(engine, entry);
    set_phase(engine, entry, true, 0, false);
    store_end_workload(&engine->store, entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        retry_mirror(m);
        m->facts.of_workload = m->facts.tried = false;
    }
    queue_entry(engine, entry);
}

void observe_set_of_workload(const struct entry *entry, struct mirror *m) {
    m->facts.of_workload = entry->workload->facts.exists && strcmp(m->workload_uid, entry->workload->uid) == 0;
    m->was_of_workload |= m->facts.of_workload;
    m->facts.unsure |= m->facts.of_workload && m->facts.name_only;
}

void observe_workload(struct engine *engine, struct entry *entry, struct object *object) {
    bool had = entry->workload->facts.exists;
    if (had && strcmp(entry->workload->uid, object_uid(object->value)) != 0) {
        if (!cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
            orphans_seen_deleted(engine, entry, entry->workload->uid);
        end_workload(engine, entry);
        had = false;
    }
    if (!had && !store_begin_workload(entry)) {
        object_free(object);
        return;
    }
    if (had && observe_is_stale(engine, &entry->workload->doc, entry->workload->stub, object)) {
        stale_version_listed(engine, entry, object);
        object_free(object);
        return;
    }
    entry->workload->listed_older = false;
    bool restored = strcmp(entry->workload->doc.version, STORE_VERSION_NONE) == 0;
    bool had_finished = had && entry->workload->facts.finished && (restored || entry->workload->facts.ended);
    struct shared_text text = {0};
    if (had_finished)
        text = entry_take_text(&engine->store, entry);
    entry->workload->facts.too_large = entry->workload->stub = object->too_large;
    entry_set_object(&engine->store, entry, object);
    read_workload(engine, entry, doc_tree(&engine->store, &entry->workload->doc), had);
    if (!had && entry->workload->facts.attempt > 1) // by an earlier process, in an unknown worker
        entry->workload->facts.given_up = DECIDE_GIVEN_UP_SEVERAL;
    restored_finished(engine, entry, &text, restored);
    rival_observed(engine, entry, had && !restored);
    for (struct mirror *m = entry_mirrors(entry); m && !had; m = mirror_next(m))
        observe_set_of_workload(entry, m);
    queue_entry(engine, entry);
}

// Rule 1: the host drops objects that are not delegated to it.
static void seen_workload(struct engine *engine, size_t kind, struct object *object) {
    const struct kind *k = engine->kinds[kind];
    rival_seen(engine, object->value);
    const char *space = object_namespace(object->value), *name = object_name(object->value);
    const char *manager = json_string(pointer_find(object->value, k->abi.managed_by));
    bool ours = manager && strcmp(manager, k->managed_by) == 0 && strlen(object_uid(object->value)) < STORE_UID_MAX;
    struct entry *entry = store_get(&engine->store, kind, space, name);
    if (ours && !entry && limit_refuses(engine, kind, object->value)) {
        object_free(object);
        return;
    }
    if (ours && !entry)
        entry = store_make(&engine->store, kind, space, name);
    if (!ours)
        limit_forget(engine, object_uid(object->value));
    if (ours && entry) {
        entry->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
        pause_owned(engine, kind);
        observe_workload(engine, entry, object);
        return;
    }
    if (entry && entry->workload->facts.exists && strcmp(entry->workload->uid, object_uid(object->value)) == 0)
        pause_disowned(engine, entry, manager);
    if (entry)
        end_workload(engine, entry);
    object_free(object);
}

void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    if (cluster == ENGINE_MANAGEMENT)
        seen_workload(engine, kind, object);
    else
        observe_seen_mirror(engine, cluster, kind, object);
}

// A deletion event has the last state: the mirror may have finished meanwhile.
static void take_last_state(struct engine *engine, struct entry *entry, struct mirror *m, struct object **object) {
    if (entry->workload->facts.finished || m->facts.finished ||
        observe_is_stale(engine, &m->doc, m->stub || m->reduced, *object) ||
        !final_status_reached(engine, entry, (*object)->value, NULL))
        return;
    m->stub = (*object)->too_large;
    free(m->reduced);
    m->reduced = TAKE((*object)->reduced);
    mirror_set_object(&engine->store, entry, m, *object);
    *object = NULL;
    m->facts.finished = true;
}

void observe_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    const struct json *value = object->value;
    struct entry *entry = store_get(&engine->store, kind, object_namespace(value), object_name(value));
    if (cluster == ENGINE_MANAGEMENT)
        limit_forget(engine, object_uid(value));
    if (entry && cluster == ENGINE_MANAGEMENT) {
        orphans_seen_deleted(engine, entry, object_uid(value));
        if (strcmp(entry->workload->uid, object_uid(value)) == 0)
            end_workload(engine, entry);
    } else if (entry) {
        struct mirror *m = entry_mirror(entry, cluster);
        bool known = m && strcmp(m->uid, object_uid(value)) == 0;
        if (known && m->facts.present) {
            bool certain = object_is_being_deleted(value);
            take_last_state(engine, entry, m, &object);
            observe_mirror_gone(engine, entry, m, certain);
        } else if (known)
            m->outdated = m->facts.busy;
        else if (m && m->facts.unsure) { // possibly the unsure object
            m->facts.not_before_ns = 0;
            queue_entry(engine, entry);
        }
    }
    object_free(object);
}

void observe_listed(struct engine *engine, size_t cluster, size_t kind) {
    uint32_t epoch = cluster_watch(engine, cluster, kind)->epoch;
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        if (cluster == ENGINE_MANAGEMENT && e->epoch != epoch)
            end_workload(engine, e);
        struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(e, cluster);
        if (m && m->facts.present && m->epoch != epoch)
            observe_mirror_gone(engine, e, m, false);
        queue_entry(engine, e);
    }
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_LISTED)
        observe_listed(engine, event->cluster, event->kind);
    else if (event->type == EVENT_GONE)
        observe_gone(engine, event->cluster, event->kind, TAKE(event->object));
    else if (event->object)
        observe_seen(engine, event->cluster, event->kind, TAKE(event->object));
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    engine->observe.adopt_until_ns = options->adopt_until_ns;
    return NULL;
}

const struct part part_observe = {.name = "observation",
                                  .begin = begin,
                                  .events = PART_EVENT(EVENT_SEEN) | PART_EVENT(EVENT_GONE) | PART_EVENT(EVENT_LISTED),
                                  .event = on_event};
