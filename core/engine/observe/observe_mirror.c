// SPDX-License-Identifier: Apache-2.0
// Objects seen in workers.
#include "core/engine/observe/observe.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/continuity/children_state.h"
#include "core/engine/continuity/continuity.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/limits/limits.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"

#define UNSEALED_REPORTED 8 // log lines per cluster without a delay

// The marks of one object do not change, but an unproven mirror may have had wrong ones before.
static bool has_kept_marks(const struct mirror *m, const struct json *object) {
    return m->facts.attempt == mirror_attempt(object) && text_equal(object_label(object, MARK_UID), m->workload_uid);
}

// Rule 3: the objects that the host may change or delete.
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
    enum seal_verdict verdict = mirror_seal(k, engine->seals, engine->clusters[cluster].name, object);
    if (verdict == SEAL_VALID || verdict == SEAL_OLD_KEY)
        return OWNERSHIP_SEAL;
    bool adopts = engine->now.mono_ns < engine->observe.adopt_until_ns && !cluster_watch(engine, cluster, kind)->listed;
    return verdict == SEAL_MISSING && !known && adopts ? OWNERSHIP_MARKS : otherwise; // made without a key
}

// The mirror of the present attempt, in the worker of the placement.
static bool is_current(const struct entry *entry, const struct mirror *m) {
    const struct workload_facts *w = &entry->workload->facts;
    return m->facts.of_workload && m->facts.attempt == w->attempt && m->facts.cluster == w->cluster;
}

// Rule 12: without a result the former phase stays. A mirror of an earlier workload is deleted in any case.
void observe_mirror_phase(struct engine *engine, struct entry *entry, struct mirror *m, const struct json *object) {
    bool has_status = json_first(json_get(object, "status"));
    wharf_phase phase = {.phase = WHARF_PENDING};
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    m->had_status |= has_status;
    m->facts.unread = has_status && ((entry->workload->facts.exists && !m->facts.of_workload) ||
                                     !aside_phase(engine, &call, object, &phase));
    if (m->facts.unread)
        return;
    m->phase = (uint8_t)phase.phase;
    m->facts.finished = phase_is_final(phase.phase);
    m->ended_ns = phase.since_ns;
    unstarted_observe(engine, entry, m, has_status ? &phase : NULL);
    if (m->has_run && !m->facts.finished)
        completions_started(engine, entry, m->facts.cluster);
    if (!m->facts.finished && m->facts.of_workload && m->facts.attempt == entry->workload->facts.final_attempt)
        final_status_drop(entry);
}

static void read_mirror(struct engine *engine, struct entry *entry, struct mirror *m, const struct json *object,
                        enum ownership ownership, bool same) {
    struct workload *w = entry->workload;
    // The proof includes the marks: an object that was gone may come back, from a copy of etcd, with other marks.
    bool kept = same && (ownership == OWNERSHIP_UID || has_kept_marks(m, object));
    m->facts.being_deleted = object_is_being_deleted(object);
    m->released = text_equal(object_annotation(object, MARK_RELEASE), "true");
    text_copy(m->uid, sizeof m->uid, object_uid(object));
    if (ownership != OWNERSHIP_UID) {
        text_copy(m->workload_uid, sizeof m->workload_uid, object_label(object, MARK_UID));
        m->facts.attempt = mirror_attempt(object);
    } else { // the next update restores changed marks
        if (!same)
            text_copy(m->workload_uid, sizeof m->workload_uid, w->uid);
        m->facts.update_due = true;
    }
    m->unmarked = ownership == OWNERSHIP_UID;
    m->facts.proven = (kept && m->facts.proven) || ownership == OWNERSHIP_SEAL;
    observe_set_of_workload(entry, m);
    // A mirror known as gone or not created may come back with a copy of etcd.
    if (is_current(entry, m))
        w->facts.gone_attempt = w->facts.clean_attempt = 0;
    unresumed_read(engine, entry, m, object);
    uint64_t hash = mirror_carry_hash(object, true);
    // A change that waited for the suspended mirror to stop may be possible now.
    if (hash != m->carry_hash || m->facts.suspended) {
        m->carry_hash = hash;
        m->facts.update_due = true;
        m->carry = CARRY_UNKNOWN;
    }
    attempt_history_read_mirror(m, object);
    m->facts.finalizer = finalizer_is_on(object);
    fence_read_mirror(engine, m, object);
    observe_mirror_phase(engine, entry, m, object);
    continuity_read(engine, m, object);
    m->facts.unsure = m->facts.may_exist = false;
    if (!m->facts.marks_stripped) {
        m->facts.excluded_until_ns = 0;
        m->refusals = 0;
    }
    m->seen_ns = engine->received_ns;
    if (w->facts.exists)
        status_mirror_changed(w);
}

