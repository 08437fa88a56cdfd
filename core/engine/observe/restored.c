// SPDX-License-Identifier: Apache-2.0
// Rule 9. A cluster's resourceVersions went backwards, after a restoration from a backup or a wipe. The host compares
// the next list with the known state, and writes nothing until that list is complete.
#include "core/engine/observe/observe.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"

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

static int compare(struct engine *engine, struct entry *entry, const char *version) {
    bool comparable = true;
    int order = object_version_compare(version, doc_version(&engine->store, &entry->workload->doc), &comparable);
    return comparable ? order : 0;
}

void stale_version_listed(struct engine *engine, struct entry *entry, const struct object *object) {
    if (!cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->listing)
        return;
    entry->workload->listed_older = compare(engine, entry, object_version(object->value)) < 0;
}

bool stale_version_must_read(struct engine *engine, struct entry *entry) {
    const struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    char revision[24];
    if (!entry->workload->listed_older || !entry->workload->facts.exists || !watch->listed || watch->revision == 0)
        return false;
    snprintf(revision, sizeof revision, "%lld", (long long)watch->revision);
    return compare(engine, entry, revision) >= 0;
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

void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text, bool restored) {
    if (!text->own || entry->workload->facts.finished) {
        shared_text_clear(text);
        return;
    }
    final_status_put(entry, *text);
    report_event(engine, entry, false, "HadFinished", "CopyStatus", "%s",
                 restored ? "the workload had finished before the management cluster was restored from a backup, and "
                            "does not run again"
                          : "the workload had finished, and another writer took back the final status: the host writes "
                            "the status again, and the workload does not run again");
}

const struct part part_restored = {.name = "restored", .events = PART_EVENT(EVENT_RESTORED), .event = on_restored};
