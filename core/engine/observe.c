// SPDX-License-Identifier: Apache-2.0
// Processes objects from watches, lists and answers into facts and compact text.
#include "core/engine/observe.h"

#include "core/adapter/phase.h"
#include "core/engine/call.h"
#include "core/engine/changes.h"
#include "core/engine/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"
#include "core/engine/final_status.h"
#include "core/engine/finalizer.h"
#include "core/engine/kueue.h"
#include "core/engine/mirror.h"
#include "core/engine/news.h"
#include "core/engine/orphans.h"
#include "core/engine/pause.h"
#include "core/engine/queue.h"
#include "core/engine/report.h"
#include "core/engine/retry.h"
#include "core/engine/rewound.h"
#include "core/engine/story.h"
#include "core/engine/unknown.h"
#include "core/engine/waiting.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define UNSEALED_REPORTED 8 // per cluster, before the log line is throttled
#define RESTORES_FREE 3     // of the annotations, before it is throttled

// True if `object` is not newer than the stored one: the watch may lag behind an answer.
// `stub`: the known one is; then the whole object of the same version is news (maxObjectSize was raised).
static bool is_stale(struct engine *engine, struct doc *doc, bool stub, const struct object *object) {
    if (!doc->text.own)
        return false;
    bool known = true;
    int order = object_version_compare(object_version(object->value), doc_version(&engine->store, doc), &known);
    return known && (order < 0 || (order == 0 && (!stub || object->too_large)));
}

static uint32_t annotated_cluster(const struct engine *engine, const struct json *object) {
    const char *name = object_annotation(object, MARK_CLUSTER);
    if (!name)
        return 0;
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (text_equal(engine->names[c], name))
            return (uint32_t)c;
    return DECIDE_UNKNOWN_CLUSTER;
}

static void set_phase(struct engine *engine, struct entry *entry, bool had, uint8_t phase, bool has) {
    struct stats_kind *kind = &engine->stats.kinds[entry->kind];
    if (had)
        kind->phases[entry->phase]--;
    if (has)
        kind->phases[phase]++;
    entry->phase = phase;
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
    if (finished && !entry->facts.finished) {
        // Retention starts when it finished, by a remote clock: at the latest now.
        int64_t age_ns = phase.since_ns > 0 ? engine->now.wall_ns - phase.since_ns : 0;
        if (age_ns < 0)
            age_ns = 0;
        entry->facts.retain_until_ns = engine->now.mono_ns - age_ns + engine->retention_ns;
    }
    bool was_finished = entry->facts.finished;
    entry->facts.finished = finished;
    if (finished)
        final_status_drop(entry);
    if (finished && !was_finished)
        story_finished(engine, entry, &phase);
    if (finished && !was_finished && had)
        news_finished(engine, entry);
    set_phase(engine, entry, had, (uint8_t)phase.phase, true);
    adapter_call_end(&call);
}

// An annotation's value, shortened for a message.
static void written(const struct json *object, const char *key, char out[64]) {
    const char *text = object_annotation(object, key);
    text_copy(out, 64, text ? text : "nothing");
}

// The label says what the annotation says, for selectors. It is restored with the same patch and the same delays; where
// that does not last, not at all. Workloads that were placed before there was the label have none.
static void check_label(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                        bool was) {
    const char *label = object_label(object, MARK_CLUSTER);
    const struct mirror *m = facts_placed_mirror(entry);
    if (!m || !m->facts.proven || cluster != entry->facts.cluster || entry->facts.finished)
        return;
    const char *name = engine->names[m->facts.cluster];
    bool right = text_equal(label, name);
    bool restored = !right && (label || entry->labelled);
    entry->labelled |= right;
    if (!restored || (!was && throttle_is_hot(&entry->facts.restores, engine->now.mono_ns, RESTORES_FREE)))
        return;
    entry->facts.misplaced = true;
    if (was)
        return;
    char shown[64];
    text_copy(shown, sizeof shown, label ? label : "nothing");
    throttle_next(&entry->facts.restores, engine->now.mono_ns, RESTORES_FREE);
    report_event(engine, entry, true, "LabelRestored", "Place",
                 "label " MARK_CLUSTER " was changed to %s, which does not move the mirror: it is restored to %s",
                 shown, name);
}