// Another object has the name of the known one.
static void forget_object(struct mirror *m) {
    m->carry = CARRY_UNKNOWN;
    m->patched_source = 0;
    m->facts.marks_stripped = m->suspension_reported = m->had_status = m->was_of_workload = m->facts.queued = false;
    m->facts.finished = m->facts.unread = m->has_run = false;
    m->phase = WHARF_PENDING;
    m->facts.unstarted_since_ns = 0;
    m->noop_patch_hash = 0;
    rejections_end(&m->refused);
    m->facts.update_at_ns = 0;
    free(TAKE(m->kueue_status));
    free(TAKE(m->record));
    free(TAKE(m->progress.problem));
    children_free(m->progress.children);
    m->progress = (struct mirror_progress){0};
    m->facts.last_statuses = 0;
    m->facts.owed = m->facts.untouched = false;
    m->created_ns = m->started_ns = 0;
}

// `known`: the former status was a reduced one, too.
static void report_reduced(struct engine *engine, struct entry *entry, const struct mirror *m, bool known) {
    if (m->reduced && !known && m->facts.of_workload)
        report_event(engine, entry, true, "StatusTooLarge", "CopyStatus",
                     "the host copies only a part of the status in cluster %s: %s", mirror_cluster(engine, m),
                     m->reduced);
}

void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *m, struct object *object,
                    enum ownership ownership) {
    bool had = m->facts.present, same = strcmp(m->uid, object_uid(object->value)) == 0;
    if (had && same && observe_is_stale(engine, &m->doc, m->stub || m->reduced, object)) {
        object_free(object);
        return;
    }
    if (!had)
        engine->stats.clusters[m->facts.cluster].mirrors++;
    if (m->uncompared) // another writer may have changed missing fields since
        m->noop_patch_hash = 0;
    if (!same)
        forget_object(m);
    if (had && !same)
        m->outdated = m->facts.busy;
    m->facts.too_large = m->stub = object->too_large;
    m->facts.name_only = false;
    AUTO_TEXT before = TAKE(m->reduced);
    m->reduced = TAKE(object->reduced);
    mirror_set_object(&engine->store, entry, m, object);
    read_mirror(engine, entry, m, doc_tree(&engine->store, &m->doc), ownership, same);
    report_reduced(engine, entry, m, before && same);
    queue_entry(engine, entry);
}

// The mirror with the reported status, which has no conditions unless it is `whole`. The resourceVersion stays, so that
// the next state from the worker counts.
static struct object *with_status(const struct json *mirror, const struct json *status, bool whole) {
    AUTO_JSON copy = json_copy(mirror);
    AUTO_JSON made = json_copy(status);
    const struct json *conditions = whole ? NULL : json_path(mirror, "status", "conditions", NULL);
    struct object *object = NULL;
    bool ok = copy && made && (!conditions || json_set(made, "conditions", json_copy(conditions)));
    if (ok && !json_equal(made, json_get(mirror, "status")) && json_set(copy, "status", TAKE(made)))
        error_free(object_new(TAKE(copy), NULL, NULL, &object));
    return object;
}

