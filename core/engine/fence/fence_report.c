// SPDX-License-Identifier: Apache-2.0
// The reports of guards count as states of the mirrors that the watch of a lost worker cannot show any more. All rules
// about statuses hold: the host copies it to the workload before it places the workload again.
#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/event.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/observe.h"

static size_t find_worker(const struct engine *engine, const char *name) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && strcmp(engine->clusters[c].name, name) == 0)
            return c;
    return ENGINE_MANAGEMENT;
}

// Of the present attempt, and newer than the state that the watch showed last.
static bool is_news(struct engine *engine, const struct entry *entry, struct mirror *m,
                    const struct engine_event *event) {
    const struct workload_facts *w = &entry->workload->facts;
    bool comparable = true;
    if (!w->exists || w->finished || !m->facts.present || !m->facts.of_workload || m->facts.finished ||
        m->facts.cluster != w->cluster || m->facts.attempt != w->attempt || event->report.attempt != w->attempt ||
        strcmp(m->uid, event->report.uid) != 0 || m->stub || m->reduced || m->facts.name_only || m->facts.too_large)
        return false;
    int order = object_version_compare(event->report.version, doc_version(&engine->store, &m->doc), &comparable);
    return comparable && order > 0;
}

static void on_report(struct engine *engine, struct engine_event *event) {
    size_t cluster = engine->settings.fencing.enabled ? find_worker(engine, event->report.worker) : ENGINE_MANAGEMENT;
    struct entry *entry = store_get(&engine->store, event->kind, event->report.namespace_, event->report.name);
    struct mirror *mirror = cluster && entry ? entry_mirror(entry, cluster) : NULL;
    AUTO_JSON status = NULL;
    if (!mirror || !is_news(engine, entry, mirror, event))
        return;
    error_free(json_parse(event->report.status, strlen(event->report.status), &status));
    if (status)
        observe_reported(engine, entry, mirror, status, event->report.whole);
}

const struct part part_guard_report = {
    .name = "reports of guards", .events = PART_EVENT(EVENT_REPORT), .event = on_report};