// The annotations record where the mirror is; changing them does not move it (rule 2).
static void check_annotations(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                              uint32_t attempt) {
    bool was = entry->facts.misplaced;
    entry->facts.misplaced = false;
    if ((cluster == entry->facts.cluster && attempt == entry->facts.attempt) ||
        (cluster == entry->requested_cluster && attempt == entry->requested_attempt) || entry->facts.finished) {
        check_label(engine, entry, object, cluster, was);
        return;
    }
    const struct mirror *m = facts_placed_mirror(entry);
    if (!m || !m->facts.proven)
        return;
    entry->facts.misplaced = true;
    if (was)
        return;
    char name[64], number[64];
    written(object, MARK_CLUSTER, name);
    written(object, MARK_ATTEMPT, number);
    throttle_next(&entry->facts.restores, engine->now.mono_ns, RESTORES_FREE);
    report_event(engine, entry, true, "AnnotationsRestored", "Place",
                 MARK_CLUSTER " was changed to %s and " MARK_ATTEMPT
                              " to %s, which does not move the mirror: they are restored to cluster %s, attempt %u",
                 name, number, engine->names[m->facts.cluster], m->facts.attempt);
}

static void read_unknown(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown) {
    const char *name = entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER ? object_annotation(object, MARK_CLUSTER) : NULL;
    if (name && !was_unknown)
        unknown_begin(engine, entry);
    unknown_count(engine, entry, name);
}

// Somebody names another worker, or none, while a mirror may run in one that left: what was known of it is kept.
static void keep_unknown(const struct engine *engine, struct entry *entry, uint32_t cluster, uint32_t attempt) {
    struct workload_facts *w = &entry->facts;
    bool requested = attempt && cluster == entry->requested_cluster && attempt == entry->requested_attempt;
    bool none = w->clean_attempt == w->attempt || w->gone_attempt == w->attempt;
    if (cluster == DECIDE_UNKNOWN_CLUSTER || requested || none || w->finished)
        return;
    w->earlier_until_ns = clock_later(w->earlier_until_ns, w->unknown_since_ns + engine->lost_timeout_ns);
}

static void read_workload(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    const struct kind *kind = engine->kinds[entry->kind];
    text_copy(entry->uid, sizeof entry->uid, object_uid(object));
    if (entry->generation != object_generation(object))
        entry->kueue = KUEUE_UNKNOWN;
    entry->generation = object_generation(object);
    entry->facts.being_deleted = object_is_being_deleted(object);
    entry->facts.suspended = phase_suspend_asked(&kind->abi, object);
    uint32_t cluster = annotated_cluster(engine, object), attempt = mirror_attempt(object);
    if (cluster == 0 || attempt == 0)
        cluster = attempt = 0;
    check_annotations(engine, entry, object, cluster, attempt);
    if (entry->facts.misplaced) {
        cluster = entry->facts.cluster;
        attempt = entry->facts.attempt;
    }
    entry->facts.record_unsure = false;
    bool was_unknown = had && entry->facts.cluster == DECIDE_UNKNOWN_CLUSTER;
    if (was_unknown)
        keep_unknown(engine, entry, cluster, attempt);
    entry->facts.cluster = cluster;
    entry->facts.attempt = attempt;
    if (attempt > 0 || entry->facts.suspended || entry->facts.being_deleted)
        entry->ready_ns = attempt == 1 ? entry->ready_ns : 0; // counted once its mirror is created
    else if (entry->ready_ns == 0)
        entry->ready_ns = engine->received_ns;
    read_phase(engine, entry, object, had);
    read_unknown(engine, entry, object, was_unknown);
    bool counts = !entry->facts.finished && !entry->facts.being_deleted && cluster != DECIDE_UNKNOWN_CLUSTER;
    cluster_count_active(engine, entry, counts ? cluster : 0);
    uint64_t hash = mirror_carry_hash(object, false);
    if (hash != entry->carry_hash) {
        entry->carry_hash = hash;
        if (entry->refusals > 0)
            entry->facts.not_before_ns = 0; // the changed workload may be accepted
        for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
            m->facts.update_due = true;
            m->carry = CARRY_UNKNOWN;
            m->noop_patch_hash = 0;
            m->dropping_reported = false;
            m->facts.update_at_ns = 0;
        }
    }
    entry->facts.status_due = true;
    retry_read(engine, entry, object, had);
}