void observe_reported(struct engine *engine, struct entry *entry, struct mirror *m, const struct json *status,
                      bool whole) {
    struct object *object = with_status(doc_tree(&engine->store, &m->doc), status, whole);
    if (!object)
        return;
    mirror_set_object(&engine->store, entry, m, object);
    const struct json *value = doc_tree(&engine->store, &m->doc);
    observe_mirror_phase(engine, entry, m, value);
    continuity_read(engine, m, value);
    m->seen_ns = engine->received_ns;
    status_mirror_changed(entry->workload);
    queue_entry(engine, entry);
}

static void drop_mirror_doc(struct engine *engine, struct entry *entry, struct mirror *m, bool wanted) {
    if (!m->facts.present)
        return;
    free(TAKE(m->kueue_status));
    m->facts.queued = false;
    if (wanted && final_status_is_due(m))
        final_status_keep(engine, entry, m);
    else
        mirror_set_object(&engine->store, entry, m, NULL);
    m->facts.finished = m->facts.unread = false;
    engine->stats.clusters[m->facts.cluster].mirrors--;
    engine->stats.clusters[m->facts.cluster].quarantined -= m->quarantine_reported;
    m->quarantine_reported = false;
}

void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *m, bool certain) {
    struct workload_facts *w = &entry->workload->facts;
    bool wanted = w->exists && !w->being_deleted && !w->finished && is_current(entry, m);
    bool was_being_deleted = m->facts.being_deleted;
    drop_mirror_doc(engine, entry, m, wanted);
    m->facts.being_deleted = m->facts.update_due = false;
    m->outdated = m->facts.busy; // the answer in flight may be older
    m->facts.unsure = wanted && !certain && !was_being_deleted;
    if (wanted && !m->facts.unsure)
        w->gone_attempt = w->attempt;
    if (w->exists)
        w->status_due = true;
    m->failures = 0;
    queue_entry(engine, entry);
}

// A mirror without a seal may be older than the key.
static const char *advice_of(const struct json *object) {
    return object_annotation(object, MARK_SEAL)
               ? "no valid seal: the host does not change the object; delete a forged one there"
               : "no seal: if this host created the object before there was a key, start once with seal.adoptUnsealed: "
                 "true; delete a forged one there";
}

// Marks of the host without a valid seal.
static void report_unsealed(struct engine *engine, size_t cluster, size_t kind, struct entry *entry,
                            const struct json *object) {
    struct unsealed_log *log = &engine->clusters[cluster].observe;
    engine->stats.clusters[cluster].unsealed++;
    if (entry && entry->workload->facts.exists && !entry->workload->unsealed_reported &&
        text_equal(object_label(object, MARK_UID), entry->workload->uid)) {
        entry->workload->unsealed_reported = true;
        report_event(engine, entry, true, "NameConflict", "Observe",
                     "cluster %s has a foreign object of this name with the marks of the mirror and %s",
                     engine->clusters[cluster].name, advice_of(object));
    }
    if (engine->now.mono_ns < log->next_ns)
        return;
    log->next_ns = throttle_next(&log->throttle, engine->now.mono_ns, UNSEALED_REPORTED);
    report_log(engine, LOG_WARN, cluster, kind, "%s/%s (uid %s) has the marks of a mirror and %s",
               object_namespace(object), object_name(object), object_uid(object), advice_of(object));
}

void observe_seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    const struct json *value = object->value;
    struct entry *entry = store_get(&engine->store, kind, object_namespace(value), object_name(value));
    struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    enum ownership ownership = observe_ownership(engine, cluster, kind, m, value);
    bool name_only = false, unknown = ownership != OWNERSHIP_NONE && (!entry || !entry->workload->facts.exists);
    if (unknown && !m && !pause_has_room(engine, cluster, kind)) {
        object_free(object);
        return;
    }
    if (unknown && !finalizer_is_on(value)) // finalizers must stay known
        object = orphans_by_name(engine, cluster, kind, object, &name_only);
    value = object->value;
    if (ownership != OWNERSHIP_NONE && !entry)
        entry = store_make(&engine->store, kind, object_namespace(value), object_name(value));
    if (ownership != OWNERSHIP_NONE && !m && entry)
        m = entry_make_mirror(entry, cluster);
    if (ownership != OWNERSHIP_NONE && m) {
        // Watches and lists only: an answer may be newer than the current list.
        m->epoch = cluster_watch(engine, cluster, kind)->epoch;
        observe_mirror(engine, entry, m, object, ownership);
        m->facts.name_only = name_only;
        if (name_only) // the whole object is newer than its name
            memcpy(m->doc.version, STORE_VERSION_NONE, sizeof STORE_VERSION_NONE);
        return;
    }
    if (ownership == OWNERSHIP_NONE && mirror_is_ours(engine->kinds[kind], engine->origin, value))
        report_unsealed(engine, cluster, kind, entry, value);
    if (m && m->facts.present)
        observe_mirror_gone(engine, entry, m, false);
    object_free(object);
}

