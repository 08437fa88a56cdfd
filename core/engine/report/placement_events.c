// SPDX-License-Identifier: Apache-2.0
// Events about placement, and Events of pods that the host passes on.
#include "core/base/clock.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/unstarted/unstarted.h"

#include <stdio.h>

// After a broken watch the host may only have to open the watch again, and an API server that accepts no connection may
// be restarting, or one of several. A worker is lost at once after several failed probes in a row.
#define LOSS_GRACE_NS (5 * CLOCK_SECOND)
#define LATER_NS (1 * CLOCK_SECOND) // requests come first
#define LATER_MORE_NS (4 * CLOCK_SECOND)

// Whole seconds, and none below one.
static void write_duration(int64_t ns, char out[CLOCK_RFC3339_MAX]) {
    int64_t rounded_ns = (ns + CLOCK_SECOND / 2) / CLOCK_SECOND * CLOCK_SECOND;
    clock_duration_text(rounded_ns > 0 ? rounded_ns : CLOCK_SECOND, out);
}

static void write_time(const struct engine *engine, int64_t mono_ns, char out[CLOCK_RFC3339_MAX]) {
    char whole[CLOCK_RFC3339_MAX];
    clock_rfc3339(engine->now.wall_ns - (engine->now.mono_ns - mono_ns), whole);
    const char *time = strchr(whole, 'T');
    text_copy(out, CLOCK_RFC3339_MAX, time ? time + 1 : whole);
}

// Without connections the host writes nothing there. Open watches still count, so the host does not reschedule.
static void report_loss_now(struct engine *engine, struct entry *entry, size_t cluster, int64_t since_ns, bool open) {
    const char *name = engine->clusters[cluster].name;
    char since[CLOCK_RFC3339_MAX], timeout[CLOCK_RFC3339_MAX], found[160];
    write_time(engine, since_ns, since);
    clock_duration_text(engine->settings.worker_lost_timeout_ns, timeout);
    snprintf(found, sizeof found,
             open ? "%.80s accepts no connection since %s; open watches continue" : "%.80s unreachable since %s", name,
             since);
    if (placement_waits_when_lost(engine, entry))
        report_event(engine, entry, true, "WorkerLost", "Observe",
                     "%s; the workload waits until the worker is back (onWorkerLost: wait)", found);
    else if (fence_until_ns(engine, entry, cluster) == CLOCK_NEVER)
        report_event(engine, entry, true, "WorkerLost", "Observe",
                     "%s; no guard was seen there, so the workload will not run in another worker before %s is back or "
                     "has left the configuration",
                     found, name);
    else
        report_event(engine, entry, true, "WorkerLost", "Observe", "%s; will run in another worker %s%s%s", found,
                     open ? "" : "after ", timeout, open ? " after the last watch ends" : "");
}

static void report_loss(struct engine *engine, struct entry *entry, size_t cluster) {
    const struct worker_facts *worker = &engine->workers[entry->kind][cluster];
    int64_t refused_ns = engine->clusters[cluster].membership.refused_since_ns, now_ns = engine->now.mono_ns;
    int64_t since_ns = worker->connected ? refused_ns : worker->lost_since_ns;
    // One Event for one loss: a stopping server refuses connections first, and ends watches later.
    int64_t reported_ns = entry->workload->loss_reported_ns;
    if (reported_ns && (reported_ns == since_ns || reported_ns == refused_ns))
        return;
    bool certain = cluster_contact(engine, cluster) == CONTACT_LOST || refused_ns;
    if (!certain && queue_is_early(engine, entry, since_ns + LOSS_GRACE_NS))
        return;
    if (!pacing_has_spare(engine, ENGINE_MANAGEMENT)) {
        int64_t more_ns = (int64_t)random_below(&engine->random, (uint64_t)LATER_MORE_NS);
        queue_wake(engine, entry, now_ns + LATER_NS + more_ns);
        return;
    }
    entry->workload->loss_reported_ns = since_ns;
    report_loss_now(engine, entry, cluster, since_ns, worker->connected);
}

static void report_back(struct engine *engine, struct entry *entry, size_t cluster) {
    if (engine->workers[entry->kind][cluster].frozen)
        return; // identification follows
    char lost[CLOCK_RFC3339_MAX];
    write_duration(engine->now.mono_ns - entry->workload->loss_reported_ns, lost);
    entry->workload->loss_reported_ns = 0;
    if (!facts_placed_mirror(entry)) // the host will reschedule
        return;
    if (pacing_has_spare(engine, ENGINE_MANAGEMENT))
        report_event(engine, entry, false, "WorkerBack", "Observe",
                     "%s reachable again after %s; still runs there (attempt %u)", engine->clusters[cluster].name, lost,
                     entry->workload->facts.attempt);
    else
        engine->stats.events_dropped++;
}

static void check(struct engine *engine, struct entry *entry, const struct action *action) {
    const struct workload_facts *w = &entry->workload->facts;
    uint32_t cluster = w->cluster;
    bool there = w->exists && !w->finished && !w->being_deleted && cluster;
    if (there && cluster == DECIDE_UNKNOWN_CLUSTER)
        missing_worker_check(engine, entry);
    else if (!there)
        entry->workload->loss_reported_ns = 0;
    else if (action->waiting == WAITING_WORKER || action->waiting == WAITING_KEPT ||
             action->waiting == WAITING_UNGUARDED ||
             (engine->workers[entry->kind][cluster].connected && engine->clusters[cluster].membership.refused_since_ns))
        report_loss(engine, entry, cluster);
    else if (entry->workload->loss_reported_ns && engine->workers[entry->kind][cluster].connected)
        report_back(engine, entry, cluster);
}

