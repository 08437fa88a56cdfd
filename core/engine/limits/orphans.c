// SPDX-License-Identifier: Apache-2.0
// Rules 7 and 9. After an event that showed the deletion of the workload, the host deletes the mirror. A workload that
// is merely absent (from a list, after a restart) may be absent because somebody emptied, restored or replaced the
// management cluster. So the host first counts such orphans for a moment, and holds many at once, or any while the
// management cluster is suspect, for orphanGrace.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/limits/limits.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/kube/object/object.h"

#include <inttypes.h>

#define COUNT_NS (2 * CLOCK_SECOND)
#define NAME_BYTES ((size_t)1024) // size of an orphan kept by name
#define WINDOW_NS (10 * CLOCK_MINUTE)
#define FEW 2 // never too many, even if all mirrors of the cluster are orphans

enum orphan_state {
    ORPHAN_NOT,
    ORPHAN_NEW, // the host still counts the orphans
    ORPHAN_HELD,
    ORPHAN_DELETABLE
};

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

void orphans_listed(struct engine *engine, size_t cluster, size_t kind) {
    if (cluster != ENGINE_MANAGEMENT)
        return;
    uint32_t epoch = cluster_watch(engine, cluster, kind)->epoch;
    size_t cursor = 0;
    for (const struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));)
        if (e->workload->facts.exists && e->epoch == epoch)
            return;
    cluster_suspect_deletions(engine, kind, false); // no delegated workload at all
}

void orphans_note_revision(struct engine *engine, size_t kind, const struct json *object) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    int64_t revision = 0;
    if (text_to_int64(object_version(object), &revision) && revision > watch->revision)
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

// Counts orphans and their memory.
static void account(struct engine *engine, struct mirror *m) {
    struct orphan_count *orphans = &engine->clusters[m->facts.cluster].limits;
    uint32_t bytes = m->facts.present && !m->facts.of_workload ? m->doc.text.len + 1 : 0;
    orphans->bytes += (size_t)bytes - m->counted_bytes;
    orphans->names += (size_t)(bytes > 0) - (m->counted_bytes > 0);
    bool gone = m->counted_bytes > 0 && bytes == 0;
    m->counted_bytes = bytes;
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

void orphans_account(struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        account(engine, m);
}

void orphans_check(struct engine *engine, struct entry *entry) {
    bool listed = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listed;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        account(engine, m);
        bool orphan = m->facts.present && !m->facts.of_workload && !m->facts.being_deleted;
        bool seen = orphan && entry->deletion_is_certain && entry->deleted_uid == uid_hash(m->workload_uid);
        m->facts.held_until_ns = 0;
        if (!orphan || seen || m->released || engine->settings.orphan_grace_ns == 0)
            end_wait(engine, m);
        else if (listed && engine->workers[entry->kind][m->facts.cluster].connected) // both lists are complete
            m->facts.held_until_ns = advance(engine, entry, m);
    }
}