// The workload is gone or no longer delegated.
static void forget_workload(struct engine *engine, struct entry *entry) {
    if (!entry->facts.exists)
        return;
    entry_set_object(&engine->store, entry, NULL);
    cluster_count_active(engine, entry, 0);
    unknown_count(engine, entry, NULL);
    set_phase(engine, entry, true, 0, false);
    entry->facts.cluster = entry->facts.attempt = entry->facts.gone_attempt = entry->facts.clean_attempt = 0;
    entry->failures = entry->refusals = entry->facts.status_refusals = 0;
    entry->denied_status_hash = 0;
    entry->facts.drained_attempt = entry->facts.given_up = 0;
    entry->facts.earlier_until_ns = 0;
    entry->facts.too_large = entry->stub = entry->facts.record_unsure = false;
    entry->facts.not_before_ns = 0;
    entry->facts.places = entry->facts.statuses = (struct throttle){0};
    entry->written_source = entry->conflict_hash = 0;
    entry->facts.status_held = entry->unsure = false;
    entry->carry_hash = entry->noop_patch_hash = 0;
    entry->last_note = 0;
    entry->ready_ns = 0;
    entry->facts.finished = entry->facts.suspended = entry->facts.being_deleted = entry->facts.status_due = false;
    entry->uid[0] = '\0';
    entry->kueue = KUEUE_UNKNOWN;
    entry->facts.misplaced = entry->unsealed_reported = entry->labelled = false;
    entry->placed_attempt = entry->requested_attempt = entry->requested_cluster = 0;
    entry->facts.restores = (struct throttle){0};
    entry->kueue_asked = 0;
    entry->retry_due_ns = entry->retried_ns = 0;
    changes_forget(engine, entry);
    waiting_end(engine, entry);
    final_status_drop(entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        m->facts.of_workload = false;
        m->facts.excluded_until_ns = 0;
        m->refusals = 0;
    }
    queue_entry(engine, entry);
}

static void set_of_workload(const struct entry *entry, struct mirror *m) {
    m->facts.of_workload = entry->facts.exists && strcmp(m->workload_uid, entry->uid) == 0;
    m->was_of_workload |= m->facts.of_workload;
    m->facts.unsure |= m->facts.of_workload && m->facts.name_only;
}

