// SPDX-License-Identifier: Apache-2.0
// Mirrors and workloads that the host keeps in part, or not at all: orphans, large mirrors, and objects beyond
// maxObjectSize or maxObjectNodes, which arrive as stubs (object.h).
//
// Orphans, rules 7 and 9: after an event that showed the deletion of the workload, the host deletes the mirror. A
// workload that is merely absent (from a list, after a restart) may be absent because somebody emptied, restored or
// replaced the management cluster. So the host first counts such orphans for a moment, and holds many at once, or any
// while the management cluster is suspect, for orphanGrace.
//
// Oversized objects: the host does not handle such a workload, does not copy the status of such a mirror, and reports
// both. It keeps the earlier state, and deletions proceed. A status beyond maxStatusSize alone arrives reduced
// (object.h), and the host copies it reduced.
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/limits/limits.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <inttypes.h>

#define COUNT_NS (2 * CLOCK_SECOND)
#define NAME_BYTES ((size_t)1024) // size of an orphan kept by name
#define WINDOW_NS (10 * CLOCK_MINUTE)
// Revisions since the last one known. etcd's guide bumps by a billion for a restore; writes take days for a tenth of
// that.
#define LEAP ((int64_t)100 * 1000 * 1000)
#define FEW 2 // never too many, even if all mirrors of the cluster are orphans

enum orphan_state {
    ORPHAN_NOT,
    ORPHAN_NEW, // the host still counts the orphans
    ORPHAN_HELD,
    ORPHAN_DELETABLE
};

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

// In a step.
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

// Orphans ------------------------------------------------------------------------------------------------------

static uint64_t uid_hash(const char *uid) {
    uint64_t hash = text_hash(TEXT_HASH, uid);
    return hash ? hash : 1;
}

void orphans_seen_deleted(struct engine *engine, struct entry *entry, const char *uid) {
    entry->deleted_uid = uid_hash(uid);
    entry->deletion_is_certain =
        cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->restored_until_ns <= engine->now.mono_ns;
    queue_entry(engine, entry);
}

bool orphans_was_deleted(const struct entry *entry, const char *uid) {
    return entry->deleted_uid == uid_hash(uid);
}

// A list of the management cluster is complete; called before any decision that follows. Without any delegated
// workload, or with an older version of one than the host has seen, the list may come from a backup.
static void suspect_list(struct engine *engine, size_t kind) {
    uint32_t epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
    bool empty = true, older = false;
    size_t cursor = 0;
    for (struct entry *e; !older && (e = map_next(&engine->store.maps[kind], &cursor));) {
        bool listed = e->workload->facts.exists && e->epoch == epoch;
        empty = empty && !listed;
        older = listed && stale_version_must_read(engine, e);
    }
    if (empty || older)
        cluster_suspect_deletions(engine, kind, older);
}

// `listed`: of a list, which may be older than what is known.
static void note_revision(struct engine *engine, size_t kind, int64_t revision, bool listed) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    if (watch->revision > 0 && revision - watch->revision >= LEAP)
        cluster_suspect_deletions(engine, kind, false);
    if (listed || revision > watch->revision)
        watch->revision = revision;
}

// The workload had a version that the management cluster has not reached, which therefore comes from a backup, restored
// perhaps while no host was running. Only the mirror shows that, which suffices for a wait.
static bool is_from_the_future(struct engine *engine, const struct entry *entry, struct mirror *m) {
    const char *text = object_annotation(doc_tree(&engine->store, &m->doc), MARK_VERSION);
    int64_t revision = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->revision, stamp = 0;
    if (revision == 0 || !text || !text_to_int64(text, &stamp) || stamp <= revision)
        return false;
    cluster_suspect_deletions(engine, entry->kind, false);
    return true;
}

// The mirror is no longer an orphan, or an operator has released the mirror.
static void end_wait(struct engine *engine, struct mirror *m) {
    if (m->orphan == ORPHAN_NEW || m->orphan == ORPHAN_HELD)
        engine->clusters[m->facts.cluster].limits.waiting--;
    struct stats_cluster *stats = &engine->stats.clusters[m->facts.cluster];
    if (m->orphan == ORPHAN_HELD && --stats->orphans_held == 0)
        report_log(engine, LOG_INFO, m->facts.cluster, LOG_NO_KIND, "the host holds no orphans any longer");
    m->orphan = ORPHAN_NOT;
}

