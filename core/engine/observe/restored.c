// SPDX-License-Identifier: Apache-2.0
// Rule 9. A cluster's resourceVersions went backwards: the cluster was restored from a backup, or wiped. The next
// list is compared with the known state; until that list is complete the host writes nothing.
#include "core/engine/observe/restored.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/identity.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/stale_version.h"
#include "core/engine/part.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/final_status.h"

#include <stdlib.h>
#include <string.h>

// The annotation records the carried fields.
static void stale_version_reset_mirror(struct mirror *m) {
    stale_version_reset_doc(&m->doc);
    free(m->record);
    m->record = NULL;
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
            stale_version_reset_mirror(m);
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
    object_free(response->object);
    response->object = NULL;
    if (response->reason == REASON_OK || response->reason == REASON_NOT_FOUND)
        response->reason = REASON_UNKNOWN_OUTCOME;
}

void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text, bool restored) {
    if (!text->own || entry->workload->facts.finished) {
        shared_text_clear(text);
        return;
    }
    final_status_drop(entry);
    final_status_put(entry, *text);
    report_event(engine, entry, false, "HadFinished", "CopyStatus", "%s",
                 restored
                     ? "it had finished before the management cluster was restored from a backup and is not run again"
                     : "it had finished, and another writer took back its final status, which is written again; "
                       "it is not run again");
}

const struct part part_restored = {.name = "restored", .events = PART_EVENT(EVENT_RESTORED), .event = on_restored};
