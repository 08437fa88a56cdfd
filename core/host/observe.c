// SPDX-License-Identifier: Apache-2.0
// Objects come in: from watches and lists, and out of answers. What is kept of them is facts and text.
#include "core/host/engine_internal.h"

#include "core/host/phase.h"
#include "core/json/pointer.h"

#include <string.h>

// True if `object` is not newer than what is kept: a watch that lags behind an answer.
static bool is_stale(struct engine *engine, struct doc *doc, const struct json *object) {
    if (!doc->text)
        return false;
    bool known = true;
    int order = object_version_compare(object_version(object), doc_version(&engine->store, doc), &known);
    return known && order <= 0;
}

static uint32_t annotated_cluster(const struct engine *engine, const struct json *object) {
    const char *name = object_annotation(object, MARK_CLUSTER);
    if (!name)
        return 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        if (strcmp(engine->names[c], name) == 0)
            return (uint32_t)c;
    }
    return ENTRY_UNKNOWN_CLUSTER;
}

static void read_phase(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    struct adapter_call call;
    act_begin_call(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    wharf_result result = adapter_phase(&call, object, &phase);
    if (result != WHARF_OK) {
        engine->stats.kinds[entry->kind].adapter_errors++;
        phase = (wharf_phase){.phase = WHARF_ACTIVE};
    }
    bool finished = phase.phase == WHARF_SUCCEEDED || phase.phase == WHARF_FAILED;
    if (finished && !entry->finished) {
        // The retention runs from when it finished, by a clock that may not be ours: at most from now.
        int64_t age_ns = phase.since_ns > 0 ? engine->now.wall_ns - phase.since_ns : 0;
        if (age_ns < 0)
            age_ns = 0;
        entry->retain_until_ns = engine->now.mono_ns - age_ns + engine->retention_ns;
    }
    entry->finished = finished;
    if (finished)
        last_word_drop(entry);
    entry_set_phase(engine, entry, had, (uint8_t)phase.phase, true);
    adapter_call_end(&call);
}

static void read_workload(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    const struct kind *kind = engine->kinds[entry->kind];
    text_copy(entry->uid, sizeof entry->uid, object_uid(object));
    if (entry->generation != object_generation(object))
        entry->kueue_free = false;
    entry->generation = object_generation(object);
    entry->being_deleted = object_is_being_deleted(object);
    entry->suspended = phase_suspend_asked(&kind->abi, object);
    uint32_t cluster = annotated_cluster(engine, object), attempt = mirror_attempt(object);
    if (cluster == 0 || attempt == 0)
        cluster = attempt = 0;
    if (cluster == ENTRY_UNKNOWN_CLUSTER && (entry->cluster != cluster || !had))
        entry->unknown_since_ns = engine->now.mono_ns;
    entry->cluster = cluster;
    entry->attempt = attempt;
    read_phase(engine, entry, object, had);
    bool counts = !entry->finished && !entry->being_deleted && cluster != ENTRY_UNKNOWN_CLUSTER;
    engine_count_active(engine, entry, counts ? cluster : 0);
    uint64_t hash = mirror_carry_hash(object);
    if (hash != entry->carry_hash) {
        entry->carry_hash = hash;
        for (struct mirror *m = entry->mirrors; m; m = m->next) {
            m->update_due = true;
            m->refused_patch = 0;
        }
    }
    entry->status_due = true;
}

// The workload is gone, or not ours any more.
static void forget_workload(struct engine *engine, struct entry *entry) {
    if (!entry->workload.text)
        return;
    doc_clear(&engine->store, &entry->workload);
    engine_count_active(engine, entry, 0);
    entry_set_phase(engine, entry, true, 0, false);
    entry->cluster = entry->attempt = entry->gone_attempt = entry->clean_attempt = 0;
    entry->failures = 0;
    entry->not_before_ns = 0;
    entry->carry_hash = entry->refused_patch = entry->refused_note = 0;
    entry->finished = entry->suspended = entry->being_deleted = entry->status_due = false;
    entry->uid[0] = '\0';
    entry->kueue_free = false;
    entry->asked = 0;
    waiting_end(engine, entry);
    last_word_drop(entry);
    for (struct mirror *m = entry->mirrors; m; m = m->next) {
        m->of_workload = false;
        m->excluded_until_ns = 0;
        m->refusals = 0;
    }
    engine_queue(engine, entry);
}

void observe_workload(struct engine *engine, struct entry *entry, struct object *object) {
    bool had = entry->workload.text != NULL;
    if (had && strcmp(entry->uid, object_uid(object->value)) != 0) {
        if (!engine_feed(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
            orphans_seen_deleted(engine, entry, entry->uid);
        forget_workload(engine, entry);
        had = false;
    }
    if (had && is_stale(engine, &entry->workload, object->value)) {
        object_free(object);
        return;
    }
    doc_set(&engine->store, &entry->workload, object);
    read_workload(engine, entry, doc_tree(&engine->store, &entry->workload), had);
    for (struct mirror *m = entry->mirrors; m && !had; m = m->next)
        m->of_workload = strcmp(m->workload_uid, entry->uid) == 0;
    engine_queue(engine, entry);
}

static void seen_workload(struct engine *engine, size_t kind, struct object *object) {
    const struct kind *k = engine->kinds[kind];
    const char *space = object_namespace(object->value), *name = object_name(object->value);
    const char *manager = json_string(pointer_find(object->value, k->abi.managed_by));
    bool ours = manager && strcmp(manager, k->managed_by) == 0 && strlen(object_uid(object->value)) < STORE_UID_MAX;
    struct entry *entry =
        ours ? store_make(&engine->store, kind, space, name) : store_get(&engine->store, kind, space, name);
    if (ours && entry) {
        entry->epoch = engine_feed(engine, ENGINE_MANAGEMENT, kind)->epoch;
        observe_workload(engine, entry, object);
        return;
    }
    if (entry)
        forget_workload(engine, entry);
    object_free(object);
}

static void read_mirror(struct engine *engine, struct entry *entry, struct mirror *m, const struct json *object,
                        bool ours) {
    m->being_deleted = object_is_being_deleted(object);
    m->released = text_equal(object_annotation(object, MARK_RELEASE), "true");
    text_copy(m->uid, sizeof m->uid, object_uid(object));
    if (ours) {
        text_copy(m->workload_uid, sizeof m->workload_uid, object_label(object, MARK_UID));
        m->attempt = mirror_attempt(object);
    } else { // known by its uid; its marks were taken off and will be put back
        text_copy(m->workload_uid, sizeof m->workload_uid, entry->uid);
        m->update_due = true;
    }
    m->of_workload = entry->workload.text && strcmp(m->workload_uid, entry->uid) == 0;
    uint64_t hash = mirror_carry_hash(object);
    // What had to wait for a suspended mirror to come to rest may be possible now.
    if (hash != m->carry_hash || phase_suspend_asked(&engine->kinds[entry->kind]->abi, object)) {
        m->carry_hash = hash;
        m->update_due = true;
    }
    m->had_status = m->had_status || json_first(json_get(object, "status"));
    m->finished = last_word_is_final(engine, entry, object);
    if (!m->finished && m->of_workload && m->attempt == entry->last_word_attempt)
        last_word_drop(entry);
    m->unsure = false;
    m->excluded_until_ns = 0;
    m->refusals = 0;
    m->seen_ns = engine->received_ns;
    entry->status_due = true;
}

void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *m, struct object *object, bool ours) {
    bool had = m->doc.text != NULL, same = strcmp(m->uid, object_uid(object->value)) == 0;
    if (had && same && is_stale(engine, &m->doc, object->value)) {
        object_free(object);
        return;
    }
    if (!had)
        engine->stats.clusters[m->cluster].mirrors++;
    if (!same) {
        m->refused_patch = 0;
        m->had_status = false;
    }
    if (had && !same)
        m->outdated = m->command != 0;
    doc_set(&engine->store, &m->doc, object);
    read_mirror(engine, entry, m, doc_tree(&engine->store, &m->doc), ours);
    engine_queue(engine, entry);
}

static void drop_mirror_doc(struct engine *engine, struct entry *entry, struct mirror *m, bool wanted) {
    if (!m->doc.text)
        return;
    if (wanted && m->finished)
        last_word_keep(engine, entry, m);
    else
        doc_clear(&engine->store, &m->doc);
    m->finished = false;
    engine->stats.clusters[m->cluster].mirrors--;
}

void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *m, bool certain) {
    bool wanted = entry->workload.text && !entry->being_deleted && !entry->finished && m->of_workload &&
                  m->attempt == entry->attempt && m->cluster == entry->cluster;
    bool was_being_deleted = m->being_deleted;
    drop_mirror_doc(engine, entry, m, wanted);
    m->being_deleted = m->update_due = false;
    m->outdated = m->command != 0; // its answer may be older than this
    m->unsure = wanted && !certain && !was_being_deleted;
    if (wanted && !m->unsure)
        entry->gone_attempt = entry->attempt;
    entry->status_due = true;
    m->failures = 0;
    engine_queue(engine, entry);
}

static void seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    const struct json *value = object->value;
    const char *space = object_namespace(value), *name = object_name(value);
    bool ours = mirror_is_ours(engine->kinds[kind], engine->origin, value) && strlen(object_uid(value)) < STORE_UID_MAX;
    struct entry *entry =
        ours ? store_make(&engine->store, kind, space, name) : store_get(&engine->store, kind, space, name);
    struct mirror *m = !entry ? NULL : ours ? entry_make_mirror(entry, cluster) : entry_mirror(entry, cluster);
    if (ours && m) {
        // Only what watches and lists tell counts here: an answer may be newer than a list that is under way.
        m->epoch = engine_feed(engine, cluster, kind)->epoch;
        observe_mirror(engine, entry, m, object, true);
        return;
    }
    if (m && m->doc.text)
        observe_mirror_gone(engine, entry, m, false);
    object_free(object);
}

