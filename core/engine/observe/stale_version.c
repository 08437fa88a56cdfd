// SPDX-License-Identifier: Apache-2.0
#include "core/engine/observe/stale_version.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/status/status.h"

#include <stdio.h>
#include <string.h>

void stale_version_reset_doc(struct doc *doc) {
    if (doc->text.own)
        memcpy(doc->version, STORE_VERSION_NONE, sizeof STORE_VERSION_NONE);
}

void stale_version_reset_workload(struct entry *e) {
    if (!e->workload->facts.exists)
        return;
    stale_version_reset_doc(&e->workload->doc);
    e->workload->carry_hash = 0;
    status_forget_writes(e->workload);
    e->workload->generation = 0;
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
