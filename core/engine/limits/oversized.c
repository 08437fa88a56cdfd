// SPDX-License-Identifier: Apache-2.0
// Mirrors and workloads that the host keeps in part, or not at all: orphans (orphans.c), large mirrors, and objects
// beyond maxObjectSize or maxObjectNodes, which arrive as stubs (object.h). The host does not handle such a workload,
// does not copy the status of such a mirror, and reports both. It keeps the earlier state, and deletions proceed. A
// status beyond maxStatusSize alone arrives reduced (object.h), and the host copies it reduced.
#include "core/engine/limits/limits.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/json/pointer.h"

// Large mirrors ------------------------------------------------------------------------------------------------

static size_t max_excess(const struct engine *engine) {
    return engine->settings.max_orphans * LARGE_MIRRORS_SHARE;
}

static size_t excess_of(const struct entry *entry, size_t len) {
    size_t allowed = entry->workload->doc.text.len + LARGE_MIRRORS_ALLOWED;
    return entry->workload->facts.exists && len > allowed ? len - allowed : 0;
}

void large_mirrors_bound(struct engine *engine, size_t cluster, size_t kind, struct object **object) {
    const struct object *o = *object;
    size_t max = max_excess(engine);
    if (max == 0 || o->too_large || o->len <= LARGE_MIRRORS_ALLOWED)
        return;
    const struct entry *entry = store_get(&engine->store, kind, object_namespace(o->value), object_name(o->value));
    const struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    size_t others = engine->clusters[cluster].limits.excess - (m ? m->excess : 0);
    size_t excess = entry ? excess_of(entry, o->len) : 0;
    if (excess == 0 || others + excess <= max)
        return;
    struct object *stub = NULL;
    AUTO_TEXT why = text_format("the mirrors of this worker together exceed their workloads by more than %zu bytes; "
                                "raise memory.perCluster",
                                max);
    struct error *error = object_stub(o->text, o->len, NULL, NULL, NULL, why, &stub);
    if (error) {
        error_free(error);
        return;
    }
    object_free(*object);
    *object = stub;
    cluster_watch(engine, cluster, kind)->large_ignored = true;
}

static void set_excess(struct engine *engine, struct mirror *m, size_t excess) {
    size_t cluster = m->facts.cluster, *sum = &engine->clusters[cluster].limits.excess;
    size_t before = *sum, half = max_excess(engine) / 2;
    *sum += excess - m->excess;
    m->excess = (uint32_t)excess;
    for (size_t k = 0; before > half && *sum <= half && k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (watch->large_ignored)
            cluster_relist(engine, cluster, k);
        watch->large_ignored = false;
    }
}

// In a step.
static void large_mirrors_account(struct engine *engine, const struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        set_excess(engine, m, m->facts.present && m->facts.of_workload ? excess_of(entry, m->doc.text.len) : 0);
}

void large_mirrors_forget(struct engine *engine, struct mirror *m) {
    set_excess(engine, m, 0);
}

// Oversized objects --------------------------------------------------------------------------------------------

static bool is_same(const char *uid, const struct doc *doc, const struct object *stub) {
    return doc->text.own && strcmp(uid, object_uid(stub->value)) == 0;
}

static void see_oversized_workload(struct engine *engine, size_t kind, struct object *stub) {
    const struct kind *k = engine->kinds[kind];
    const char *manager = json_string(pointer_find(stub->value, k->abi.managed_by));
    bool ours = text_equal(manager, k->managed_by) && strlen(object_uid(stub->value)) < STORE_UID_MAX;
    const char *namespace_ = object_namespace(stub->value), *name = object_name(stub->value);
    struct entry *entry =
        ours ? store_make(&engine->store, kind, namespace_, name) : store_get(&engine->store, kind, namespace_, name);
    if (entry)
        entry->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
    if (!entry || !ours) {
        object_free(stub);
        return;
    }
    AUTO_TEXT why = strdup(stub->too_large);
    if (is_same(entry->workload->uid, &entry->workload->doc, stub)) {
        entry->workload->facts.too_large = true;
        entry->workload->facts.being_deleted |= object_is_being_deleted(stub->value);
        object_free(stub);
        queue_entry(engine, entry);
    } else {
        observe_workload(engine, entry, stub);
    }
    report_event(engine, entry, true, "TooLarge", "Observe", "not handled: %s", why ? why : "too large");
}

