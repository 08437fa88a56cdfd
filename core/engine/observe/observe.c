// SPDX-License-Identifier: Apache-2.0
// Objects from watches, lists and answers become facts and compact text.
#include "core/engine/observe/observe.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/continuity/continuity.h"
#include "core/engine/engine.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/limits/limits.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"
#include "core/json/pointer.h"

#define RESTORES_FREE 3 // of the annotations, before the throttle
#define SHOWN_MAX 64    // bytes of a value in a message

bool observe_is_stale(struct engine *engine, struct doc *doc, bool stub, const struct object *object) {
    if (!doc->text.own)
        return false;
    bool known = true;
    int order = object_version_compare(object_version(object->value), doc_version(&engine->store, doc), &known);
    return known && (order < 0 || (order == 0 && (!stub || object->too_large || object->reduced)));
}

bool observe_is_older(struct engine *engine, const struct entry *entry, const char *version) {
    return entry->workload->facts.exists &&
           object_version_is_older(version, doc_version(&engine->store, &entry->workload->doc));
}

// Rule 12: without a result the former phase stays.
static void read_phase(struct engine *engine, struct entry *entry, const struct json *object) {
    struct workload_facts *w = &entry->workload->facts;
    uint64_t *phases = engine->stats.kinds[entry->kind].phases;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    w->unread = !aside_phase(engine, &call, object, &phase);
    if (w->unread)
        return;
    bool had = entry->workload->phase_read;
    entry->workload->phase_read = true;
    bool finished = phase_is_final(phase.phase), ends = finished && !w->finished;
    if (ends) {
        // Retention starts at the end of the workload, by a remote clock: at the latest now.
        int64_t age_ns = phase.since_ns > 0 ? clock_later(engine->now.wall_ns - phase.since_ns, 0) : 0;
        w->retain_until_ns = clock_after(engine->now.mono_ns - age_ns, engine->settings.mirror_retention_ns);
    }
    w->finished = finished;
    if (finished)
        final_status_drop(entry);
    else
        w->ended = w->foreign_end = w->end_untold = false;
    if (ends && rival_believes_end(engine, entry, phase.phase, had)) {
        attempt_history_finished(engine, entry, &phase);
        if (had) {
            completions_finished(engine, entry);
            report_finished(engine, entry);
        }
    }
    phases[entry->workload->phase]--;
    phases[phase.phase]++;
    entry->workload->phase = (uint8_t)phase.phase;
}

static uint32_t annotated_cluster(const struct engine *engine, const struct json *object) {
    const char *name = object_annotation(object, MARK_CLUSTER);
    if (!name)
        return 0;
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (text_equal(engine->clusters[c].name, name))
            return (uint32_t)c;
    return DECIDE_UNKNOWN_CLUSTER;
}

// The value of a label or annotation, shortened for a message.
static void copy_shown(const char *value, char out[SHOWN_MAX]) {
    text_copy(out, SHOWN_MAX, value ? value : "nothing");
}

static bool is_over(const struct entry *entry, const struct mirror *placed) {
    return entry->workload->facts.finished &&
           !decide_is_disputed(&entry->workload->facts, placed ? &placed->facts : NULL);
}

// The host has to restore the annotations. True: a new case, to report.
static bool begin_restore(const struct engine *engine, struct workload_facts *w, bool was) {
    w->misplaced = true;
    if (!was)
        throttle_next(&w->restores, engine->now.mono_ns, RESTORES_FREE);
    return !was;
}

// The label repeats the annotation, for selectors. The same patch restores both, with the same delays; if the label
// does not last, only the annotation. Workloads placed before the label existed have none.
static void check_label(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                        bool was) {
    struct workload_facts *w = &entry->workload->facts;
    const char *label = object_label(object, MARK_CLUSTER);
    const struct mirror *m = facts_placed_mirror(entry);
    if (!m || !m->facts.proven || cluster != w->cluster || is_over(entry, m))
        return;
    const char *name = engine->clusters[m->facts.cluster].name;
    bool right = text_equal(label, name);
    bool restored = !right && (label || entry->workload->labelled);
    entry->workload->labelled |= right;
    if (!restored || (!was && throttle_is_hot(&w->restores, engine->now.mono_ns, RESTORES_FREE)))
        return;
    char shown[SHOWN_MAX];
    copy_shown(label, shown);
    if (begin_restore(engine, w, was))
        report_event(engine, entry, true, "LabelRestored", "Place",
                     "another writer changed label " MARK_CLUSTER
                     " to %s, which does not move the mirror: the host restores %s",
                     shown, name);
}

