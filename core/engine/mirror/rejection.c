// SPDX-License-Identifier: Apache-2.0
// A cluster that answers and rejects the host: its credentials, or a right that a kind needs. When the rejection ends,
// the host tries the workloads again at once that had this rejection.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/report/report.h"

#define ADVICE "; run \"wharf join\" for the worker again, or renew the credentials and rights of its kubeconfig"

// The worker rejected the workload's mirror for lack of credentials or rights.
static bool is_excluded(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    const struct attempt *last = attempt_history_newest(entry);
    while (last && strcmp(last->cluster, engine->clusters[mirror->facts.cluster].name) != 0)
        last = last->older;
    return mirror->facts.excluded_until_ns > engine->now.mono_ns && last && last->reason &&
           (strcmp(last->reason, "Forbidden") == 0 || strcmp(last->reason, "Unauthorized") == 0);
}

static void retry_excluded(struct engine *engine, size_t cluster, size_t kind) {
    size_t cursor = 0;
    for (struct entry *e; (e = map_next(&engine->store.maps[kind], &cursor));) {
        struct mirror *mirror = entry_mirror(e, (uint32_t)cluster);
        if (!mirror || !is_excluded(engine, e, mirror))
            continue;
        mirror->facts.excluded_until_ns = 0;
        queue_entry(engine, e);
    }
}

static void on_contact(struct engine *engine, const struct engine_event *event) {
    size_t cluster = event->cluster;
    struct stats_cluster *stats = &engine->stats.clusters[cluster];
    bool rejected = event->contact.state == CONTACT_REJECTED;
    *stats->rejected = '\0';
    if (rejected)
        snprintf(stats->rejected, sizeof stats->rejected, "%.240s%s",
                 event->contact.problem ? event->contact.problem : "the API server rejects the host",
                 cluster == ENGINE_MANAGEMENT ? "" : ADVICE);
    for (size_t k = 0; k < engine->n_kinds && event->contact.state == CONTACT_GOOD; k++)
        if (cluster != ENGINE_MANAGEMENT && cluster_contact(engine, cluster) == CONTACT_REJECTED)
            retry_excluded(engine, cluster, k);
}

static void on_denied(struct engine *engine, const struct engine_event *event) {
    struct stats_watch *stats = &engine->stats.clusters[event->cluster].watches[event->kind];
    *stats->denied = '\0';
    if (event->problem) {
        snprintf(stats->denied, sizeof stats->denied, "%.200s (403)%s", event->problem, ADVICE);
        report_log(engine, LOG_WARN, event->cluster, event->kind, "%s", stats->denied);
        return;
    }
    report_log(engine, LOG_INFO, event->cluster, event->kind, "the host now has the rights that the worker denied");
    retry_excluded(engine, event->cluster, event->kind);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_CONTACT)
        on_contact(engine, event);
    else
        on_denied(engine, event);
}

const struct part part_rejection = {
    .name = "rejection", .events = PART_EVENT(EVENT_CONTACT) | PART_EVENT(EVENT_DENIED), .event = on_event};