void orphans_forget(struct engine *engine, struct mirror *m) {
    end_wait(engine, m);
    set_excess(engine, m, 0);
    engine->clusters[m->facts.cluster].limits.bytes -= m->counted_bytes;
    engine->clusters[m->facts.cluster].limits.names -= m->counted_bytes > 0;
    m->counted_bytes = 0;
}

static bool are_too_many(const struct engine *engine, size_t cluster, uint32_t *count) {
    const struct orphan_count *orphans = &engine->clusters[cluster].limits;
    int64_t n = (int64_t)orphans->waiting + orphans->released;
    int64_t all = (int64_t)engine->stats.clusters[cluster].mirrors + orphans->released;
    *count = (uint32_t)n;
    return n > engine->settings.mass_deletion_max ||
           (n > FEW && n * 100 > engine->settings.mass_deletion_percent * all);
}

static void report_hold(struct engine *engine, const struct entry *entry, const struct mirror *m, bool suspect,
                        uint32_t count) {
    const char *kind = engine->kinds[entry->kind]->plural_group;
    report_log(
        engine, LOG_WARN, m->facts.cluster, entry->kind,
        "orphans (mirrors without a workload) are held for %" PRId64
        " s before deletion: %s (%u now, the first is %s). To release one: kubectl annotate %s NAME " MARK_RELEASE
        "=true in that cluster",
        engine->settings.orphan_grace_ns / CLOCK_SECOND,
        suspect ? "the management cluster has no workload of this kind, or was restored from a backup"
                : "there are more than massDeletion allows",
        count, entry->key, kind);
}

static void release_orphan(struct engine *engine, struct mirror *m) {
    struct orphan_count *orphans = &engine->clusters[m->facts.cluster].limits;
    bool held = m->orphan == ORPHAN_HELD;
    end_wait(engine, m);
    m->orphan = ORPHAN_DELETABLE;
    if (held)
        return;
    if (engine->now.mono_ns - orphans->window_ns >= WINDOW_NS) {
        orphans->window_ns = engine->now.mono_ns;
        orphans->released = 0;
    }
    orphans->released++;
}

// The end of the hold; 0: the host may delete the orphan.
static int64_t hold_until(struct engine *engine, const struct entry *entry, struct mirror *m) {
    uint32_t count = 0;
    bool seen = orphans_was_deleted(entry, m->workload_uid);
    int64_t suspect_until_ns = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->suspect_until_ns;
    bool suspect = !seen && (suspect_until_ns > m->orphan_since_ns || is_from_the_future(engine, entry, m) ||
                             limit_may_have_refused(engine, m->workload_uid));
    if (!are_too_many(engine, m->facts.cluster, &count) && !suspect) {
        release_orphan(engine, m);
        return 0;
    }
    m->orphan = ORPHAN_HELD;
    if (engine->stats.clusters[m->facts.cluster].orphans_held++ == 0)
        report_hold(engine, entry, m, suspect, count);
    return clock_after(m->orphan_since_ns, engine->settings.orphan_grace_ns);
}

static int64_t advance(struct engine *engine, const struct entry *entry, struct mirror *m) {
    int64_t now_ns = engine->now.mono_ns;
    switch (m->orphan) {
    case ORPHAN_NOT:
        m->orphan = ORPHAN_NEW;
        m->orphan_since_ns = now_ns;
        engine->clusters[m->facts.cluster].limits.waiting++;
        return now_ns + COUNT_NS;
    case ORPHAN_NEW:
        return now_ns < m->orphan_since_ns + COUNT_NS ? m->orphan_since_ns + COUNT_NS : hold_until(engine, entry, m);
    case ORPHAN_HELD:
        if (now_ns >= clock_after(m->orphan_since_ns, engine->settings.orphan_grace_ns))
            release_orphan(engine, m);
        return m->orphan == ORPHAN_HELD ? clock_after(m->orphan_since_ns, engine->settings.orphan_grace_ns) : 0;
    default:
        return 0;
    }
}