static bool is_requested(const struct workload *w, uint32_t cluster, uint32_t attempt) {
    return cluster == w->requested_cluster && attempt == w->requested_attempt;
}

static void check_annotations(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                              uint32_t attempt) {
    struct workload_facts *w = &entry->workload->facts;
    bool was = w->misplaced;
    w->misplaced = false;
    if (!shard_is_held(engine, entry) || !shard_is_fresh(engine, entry)) // another host moves the workload, or did
        return;
    const struct mirror *m = facts_placed_mirror(entry);
    if ((cluster == w->cluster && attempt == w->attempt) || is_requested(entry->workload, cluster, attempt) ||
        is_over(entry, m)) {
        check_label(engine, entry, object, cluster, was);
        return;
    }
    if (!m || !m->facts.proven)
        return;
    char name[SHOWN_MAX], number[SHOWN_MAX];
    copy_shown(object_annotation(object, MARK_CLUSTER), name);
    copy_shown(object_annotation(object, MARK_ATTEMPT), number);
    if (begin_restore(engine, w, was))
        report_event(engine, entry, true, "AnnotationsRestored", "Place",
                     "another writer changed " MARK_CLUSTER " to %s and " MARK_ATTEMPT
                     " to %s, which does not move the mirror: the host restores cluster %s, attempt %u",
                     name, number, engine->clusters[m->facts.cluster].name, m->facts.attempt);
}

static void read_unknown(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown) {
    const char *name =
        entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER ? object_annotation(object, MARK_CLUSTER) : NULL;
    if (name && !was_unknown)
        missing_worker_begin(engine, entry);
    missing_worker_count(engine, entry, name);
}

static void keep_unknown(const struct engine *engine, struct entry *entry, uint32_t cluster, uint32_t attempt) {
    struct workload_facts *w = &entry->workload->facts;
    bool requested = attempt && is_requested(entry->workload, cluster, attempt);
    bool none = w->clean_attempt == w->attempt || w->gone_attempt == w->attempt;
    if (cluster == DECIDE_UNKNOWN_CLUSTER || requested || none || w->finished)
        return;
    w->earlier_until_ns =
        clock_later(w->earlier_until_ns, clock_after(w->unknown_since_ns, engine->settings.worker_lost_timeout_ns));
}

// The placement by the annotations, or the known one while the host has to restore the annotations.
static void read_placement(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown) {
    struct workload_facts *w = &entry->workload->facts;
    uint32_t cluster = annotated_cluster(engine, object), attempt = mirror_attempt(object);
    if (cluster == 0 || attempt == 0)
        cluster = attempt = 0;
    check_annotations(engine, entry, object, cluster, attempt);
    if (w->misplaced) {
        cluster = w->cluster;
        attempt = w->attempt;
    }
    w->record_unsure = false;
    if (was_unknown)
        keep_unknown(engine, entry, cluster, attempt);
    w->cluster = cluster;
    w->attempt = attempt;
}

// The host has to compare the mirrors with a changed workload.
static void read_changes(struct entry *entry, const struct json *object) {
    struct workload *w = entry->workload;
    uint64_t hash = mirror_carry_hash(object, false);
    if (hash == w->carry_hash)
        return;
    w->carry_hash = hash;
    if (w->refusals > 0)
        w->facts.not_before_ns = 0; // the adapter may accept the changed workload
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        m->facts.update_due = true;
        m->carry = CARRY_UNKNOWN;
        m->noop_patch_hash = 0;
        m->dropping_reported = false;
        m->facts.update_at_ns = 0;
    }
}