void observe_workload(struct engine *engine, struct entry *entry, struct object *object) {
    bool had = entry->facts.exists;
    if (had && strcmp(entry->uid, object_uid(object->value)) != 0) {
        if (!cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
            orphans_seen_deleted(engine, entry, entry->uid);
        forget_workload(engine, entry);
        had = false;
    }
    if (had && is_stale(engine, &entry->doc, entry->stub, object)) {
        object_free(object);
        return;
    }
    if (entry->uncompared) // whatever it lacks now, somebody else may have changed it since
        entry->noop_patch_hash = 0;
    bool had_finished = had && entry->facts.finished && strcmp(entry->doc.version, STORE_VERSION_NONE) == 0;
    struct shared_text text = {0};
    if (had_finished)
        text = entry_take_text(&engine->store, entry);
    entry->facts.too_large = entry->stub = object->too_large;
    entry_set_object(&engine->store, entry, object);
    read_workload(engine, entry, doc_tree(&engine->store, &entry->doc), had);
    if (!had && entry->facts.attempt > 1) // by an earlier process, nobody knows where
        entry->facts.given_up = DECIDE_GIVEN_UP_SEVERAL;
    rewound_finished(engine, entry, &text);
    for (struct mirror *m = entry_mirrors(entry); m && !had; m = mirror_next(m))
        set_of_workload(entry, m);
    queue_entry(engine, entry);
}

// Rule 1: objects that are not delegated to this host are not kept.
static void seen_workload(struct engine *engine, size_t kind, struct object *object) {
    const struct kind *k = engine->kinds[kind];
    const char *space = object_namespace(object->value), *name = object_name(object->value);
    const char *manager = json_string(pointer_find(object->value, k->abi.managed_by));
    bool ours = manager && strcmp(manager, k->managed_by) == 0 && strlen(object_uid(object->value)) < STORE_UID_MAX;
    struct entry *entry =
        ours ? store_make(&engine->store, kind, space, name) : store_get(&engine->store, kind, space, name);
    if (ours && entry) {
        entry->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
        pause_owned(engine, kind);
        observe_workload(engine, entry, object);
        return;
    }
    if (entry && entry->facts.exists && strcmp(entry->uid, object_uid(object->value)) == 0)
        pause_disowned(engine, entry, manager);
    if (entry)
        forget_workload(engine, entry);
    object_free(object);
}

// The marks of one object do not change. Those of one that is not proven to be a mirror may have been wrong before.
static bool has_kept_marks(const struct mirror *m, const struct json *object) {
    return m->facts.attempt == mirror_attempt(object) && text_equal(object_label(object, MARK_UID), m->workload_uid);
}

// Rule 3: which objects may be changed or deleted.
enum ownership observe_ownership(const struct engine *engine, size_t cluster, size_t kind, const struct mirror *m,
                                 const struct json *object) {
    const struct kind *k = engine->kinds[kind];
    const char *uid = object_uid(object);
    bool known = m && *m->uid && strcmp(m->uid, uid) == 0;
    enum ownership otherwise = known ? OWNERSHIP_UID : OWNERSHIP_NONE;
    if (strlen(uid) >= STORE_UID_MAX || !mirror_is_ours(k, engine->origin, object))
        return otherwise;
    if (known && m->facts.present && m->facts.proven && !has_kept_marks(m, object))
        return OWNERSHIP_UID;
    if (!seal_keys_any(engine->seals))
        return OWNERSHIP_MARKS;
    switch (mirror_seal(k, engine->seals, engine->names[cluster], object)) {
    case SEAL_VALID:
    case SEAL_OLD_KEY:
        return OWNERSHIP_SEAL;
    case SEAL_MISSING: // may have been created without a key
        if (!known && engine->adopt_unsealed && !cluster_watch(engine, cluster, kind)->listed)
            return OWNERSHIP_MARKS;
        return otherwise;
    default:
        return otherwise;
    }
}

static void read_mirror(struct engine *engine, struct entry *entry, struct mirror *m, const struct json *object,
                        enum ownership ownership, bool same) {
    m->facts.being_deleted = object_is_being_deleted(object);
    m->released = text_equal(object_annotation(object, MARK_RELEASE), "true");
    text_copy(m->uid, sizeof m->uid, object_uid(object));
    if (ownership != OWNERSHIP_UID) {
        text_copy(m->workload_uid, sizeof m->workload_uid, object_label(object, MARK_UID));
        m->facts.attempt = mirror_attempt(object);
    } else { // its marks were changed and will be restored
        if (!same)
            text_copy(m->workload_uid, sizeof m->workload_uid, entry->uid);
        m->facts.update_due = true;
    }
    m->unmarked = ownership == OWNERSHIP_UID;
    m->facts.proven = (same && m->facts.proven) || ownership == OWNERSHIP_SEAL;
    set_of_workload(entry, m);
    // One that was known to be gone, or not to have been created, may come back with a copy of etcd.
    if (m->facts.of_workload && m->facts.attempt == entry->facts.attempt && m->facts.cluster == entry->facts.cluster)
        entry->facts.gone_attempt = entry->facts.clean_attempt = 0;
    uint64_t hash = mirror_carry_hash(object, true);
    // A change that had to wait until the suspended mirror stopped may be possible now.
    if (hash != m->carry_hash || phase_suspend_asked(&engine->kinds[entry->kind]->abi, object)) {
        m->carry_hash = hash;
        m->facts.update_due = true;
        m->carry = CARRY_UNKNOWN;
    }
    story_read_mirror(m, object);
    m->facts.finalizer = finalizer_is_on(object);
    m->had_status = m->had_status || json_first(json_get(object, "status"));
    m->facts.finished = json_first(json_get(object, "status")) && final_status_reached(engine, entry, object);
    if (!m->facts.finished && m->facts.of_workload && m->facts.attempt == entry->facts.final_attempt)
        final_status_drop(entry);
    m->facts.unsure = m->facts.may_exist = false;
    if (!m->facts.marks_stripped) {
        m->facts.excluded_until_ns = 0;
        m->refusals = 0;
    }
    m->seen_ns = engine->received_ns;
    entry->facts.status_due = true;
    if (entry->denied_status_hash && entry->denials.at_ns < entry->facts.not_before_ns)
        entry->facts.not_before_ns = entry->denials.at_ns; // its status may differ
}

void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *m, struct object *object,
                    enum ownership ownership) {
    bool had = m->facts.present, same = strcmp(m->uid, object_uid(object->value)) == 0;
    if (had && same && is_stale(engine, &m->doc, m->stub, object)) {
        object_free(object);
        return;
    }
    if (!had)
        engine->stats.clusters[m->facts.cluster].mirrors++;
    if (m->uncompared) // whatever it lacks now, somebody else may have changed it since
        m->noop_patch_hash = 0;
    if (!same) {
        m->carry = CARRY_UNKNOWN;
        m->patched_source = 0;
        m->facts.marks_stripped = false;
        m->noop_patch_hash = 0;
        m->suspension_reported = m->stop_only = false;
        m->facts.update_at_ns = 0;
        free(m->record);
        m->record = NULL;
        m->had_status = m->was_of_workload = false;
        m->created_ns = m->started_ns = 0;
    }
    if (had && !same)
        m->outdated = m->facts.busy;
    m->facts.too_large = m->stub = object->too_large;
    m->facts.name_only = false;
    mirror_set_object(&engine->store, entry, m, object);
    read_mirror(engine, entry, m, doc_tree(&engine->store, &m->doc), ownership, same);
    queue_entry(engine, entry);
}