// Counts the mirror, and the memory for orphans and large mirrors.
static void account(struct engine *engine, const struct entry *entry, struct mirror *m) {
    struct orphan_count *orphans = &engine->clusters[m->facts.cluster].limits;
    uint32_t bytes = m->facts.present && !m->facts.of_workload ? m->doc.text.len + 1 : 0;
    orphans->bytes += (size_t)bytes - m->counted_bytes;
    orphans->names += (size_t)(bytes > 0) - (m->counted_bytes > 0);
    bool gone = m->counted_bytes > 0 && bytes == 0;
    m->counted_bytes = bytes;
    set_excess(engine, m, m->facts.present && m->facts.of_workload ? excess_of(entry, m->doc.text.len) : 0);
    if (gone)
        pause_orphan_gone(engine, m->facts.cluster);
}

struct object *orphans_by_name(const struct engine *engine, size_t cluster, size_t kind, struct object *object,
                               bool *name_only) {
    bool listed = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->listed;
    size_t max = engine->settings.max_orphans * ENGINE_UNLISTED * NAME_BYTES;
    *name_only = false;
    if (engine->settings.max_orphans == 0 || (!listed && engine->clusters[cluster].limits.bytes < max))
        return object; // the list may still show the workload
    struct object *stub = NULL;
    struct error *error = object_stub(object->text, object->len, NULL, NULL, NULL, "", &stub);
    error_free(error);
    if (error)
        return object;
    object_free(object);
    free(stub->too_large); // the purpose of the stub is to save memory
    stub->too_large = NULL;
    *name_only = true;
    return stub;
}

// Another host decides: only counts.
static void account_all(struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        account(engine, entry, m);
}

// For an entry without a workload: sets held_until_ns of mirrors that the host must not delete yet.
static void check_all(struct engine *engine, struct entry *entry) {
    bool listed = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listed;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        account(engine, entry, m);
        bool orphan = m->facts.present && !m->facts.of_workload && !m->facts.being_deleted;
        bool seen = orphan && entry->deletion_is_certain && entry->deleted_uid == uid_hash(m->workload_uid);
        m->facts.held_until_ns = 0;
        if (!orphan || seen || m->released || engine->settings.orphan_grace_ns == 0)
            end_wait(engine, m);
        else if (listed && engine->workers[entry->kind][m->facts.cluster].connected) // both lists are complete
            m->facts.held_until_ns = advance(engine, entry, m);
    }
}

// Oversized objects --------------------------------------------------------------------------------------------

static bool is_same(const char *uid, const struct doc *doc, const struct object *stub) {
    return doc->text.own && strcmp(uid, object_uid(stub->value)) == 0;
}

static void see_oversized_workload(struct engine *engine, size_t kind, struct object *stub) {
    const struct kind *k = engine->kinds[kind];
    bool ours = observe_is_delegated(engine, k, stub->value);
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

static void management_event(struct engine *engine, const struct engine_event *event) {
    int64_t revision = event->revision;
    bool listed = event->type == EVENT_LISTED;
    if (listed || text_to_int64(object_version(event->object->value), &revision))
        note_revision(engine, event->kind, revision, listed);
    if (listed)
        suspect_list(engine, event->kind);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    size_t cluster = event->cluster, kind = event->kind;
    if (event->type == EVENT_FIELD) {
        pause_set_field(engine, kind, event->field.lacks);
        return;
    }
    if (event->type == EVENT_LISTED)
        pause_listed(engine, cluster, kind);
    if (cluster == ENGINE_MANAGEMENT)
        management_event(engine, event);
    else if (event->type == EVENT_SEEN)
        large_mirrors_bound(engine, cluster, kind, &event->object);
    if (event->type != EVENT_SEEN || !event->object->too_large)
        return;
    if (cluster == ENGINE_MANAGEMENT)
        see_oversized_workload(engine, kind, TAKE(event->object));
    else
        see_oversized_mirror(engine, cluster, kind, TAKE(event->object));
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
                                 .before = check_all,
                                 .stand_by = account_all};