// The facts that follow from the phase.
static void read_state(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown) {
    const struct workload_facts *w = &entry->workload->facts;
    read_phase(engine, entry, object);
    read_unknown(engine, entry, object, was_unknown);
    bool counts = !w->finished && !w->being_deleted && w->cluster != DECIDE_UNKNOWN_CLUSTER;
    cluster_count_active(engine, entry, counts ? w->cluster : 0);
}

static void read_workload(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    struct workload *w = entry->workload;
    EACH_PART(part, seen) part->seen(engine, entry, object, had);
    text_copy(w->uid, sizeof w->uid, object_uid(object));
    w->generation = object_generation(object);
    w->facts.being_deleted = object_is_being_deleted(object);
    bool was_suspended = w->facts.suspended;
    w->facts.suspended = w->facts.yields || phase_suspend_asked(&engine->kinds[entry->kind]->abi, object);
    if (was_suspended && !w->facts.suspended)
        unstarted_resumed(engine, entry);
    bool was_unknown = had && w->facts.cluster == DECIDE_UNKNOWN_CLUSTER;
    read_placement(engine, entry, object, was_unknown);
    if (w->facts.attempt > 0 || w->facts.suspended || w->facts.being_deleted)
        w->ready_ns = w->facts.attempt == 1 ? w->ready_ns : 0; // counted at the create of the mirror
    else if (w->ready_ns == 0)
        w->ready_ns = engine->received_ns;
    read_state(engine, entry, object, was_unknown);
    read_changes(entry, object);
    w->facts.status_due = true;
}

// The workload is gone or no longer delegated.
static void end_workload(struct engine *engine, struct entry *entry) {
    if (!entry->workload->facts.exists)
        return;
    EACH_PART(part, workload_ends) part->workload_ends(engine, entry);
    engine->stats.kinds[entry->kind].phases[entry->workload->phase]--;
    store_end_workload(&engine->store, entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        retry_mirror(m);
        m->facts.of_workload = m->facts.tried = m->facts.changed = false;
    }
    queue_entry(engine, entry);
}

void observe_set_of_workload(const struct entry *entry, struct mirror *m) {
    m->facts.of_workload = entry->workload->facts.exists && strcmp(m->workload_uid, entry->workload->uid) == 0;
    m->was_of_workload |= m->facts.of_workload;
    m->facts.unsure |= m->facts.of_workload && m->facts.name_only;
}

void observe_workload(struct engine *engine, struct entry *entry, struct object *object) {
    struct workload *w = entry->workload;
    bool had = w->facts.exists, same = strcmp(w->uid, object_uid(object->value)) == 0;
    if (had && (same ? observe_is_stale(engine, &w->doc, w->stub, object)
                     : observe_is_older(engine, entry, object_version(object->value)))) {
        stale_version_listed(engine, entry, object);
        object_free(object);
        return;
    }
    if (had && !same) {
        if (!cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
            orphans_seen_deleted(engine, entry, w->uid);
        end_workload(engine, entry);
        had = false;
    }
    if (!had && !store_begin_workload(entry)) {
        object_free(object);
        return;
    }
    w = entry->workload;
    engine->stats.kinds[entry->kind].phases[WHARF_PENDING] += !had;
    w->listed_older = w->outdated = false;
    bool restored = strcmp(w->doc.version, STORE_VERSION_NONE) == 0;
    struct shared_text text = {0};
    if (had && w->facts.finished && !w->facts.unread && (restored || w->facts.ended))
        text = entry_take_text(&engine->store, entry);
    w->facts.too_large = w->stub = object->too_large;
    entry_set_object(&engine->store, entry, object);
    read_workload(engine, entry, doc_tree(&engine->store, &w->doc), had);
    if (!had && w->facts.attempt > 1) // by an earlier process, in an unknown worker
        w->facts.given_up = DECIDE_GIVEN_UP_SEVERAL;
    restored_finished(engine, entry, &text);
    if (!w->facts.unread)
        rival_observed(engine, entry, had && !restored);
    for (struct mirror *m = entry_mirrors(entry); m && !had; m = mirror_next(m))
        observe_set_of_workload(entry, m);
    queue_entry(engine, entry);
}

bool observe_is_unread(const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    bool unread = w->unread || w->final_unread;
    for (const struct mirror *m = entry_mirrors(entry); m && !unread; m = mirror_next(m))
        unread = m->facts.unread && m->facts.of_workload;
    return unread && w->exists;
}

void observe_again(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    bool first = !w->phase_read, had_finished = w->facts.finished;
    if (w->facts.unread) {
        read_state(engine, entry, doc_tree(&engine->store, &w->doc), true);
        if (!w->facts.unread)
            rival_observed(engine, entry, !first);
        if (!w->facts.unread && had_finished)
            restored_unfinished(engine, entry);
    }
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.unread && m->facts.of_workload)
            observe_mirror_phase(engine, entry, m, doc_tree(&engine->store, &m->doc));
    final_status_read(engine, entry);
}