// Rule 9. A cluster's resourceVersions went backwards, after a restoration from a backup or a wipe. The host compares
// the next list with the known state, and writes nothing until that list is complete.

// All later objects count as newer.
static void reset_version(struct doc *doc) {
    if (doc->text.own)
        memcpy(doc->version, STORE_VERSION_NONE, sizeof STORE_VERSION_NONE);
}

void stale_version_reset_workload(struct entry *entry) {
    struct workload *w = entry->workload;
    if (!w->facts.exists)
        return;
    reset_version(&w->doc);
    w->carry_hash = 0;
    w->generation = 0;
    status_forget_writes(w);
}

void stale_version_listed(struct engine *engine, struct entry *entry, const struct object *object) {
    if (!cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
        return;
    entry->workload->listed_older = observe_is_older(engine, entry, object_version(object->value));
}

bool stale_version_must_read(struct engine *engine, struct entry *entry) {
    const struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    char revision[24];
    if (!entry->workload->listed_older || !entry->workload->facts.exists || !watch->listed || watch->revision == 0)
        return false;
    snprintf(revision, sizeof revision, "%lld", (long long)watch->revision);
    return !observe_is_older(engine, entry, revision);
}

// The host then knows the carried fields only by the annotation.
static void reset_mirror(struct mirror *m) {
    reset_version(&m->doc);
    free(TAKE(m->record));
    m->record_unsure = m->suspension_reported = false;
    rejections_end(&m->refused);
    m->noop_patch_hash = 0;
    m->carry = CARRY_UNKNOWN;
    m->facts.update_due = true;
}

static void on_restored(struct engine *engine, struct engine_event *event) {
    size_t cluster = event->cluster, kind = event->kind;
    struct watch_state *watch = cluster_watch(engine, cluster, kind);
    if (watch->state == REFLECTOR_CONNECTED && watch->listed)
        watch->lost_since_ns = engine->now.mono_ns;
    watch->listed = false;
    watch->restorations++;
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(e, cluster);
        if (m)
            reset_mirror(m);
        else if (cluster == ENGINE_MANAGEMENT)
            stale_version_reset_workload(e);
    }
    if (cluster == ENGINE_MANAGEMENT)
        cluster_suspect_deletions(engine, kind, true);
    cluster_changed(engine, cluster);
}

void restored_answer(const struct engine *engine, const struct request_in_flight *request, struct response *response) {
    if (request->restorations == cluster_watch(engine, request->cluster, request->entry->kind)->restorations)
        return;
    object_free(TAKE(response->object));
    if (response->reason == REASON_OK || response->reason == REASON_NOT_FOUND)
        response->reason = REASON_UNKNOWN_OUTCOME;
}

void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text) {
    if (entry->workload->facts.finished && !entry->workload->facts.unread)
        shared_text_clear(text);
    if (!text->own)
        return;
    final_status_put(entry, *text); // of no effect while the new phase is unread
    restored_unfinished(engine, entry);
}

void restored_unfinished(struct engine *engine, struct entry *entry) {
    if (decide_has_final_status(&entry->workload->facts))
        report_event(engine, entry, false, "HadFinished", "CopyStatus",
                     "the workload had finished, and another writer or a restored backup took back the final status: "
                     "the host writes the status again, and the workload does not run again");
}

const struct part part_restored = {.name = "restored", .events = PART_EVENT(EVENT_RESTORED), .event = on_restored};
