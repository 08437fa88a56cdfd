// SPDX-License-Identifier: Apache-2.0
#include "core/base/bucket.h"
#include "core/engine/part.h"
#include "core/engine/report/report.h"
#include "core/engine/unstarted/unstarted.h"

#include <string.h>

#define POD_REPORTS_BURST 100
#define POD_REPORT_NS CLOCK_SECOND

static struct entry *find(const struct engine *engine, const struct engine_event *event) {
    struct entry *entry = store_get(&engine->store, event->kind, event->pod_report.namespace_, event->pod_report.name);
    const struct mirror *m = entry ? entry_mirror(entry, event->cluster) : NULL;
    bool known = m && m->facts.present && m->facts.of_workload && entry->workload->facts.exists &&
                 strcmp(m->uid, event->pod_report.uid) == 0;
    return known ? entry : NULL;
}

static void take_event(struct engine *engine, struct engine_event *event) {
    struct entry *entry = find(engine, event);
    if (!entry ||
        !bucket_take(&engine->report.pod_reports_full_ns, engine->now.mono_ns, POD_REPORT_NS, POD_REPORTS_BURST)) {
        engine->stats.clusters[event->cluster].pod_reports_refused++;
        return;
    }
    // Independent of the last Event about the workload: the recorder counts repeated pod reports.
    uint32_t last_note = entry->workload->report.last_note;
    bool reported = entry->workload->report.reported;
    entry->workload->report.last_note = 0;
    report_event(engine, entry, event->pod_report.warning, event->pod_report.reason, "RunPods", "%s: %s",
                 engine->clusters[event->cluster].name, event->pod_report.text);
    if (event->pod_report.warning)
        unstarted_pod_report(entry, event->pod_report.text);
    entry->workload->report.last_note = last_note;
    entry->workload->report.reported = reported;
}

const struct part part_pod_report = {
    .name = "pod reports", .events = PART_EVENT(EVENT_POD_REPORT), .event = take_event};
