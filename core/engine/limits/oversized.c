// SPDX-License-Identifier: Apache-2.0
// Objects beyond maxObjectSize or maxObjectNodes, which arrive as stubs (object.h). Such a workload is not handled, and
// the status of such a mirror not copied; both are reported. Earlier knowledge is kept, and deletions proceed. A status
// beyond maxStatusSize alone arrives reduced (status_limit.h), and is copied so.
#include "core/engine/limits/oversized.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/limits/pause.h"
#include "core/engine/observe/observe.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/json/pointer.h"

#include <string.h>

static bool is_same(const char *uid, const struct doc *doc, const struct object *stub) {
    return doc->text.own && strcmp(uid, object_uid(stub->value)) == 0;
}

static void seen_workload(struct engine *engine, size_t kind, struct object *stub) {
    const struct kind *k = engine->kinds[kind];
    const char *manager = json_string(pointer_find(stub->value, k->abi.managed_by));
    bool ours = text_equal(manager, k->managed_by) && strlen(object_uid(stub->value)) < STORE_UID_MAX;
    const char *space = object_namespace(stub->value), *name = object_name(stub->value);
    struct entry *entry =
        ours ? store_make(&engine->store, kind, space, name) : store_get(&engine->store, kind, space, name);
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
    report_event(engine, entry, true, "TooLarge", "Observe", "it is not handled: %s", why ? why : "it is too large");
}

static void report_oversized(struct engine *engine, struct entry *entry, const struct mirror *m, bool known,
                             const char *why) {
    if (m->facts.of_workload)
        report_event(engine, entry, true, "TooLarge", "CopyStatus",
                     "its mirror in cluster %s is too large, so its status is not copied: %s",
                     engine->clusters[m->facts.cluster].name, why);
    if (!known)
        report_log(engine, LOG_WARN, m->facts.cluster, entry->kind, "%s is too large and is ignored: %s", entry->key,
                   why);
}

static void seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *stub) {
    const char *space = object_namespace(stub->value), *name = object_name(stub->value);
    struct entry *entry = store_get(&engine->store, kind, space, name);
    struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    enum ownership ownership = observe_ownership(engine, cluster, kind, m, stub->value);
    if (ownership != OWNERSHIP_NONE && !m && (!entry || !entry->workload->facts.exists) &&
        !pause_has_room(engine, cluster, kind)) {
        object_free(stub);
        return;
    }
    AUTO_TEXT why = strdup(stub->too_large);
    if (ownership != OWNERSHIP_NONE && !entry)
        entry = store_make(&engine->store, kind, space, name);
    if (ownership != OWNERSHIP_NONE && !m && entry)
        m = entry_make_mirror(entry, cluster);
    if (m)
        m->epoch = cluster_watch(engine, cluster, kind)->epoch;
    if (!m || (ownership == OWNERSHIP_NONE && !is_same(m->uid, &m->doc, stub))) {
        if (m && m->facts.present)
            observe_mirror_gone(engine, entry, m, false);
        object_free(stub);
        return;
    }
    bool known = m->facts.too_large;
    if (is_same(m->uid, &m->doc, stub)) {
        m->facts.too_large = true;
        m->facts.being_deleted |= object_is_being_deleted(stub->value);
        object_free(stub);
        queue_entry(engine, entry);
    } else {
        observe_mirror(engine, entry, m, stub, ownership);
    }
    report_oversized(engine, entry, m, known, why ? why : "it is too large");
}

void oversized_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    if (cluster == ENGINE_MANAGEMENT)
        seen_workload(engine, kind, object);
    else
        seen_mirror(engine, cluster, kind, object);
}