static void see_oversized_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *stub) {
    const char *namespace_ = object_namespace(stub->value), *name = object_name(stub->value);
    struct entry *entry = store_get(&engine->store, kind, namespace_, name);
    struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    enum ownership ownership = observe_ownership(engine, cluster, kind, m, stub->value);
    if (ownership != OWNERSHIP_NONE && !m && (!entry || !entry->workload->facts.exists) &&
        !pause_has_room(engine, cluster, kind)) {
        object_free(stub);
        return;
    }
    AUTO_TEXT copy = strdup(stub->too_large);
    const char *why = copy ? copy : "too large";
    if (ownership != OWNERSHIP_NONE && !entry)
        entry = store_make(&engine->store, kind, namespace_, name);
    if (ownership != OWNERSHIP_NONE && !m && entry)
        m = entry_make_mirror(entry, cluster);
    if (m)
        m->epoch = cluster_watch(engine, cluster, kind)->epoch;
    bool same = m && is_same(m->uid, &m->doc, stub), known = m && m->facts.too_large;
    if (!m || (ownership == OWNERSHIP_NONE && !same)) {
        if (m && m->facts.present)
            observe_mirror_gone(engine, entry, m, false);
        object_free(stub);
        return;
    }
    if (same) {
        m->facts.too_large = true;
        m->facts.being_deleted |= object_is_being_deleted(stub->value);
        object_free(stub);
        queue_entry(engine, entry);
    } else {
        observe_mirror(engine, entry, m, stub, ownership);
    }
    if (m->facts.of_workload)
        report_event(engine, entry, true, "TooLarge", "CopyStatus",
                     "the mirror in cluster %s is too large, so the host does not copy the status: %s",
                     engine->clusters[cluster].name, why);
    if (!known)
        report_log(engine, LOG_WARN, (uint32_t)cluster, kind, "the host ignores %s, which is too large: %s", entry->key,
                   why);
}

// The part -----------------------------------------------------------------------------------------------------

static void on_event(struct engine *engine, struct engine_event *event) {
    size_t cluster = event->cluster, kind = event->kind;
    if (event->type == EVENT_FIELD)
        pause_set_field(engine, kind, event->lacks);
    if (event->type == EVENT_LISTED) {
        pause_listed(engine, cluster, kind);
        orphans_listed(engine, cluster, kind);
    }
    if (event->type != EVENT_SEEN && event->type != EVENT_GONE)
        return;
    if (cluster == ENGINE_MANAGEMENT)
        orphans_note_revision(engine, kind, event->object->value);
    else if (event->type == EVENT_SEEN)
        large_mirrors_bound(engine, cluster, kind, &event->object);
    if (event->type != EVENT_SEEN || !event->object->too_large)
        return;
    if (cluster == ENGINE_MANAGEMENT)
        see_oversized_workload(engine, kind, TAKE(event->object));
    else
        see_oversized_mirror(engine, cluster, kind, TAKE(event->object));
}

static void check(struct engine *engine, struct entry *entry) {
    large_mirrors_account(engine, entry);
    orphans_check(engine, entry);
}

static void account(struct engine *engine, struct entry *entry) {
    large_mirrors_account(engine, entry);
    orphans_account(engine, entry);
}

static void configure(struct engine *engine, const struct engine_settings *former) {
    size_t max = engine->settings.max_orphans;
    engine->limits.grew |= max != former->max_orphans && (max == 0 || max > former->max_orphans);
}

static void tick(struct engine *engine) {
    if (engine->limits.grew)
        pause_limit_grew(engine);
}

const struct part part_limits = {.name = "limits",
                                 .configure = configure,
                                 .events = PART_EVENT(EVENT_SEEN) | PART_EVENT(EVENT_GONE) | PART_EVENT(EVENT_LISTED) |
                                           PART_EVENT(EVENT_FIELD),
                                 .event = on_event,
                                 .tick = tick,
                                 .before = check,
                                 .stand_by = account};