static void drop_mirror_doc(struct engine *engine, struct entry *entry, struct mirror *m, bool wanted) {
    if (!m->facts.present)
        return;
    if (wanted && m->facts.finished)
        final_status_keep(engine, entry, m);
    else
        mirror_set_object(&engine->store, entry, m, NULL);
    m->facts.finished = false;
    engine->stats.clusters[m->facts.cluster].mirrors--;
    engine->stats.clusters[m->facts.cluster].unproven -= m->unproven_reported;
    m->unproven_reported = false;
}

void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *m, bool certain) {
    bool wanted = entry->facts.exists && !entry->facts.being_deleted && !entry->facts.finished &&
                  m->facts.of_workload && m->facts.attempt == entry->facts.attempt &&
                  m->facts.cluster == entry->facts.cluster;
    bool was_being_deleted = m->facts.being_deleted;
    drop_mirror_doc(engine, entry, m, wanted);
    m->facts.being_deleted = m->facts.update_due = false;
    m->outdated = m->facts.busy; // the answer in flight may be older
    m->facts.unsure = wanted && !certain && !was_being_deleted;
    if (wanted && !m->facts.unsure)
        entry->facts.gone_attempt = entry->facts.attempt;
    entry->facts.status_due = true;
    m->failures = 0;
    queue_entry(engine, entry);
}