// A stub: the object exists, and that is all that is known of it. What is kept of it stays as it is.
static void seen_stub(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    struct entry *entry = store_get(&engine->store, kind, object_namespace(object->value), object_name(object->value));
    struct mirror *m = entry && cluster != ENGINE_MANAGEMENT ? entry_mirror(entry, cluster) : NULL;
    if (entry && cluster == ENGINE_MANAGEMENT)
        entry->epoch = engine_feed(engine, cluster, kind)->epoch;
    if (m)
        m->epoch = engine_feed(engine, cluster, kind)->epoch;
    object_free(object);
}

void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    if (object->too_large)
        seen_stub(engine, cluster, kind, object);
    else if (cluster == ENGINE_MANAGEMENT)
        seen_workload(engine, kind, object);
    else
        seen_mirror(engine, cluster, kind, object);
}

// What is gone is shown once more as it was at the end: it may have finished since it was last seen.
static void take_last_state(struct engine *engine, struct entry *entry, struct mirror *m, struct object **object) {
    if (entry->finished || m->finished || is_stale(engine, &m->doc, (*object)->value) ||
        !last_word_is_final(engine, entry, (*object)->value))
        return;
    doc_set(&engine->store, &m->doc, *object);
    *object = NULL;
    m->finished = true;
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
        if (known && m->doc.text) {
            bool certain = object_is_being_deleted(value);
            take_last_state(engine, entry, m, &object);
            observe_mirror_gone(engine, entry, m, certain);
        } else if (known)
            m->outdated = m->command != 0;
    }
    object_free(object);
}

void observe_listed(struct engine *engine, size_t cluster, size_t kind) {
    uint32_t epoch = engine_feed(engine, cluster, kind)->epoch;
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        if (cluster == ENGINE_MANAGEMENT && e->epoch != epoch)
            forget_workload(engine, e);
        struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(e, cluster);
        if (m && m->doc.text && m->epoch != epoch)
            observe_mirror_gone(engine, e, m, false);
        engine_queue(engine, e);
    }
}