// A planned move: an operator drains the worker.
static bool is_drained(const struct engine *engine, const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->drained_attempt && w->drained_attempt == w->attempt && engine->workers[entry->kind][w->cluster].moves &&
           !facts_worker_is_lost(engine, entry);
}

// About the worker of the present placement.
static void write_cause(const struct engine *engine, const struct entry *entry, const struct action *action,
                        char out[256]) {
    const struct workload_facts *w = &entry->workload->facts;
    const struct unstarted_facts *unstarted = entry->workload->unstarted;
    uint32_t cluster = w->cluster;
    const char *name = engine->clusters[cluster].name;
    const struct mirror *mirror = entry_mirror(entry, cluster);
    char lost[CLOCK_RFC3339_MAX];
    if (facts_worker_is_lost(engine, entry)) {
        write_duration(engine->now.mono_ns - engine->workers[entry->kind][cluster].lost_since_ns, lost);
        snprintf(out, 256, "%s unreachable for %s", name, lost);
    } else if (w->drained_attempt && w->drained_attempt == w->attempt)
        snprintf(out, 256, is_drained(engine, entry) ? "%s is drained" : "%s has no consent", name);
    else if (unstarted && unstarted->withdrawn_attempt == w->attempt)
        snprintf(out, 256, "the mirror did not start in %s", name);
    else if (w->gone_attempt == w->attempt)
        snprintf(out, 256, "the mirror was deleted in %s", name);
    else if (mirror && mirror->facts.excluded_until_ns > engine->now.mono_ns)
        snprintf(out, 256, "%s rejected the workload", name);
    else
        snprintf(out, 256, "%s: %s", name, action->why);
}

void report_rescheduled(struct engine *engine, struct entry *entry, const struct action *action) {
    char cause[256];
    const struct attempt *attempt = attempt_history_newest(entry);
    bool ran =
        attempt && attempt->created_ns && attempt->outcome != OUTCOME_REJECTED && attempt->outcome != OUTCOME_WITHDRAWN;
    write_cause(engine, entry, action, cause);
    entry->workload->loss_reported_ns = 0;
    report_event(engine, entry, !is_drained(engine, entry), "Rescheduled", "Place", "%s; %s in %s (attempt %u)", cause,
                 ran ? "running again" : "placed", engine->clusters[action->cluster].name, action->attempt);
}

void report_finished(struct engine *engine, struct entry *entry) {
    const struct attempt *attempt = attempt_history_newest(entry);
    if (!attempt || entry->workload->facts.attempt == 0)
        return;
    if (!pacing_is_calm(engine, ENGINE_MANAGEMENT)) {
        engine->stats.events_dropped++;
        return;
    }
    char took[CLOCK_RFC3339_MAX] = "";
    int64_t began_ns = attempt->started_ns ? attempt->started_ns : attempt->created_ns;
    if (began_ns && attempt->ended_ns > began_ns)
        write_duration(attempt->ended_ns - began_ns, took);
    bool failed = attempt->outcome == OUTCOME_FAILED;
    // A workload restored from a backup may lack the name of the cluster.
    report_event(engine, entry, failed, "Finished", "CopyStatus", "%s%s%s%s%s (attempt %u)%s%s",
                 failed ? "failed" : "succeeded", *attempt->cluster ? " in " : "", attempt->cluster,
                 *took ? " after " : "", took, attempt->number, attempt->message && failed ? ": " : "",
                 attempt->message && failed ? attempt->message : "");
}

// Events of pods -----------------------------------------------------------------------------------------------

#define POD_REPORTS_BURST 100
#define POD_REPORT_NS CLOCK_SECOND

static struct entry *find_entry(const struct engine *engine, const struct engine_event *event) {
    struct entry *entry = store_get(&engine->store, event->kind, event->pod_report.namespace_, event->pod_report.name);
    const struct mirror *m = entry ? entry_mirror(entry, event->cluster) : NULL;
    bool known = m && m->facts.present && m->facts.of_workload && entry->workload->facts.exists &&
                 strcmp(m->uid, event->pod_report.uid) == 0;
    return known ? entry : NULL;
}

static void on_pod_report(struct engine *engine, struct engine_event *event) {
    struct entry *entry = find_entry(engine, event);
    if (!entry ||
        !bucket_take(&engine->report.pod_reports_full_ns, engine->now.mono_ns, POD_REPORT_NS, POD_REPORTS_BURST)) {
        engine->stats.clusters[event->cluster].pod_reports_refused++;
        return;
    }
    // Does not depend on the last Event about the workload: the recorder counts repeated pod reports.
    const struct workload_report former = entry->workload->report;
    entry->workload->report.last_note = 0;
    report_event(engine, entry, event->pod_report.warning, event->pod_report.reason, "RunPods", "%s: %s",
                 engine->clusters[event->cluster].name, event->pod_report.text);
    if (event->pod_report.warning)
        unstarted_pod_report(entry, event->pod_report.text);
    entry->workload->report = former;
}

const struct part part_placement_events = {
    .name = "placement events", .events = PART_EVENT(EVENT_POD_REPORT), .event = on_pod_report, .after = check};