bool observe_is_delegated(const struct engine *engine, const struct kind *kind, const struct json *object) {
    const char *manager = json_string(pointer_find(object, kind->abi.managed_by));
    return text_equal(manager, kind->managed_by) && strlen(object_uid(object)) < STORE_UID_MAX &&
           !mirror_is_ours(kind, engine->origin, object);
}

// Rule 1: the host drops objects that are not delegated to it.
static void seen_workload(struct engine *engine, size_t kind, struct object *object) {
    const struct kind *k = engine->kinds[kind];
    const char *uid = object_uid(object->value);
    rival_seen(engine, object->value, NULL);
    const char *space = object_namespace(object->value), *name = object_name(object->value);
    bool ours = observe_is_delegated(engine, k, object->value);
    struct entry *entry = store_get(&engine->store, kind, space, name);
    if (!ours)
        limit_forget(engine, uid);
    else if (!entry && !limit_refuses(engine, kind, object->value))
        entry = store_make(&engine->store, kind, space, name);
    if (ours && entry) {
        entry->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
        pause_owned(engine, kind);
        observe_workload(engine, entry, object);
        return;
    }
    if (entry && observe_is_older(engine, entry, object_version(object->value))) {
        entry->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
        stale_version_listed(engine, entry, object);
        object_free(object);
        return;
    }
    if (entry && entry->workload->facts.exists && strcmp(entry->workload->uid, uid) == 0)
        pause_disowned(engine, entry, json_string(pointer_find(object->value, k->abi.managed_by)));
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

// A deletion event has the last state.
static void keep_last_state(struct engine *engine, struct entry *entry, struct mirror *m, struct object **object) {
    if (entry->workload->facts.finished || m->facts.finished || !m->facts.of_workload ||
        observe_is_stale(engine, &m->doc, m->stub || m->reduced, *object))
        return;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    m->facts.unread = !aside_phase(engine, &call, (*object)->value, &phase);
    m->facts.finished = !m->facts.unread && phase_is_final(phase.phase);
    continuity_read(engine, m, (*object)->value);
    m->ended_ns = m->facts.unread ? 0 : phase.since_ns;
    m->stub = (*object)->too_large;
    free(m->reduced);
    m->reduced = TAKE((*object)->reduced);
    mirror_set_object(&engine->store, entry, m, TAKE(*object));
}

static void on_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
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
            keep_last_state(engine, entry, m, &object);
            observe_mirror_gone(engine, entry, m, certain);
        } else if (known) {
            m->outdated = m->facts.busy;
        } else if (m && m->facts.unsure) { // possibly the unsure object
            m->facts.not_before_ns = 0;
            queue_entry(engine, entry);
        }
    }
    object_free(object);
}

static void on_listed(struct engine *engine, size_t cluster, size_t kind) {
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
        on_listed(engine, event->cluster, event->kind);
    else if (event->type == EVENT_GONE)
        on_gone(engine, event->cluster, event->kind, TAKE(event->object));
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