// It has the host's marks but no valid seal.
static void report_unsealed(struct engine *engine, size_t cluster, size_t kind, struct entry *entry,
                            const struct json *object) {
    struct unsealed_log *log = &engine->unsealed[cluster];
    engine->stats.clusters[cluster].unsealed++;
    if (entry && entry->facts.exists && !entry->unsealed_reported &&
        text_equal(object_label(object, MARK_UID), entry->uid)) {
        entry->unsealed_reported = true;
        report_event(engine, entry, true, "NameConflict", "Observe",
                     "cluster %s has a foreign object of this name with the marks of its mirror but no valid seal: it "
                     "is not changed; delete it there if it is forged",
                     engine->names[cluster]);
    }
    if (engine->now.mono_ns < log->next_ns)
        return;
    log->next_ns = throttle_next(&log->throttle, engine->now.mono_ns, UNSEALED_REPORTED);
    report_log(
        engine, LOG_WARN, cluster, kind,
        "%s/%s (uid %s) has the marks of a mirror but no valid seal and is not changed; delete it if it is forged",
        object_namespace(object), object_name(object), object_uid(object));
}

static void seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    const struct json *value = object->value;
    const char *space = object_namespace(value), *name = object_name(value);
    struct entry *entry = store_get(&engine->store, kind, space, name);
    struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    enum ownership ownership = observe_ownership(engine, cluster, kind, m, value);
    bool name_only = false, unknown = ownership != OWNERSHIP_NONE && (!entry || !entry->facts.exists);
    if (unknown && !m && !pause_has_room(engine, cluster, kind)) {
        object_free(object);
        return;
    }
    if (unknown && !finalizer_is_on(value)) // its finalizers have to be known
        object = orphans_by_name(engine, cluster, kind, object, &name_only);
    value = object->value;
    space = object_namespace(value);
    name = object_name(value);
    if (ownership != OWNERSHIP_NONE && !entry)
        entry = store_make(&engine->store, kind, space, name);
    if (ownership != OWNERSHIP_NONE && !m && entry)
        m = entry_make_mirror(entry, cluster);
    if (ownership != OWNERSHIP_NONE && m) {
        // Watches and lists only: an answer may be newer than the current list.
        m->epoch = cluster_watch(engine, cluster, kind)->epoch;
        observe_mirror(engine, entry, m, object, ownership);
        m->facts.name_only = name_only;
        if (name_only) // the whole is newer than its name
            memcpy(m->doc.version, STORE_VERSION_NONE, sizeof STORE_VERSION_NONE);
        return;
    }
    if (ownership == OWNERSHIP_NONE && mirror_is_ours(engine->kinds[kind], engine->origin, value))
        report_unsealed(engine, cluster, kind, entry, value);
    if (m && m->facts.present)
        observe_mirror_gone(engine, entry, m, false);
    object_free(object);
}

void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    if (cluster == ENGINE_MANAGEMENT)
        seen_workload(engine, kind, object);
    else
        seen_mirror(engine, cluster, kind, object);
}

// A deletion event carries the last state: the mirror may have finished since it was last seen.
static void take_last_state(struct engine *engine, struct entry *entry, struct mirror *m, struct object **object) {
    if (entry->facts.finished || m->facts.finished || is_stale(engine, &m->doc, m->stub, *object) ||
        !final_status_reached(engine, entry, (*object)->value))
        return;
    m->stub = (*object)->too_large;
    mirror_set_object(&engine->store, entry, m, *object);
    *object = NULL;
    m->facts.finished = true;
}

void observe_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    const struct json *value = object->value;
    struct entry *entry = store_get(&engine->store, kind, object_namespace(value), object_name(value));
    if (entry && cluster == ENGINE_MANAGEMENT) {
        orphans_seen_deleted(engine, entry, object_uid(value));
        if (strcmp(entry->uid, object_uid(value)) == 0)
            forget_workload(engine, entry);
    } else if (entry) {
        struct mirror *m = entry_mirror(entry, cluster);
        bool known = m && strcmp(m->uid, object_uid(value)) == 0;
        if (known && m->facts.present) {
            bool certain = object_is_being_deleted(value);
            take_last_state(engine, entry, m, &object);
            observe_mirror_gone(engine, entry, m, certain);
        } else if (known)
            m->outdated = m->facts.busy;
        else if (m && m->facts.unsure) { // may have been the unsure object
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
            forget_workload(engine, e);
        struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(e, cluster);
        if (m && m->facts.present && m->epoch != epoch)
            observe_mirror_gone(engine, e, m, false);
        queue_entry(engine, e);
    }
}
