// SPDX-License-Identifier: Apache-2.0
// Metrics of clusters: requests, watches, workers.
#include "core/kube/client/meter.h"
#include "core/serve/metrics/metrics_internal.h"
#include "core/serve/metrics/metrics_text.h"

#include <stdio.h>

static const char *const verb_labels[STATS_VERBS] = {
    [VERB_GET] = "get",           [VERB_CREATE] = "create",
    [VERB_MERGE_PATCH] = "patch", [VERB_STATUS_PATCH] = "patch_status",
    [VERB_DELETE] = "delete",     [VERB_RAW_GET] = "get_raw",
};

static const char *const meter_labels[] = {
    [METER_GET] = "get",       [METER_CREATE] = "create",
    [METER_PATCH] = "patch",   [METER_PATCH_STATUS] = "patch_status",
    [METER_DELETE] = "delete", [METER_LIST] = "list",
    [METER_OTHER] = "other",
};

static const char *const state_labels[] = {
    [REFLECTOR_STARTING] = "starting",
    [REFLECTOR_CONNECTED] = "connected",
    [REFLECTOR_LOST] = "lost",
    [REFLECTOR_ABSENT] = "absent",
};
#define STATES (sizeof state_labels / sizeof state_labels[0])

// A family with one series a cluster and verb.
static void print_sent(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_requests_sent_total";
    metrics_family(out, name, "counter", "Requests sent to API servers, watches and lists not counted.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            if (s->stats.clusters[c].sent[v])
                metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"verb", verb_labels[v]}),
                               s->stats.clusters[c].sent[v]);
}

// Series that are 0 are omitted: there are too many combinations.
static void print_answers(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_requests_total";
    metrics_family(out, name, "counter", "Outcomes of requests to API servers, by reason.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            for (size_t r = 0; r < STATS_REASONS; r++) {
                uint64_t count = s->stats.clusters[c].answers[v][r];
                if (count)
                    metrics_sample(out, name,
                                   LABELS({"cluster", s->names[c]}, {"verb", verb_labels[v]},
                                          {"reason", reason_text((enum reason)r)}),
                                   count);
            }
}

// `first`: 0 for all clusters, 1 for the workers only.
static void print_of_clusters(const struct host_snapshot *s, struct buffer *out, size_t first, const char *name,
                              const char *type, const char *help, size_t offset) {
    metrics_family(out, name, type, help);
    for (size_t c = first; c < s->stats.n_clusters; c++) {
        const char *stats = (const char *)&s->stats.clusters[c];
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), *(const uint64_t *)(const void *)(stats + offset));
    }
}

static void print_windows(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 0, "wharf_requests_window", "gauge",
                      "Requests that may be in flight to a cluster, found from its round-trip times.",
                      offsetof(struct stats_cluster, window));
    print_of_clusters(s, out, 0, "wharf_requests_in_flight", "gauge", "Requests to a cluster that are in flight.",
                      offsetof(struct stats_cluster, in_flight));
    const char *name = "wharf_requests_waiting";
    metrics_family(out, name, "gauge", "Objects that wait for a place in a cluster's window, by what is to be sent.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < WORK_CLASSES; i++)
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"class", work_class_name((enum work_class)i)}),
                           s->stats.clusters[c].waiting[i]);
}

static void print_contacts(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_cluster_contact";
    metrics_family(out, name, "gauge", "State of a cluster's API server: 1 for the present state, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < CONTACTS; i++)
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"contact", contact_name((enum contact)i)}),
                           (size_t)stats_contact(&s->stats, c) == i);
}

static void print_guards(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_worker_guards";
    metrics_family(out, name, "gauge", "Guards of a worker that were alive when it was last read; 0 without fencing.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), s->stats.clusters[c].guards);
}

static void print_watch_states(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_watch_state";
    metrics_family(out, name, "gauge", "State of the watch of a kind in a cluster: 1 for the present state, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++)
            for (size_t i = 0; i < STATES; i++)
                metrics_sample(
                    out, name,
                    LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}, {"state", state_labels[i]}),
                    (size_t)s->stats.clusters[c].watches[k].state == i);
}

static void print_watch_counter(const struct host_snapshot *s, struct buffer *out, const char *name, const char *help,
                                size_t offset) {
    metrics_family(out, name, "counter", help);
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++) {
            const char *watch = (const char *)&s->stats.clusters[c].watches[k];
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}),
                           *(const uint64_t *)(const void *)(watch + offset));
        }
}

static void print_watches(const struct host_snapshot *s, struct buffer *out) {
    print_watch_states(s, out);
    print_watch_counter(s, out, "wharf_watch_objects_seen_total", "Objects that were listed, added or changed.",
                        offsetof(struct stats_watch, seen));
    print_watch_counter(s, out, "wharf_watch_objects_gone_total", "Objects that were deleted.",
                        offsetof(struct stats_watch, gone));
    print_watch_counter(s, out, "wharf_watch_lists_total", "Lists that were completed.",
                        offsetof(struct stats_watch, lists));
    print_watch_counter(s, out, "wharf_watch_losses_total", "Times that a connected watch was lost.",
                        offsetof(struct stats_watch, losses));
}

// The management cluster, number 0, has no mirrors.
static void print_workers(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 1, "wharf_worker_active_workloads", "gauge",
                      "Unfinished workloads that are placed in a worker cluster.",
                      offsetof(struct stats_cluster, active));
    print_of_clusters(s, out, 1, "wharf_worker_mirrors", "gauge",
                      "Mirrors that exist in a worker cluster, finished ones too.",
                      offsetof(struct stats_cluster, mirrors));
}

// A flag of each kind in each cluster; `first` as above.
static void print_watch_flag(const struct host_snapshot *s, struct buffer *out, size_t first, const char *name,
                             const char *help, size_t offset) {
    metrics_family(out, name, "gauge", help);
    for (size_t c = first; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++) {
            const char *watch = (const char *)&s->stats.clusters[c].watches[k];
            metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}),
                           *(const bool *)(const void *)(watch + offset));
        }
}

static void print_watch_flags(const struct host_snapshot *s, struct buffer *out) {
    print_watch_flag(s, out, 1, "wharf_worker_eligible", "1 where a worker gets new workloads of a kind, else 0.",
                     offsetof(struct stats_watch, eligible));
    print_watch_flag(s, out, 0, "wharf_kind_paused",
                     "1 where a kind is paused in a cluster, see the log for why, else 0.",
                     offsetof(struct stats_watch, paused));
}

static void print_missing_fields(const struct host_snapshot *s, struct buffer *out) {
    metrics_family(out, "wharf_kind_managed_by_missing", "gauge",
                   "1 where the management cluster's API of a kind lacks the field managedBy, else 0.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        metrics_sample(out, "wharf_kind_managed_by_missing", LABELS({"kind", s->kinds[k]->plural_group}),
                       s->stats.clusters[ENGINE_MANAGEMENT].watches[k].no_field);
}

// Verbs and codes that did not occur are omitted.
static void print_durations(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_request_duration_seconds";
    metrics_family(out, name, "histogram", "Time that requests to API servers took; watches are not counted.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < s->readings[c].meter.n_series; i++) {
            const struct meter_series *series = &s->readings[c].meter.series[i];
            char code[16] = "none";
            if (series->verb == METER_OTHER)
                snprintf(code, sizeof code, "other");
            else if (series->code != 0)
                snprintf(code, sizeof code, "%d", series->code);
            metrics_buckets(out, name,
                            LABELS({"cluster", s->names[c]}, {"verb", meter_labels[series->verb]}, {"code", code}),
                            series->buckets, meter_bounds_ns, METER_BUCKETS, series->sum_ns);
        }
}

static void print_pod_events(const struct host_snapshot *s, struct buffer *out) {
    static const struct {
        const char *name, *type, *help;
        enum meter_pods what;
    } families[] = {
        {"wharf_pod_events_watched", "gauge", "1 where the Events of pods are watched, else 0.", METER_PODS_WATCHED},
        {"wharf_pod_events_received_total", "counter", "Events of pods that were received from a worker.",
         METER_PODS_RECEIVED},
        {"wharf_pod_events_reported_total", "counter", "Reports made of them, each of one or more.",
         METER_PODS_REPORTED},
    };
    static const char *const reasons[METER_PODS] = {[METER_PODS_OTHER] = "not-of-a-mirror",
                                                    [METER_PODS_LIMITED] = "limit",
                                                    [METER_PODS_CROWDED] = "crowded",
                                                    [METER_PODS_UNREAD] = "unreadable"};
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        metrics_family(out, families[f].name, families[f].type, families[f].help);
        for (size_t c = 1; c < s->stats.n_clusters; c++)
            metrics_sample(out, families[f].name, LABELS({"cluster", s->names[c]}),
                           s->readings[c].meter.pod_events[families[f].what]);
    }
    const char *name = "wharf_pod_events_dropped_total";
    metrics_family(out, name, "counter", "Events of pods, or reports of them, that became no Event on a workload.");
    for (size_t c = 1; c < s->stats.n_clusters; c++) {
        for (size_t i = 0; i < METER_PODS; i++)
            if (reasons[i])
                metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"reason", reasons[i]}),
                               s->readings[c].meter.pod_events[i]);
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}, {"reason", "host-limit"}),
                       s->stats.clusters[c].remarks_refused);
    }
}

static void print_expiries(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_client_certificate_expiry_timestamp_seconds";
    bool begun = false;
    for (size_t c = 0; c < s->stats.n_clusters; c++) {
        if (s->readings[c].meter.expires_ns == 0)
            continue;
        if (!begun)
            metrics_family(out, name, "gauge", "When the client certificate in use for a cluster expires.");
        begun = true;
        metrics_sample_seconds(out, name, LABELS({"cluster", s->names[c]}), s->readings[c].meter.expires_ns);
    }
}

static void print_readings(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_cluster_silence_seconds";
    metrics_family(out, name, "gauge", "Time since the last byte from a cluster's API server, or since the start.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        metrics_sample_seconds(out, name, LABELS({"cluster", s->names[c]}), s->readings[c].silence_ns);
    print_expiries(s, out);
    name = "wharf_inbox_events";
    metrics_family(out, name, "gauge", "Events from a cluster that wait for the engine.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), s->readings[c].inbox);
    name = "wharf_inbox_oldest_age_seconds";
    metrics_family(out, name, "gauge", "How long the oldest of these events has waited; 0 if there is none.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        metrics_sample_seconds(out, name, LABELS({"cluster", s->names[c]}), s->readings[c].inbox_since_ns);
    name = "wharf_watch_restarts_total";
    metrics_family(out, name, "counter", "Watches that were opened again after one had ended.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), s->readings[c].meter.restarts);
    name = "wharf_recorder_events_lost_total";
    metrics_family(out, name, "counter", "Kubernetes Events that could not be written, or exceeded the rate limit.");
    metrics_sample(out, name, NULL, s->stats.n_clusters > 0 ? s->readings[0].meter.events_lost : 0);
}

static void print_refused(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_cluster_refused";
    metrics_family(out, name, "gauge",
                   "1 where nothing is done because a cluster is not the one that it should be, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        metrics_sample(out, name, LABELS({"cluster", s->names[c]}), *s->stats.clusters[c].refused != '\0');
}

static void print_held_back(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 1, "wharf_worker_status_bytes_total", "counter",
                      "Bytes of workloads written to the management cluster for the statuses of a worker's mirrors.",
                      offsetof(struct stats_cluster, status_bytes));
    print_of_clusters(s, out, 1, "wharf_worker_statuses_delayed", "gauge",
                      "1 while statuses of a worker's mirrors are delayed by rateLimit.statusBytes, else 0.",
                      offsetof(struct stats_cluster, statuses_wait));
    print_of_clusters(s, out, 1, "wharf_orphans_held", "gauge",
                      "Mirrors without a workload that are held: not deleted before orphanGrace is over.",
                      offsetof(struct stats_cluster, orphans_held));
}

static void print_doubts(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 1, "wharf_worker_suspect", "gauge",
                      "1 where the worker finishes workloads far faster than other workers do, else 0.",
                      offsetof(struct stats_cluster, suspect));
    print_of_clusters(
        s, out, 1, "wharf_mirrors_unproven", "gauge",
        "Mirrors that are neither adopted nor deleted, because nothing proves that this host created them.",
        offsetof(struct stats_cluster, unproven));
    print_of_clusters(s, out, 1, "wharf_foreign_objects_total", "counter",
                      "Times that an object with this host's marks and without a valid seal was seen.",
                      offsetof(struct stats_cluster, unsealed));
}

void metrics_print_clusters(const struct host_snapshot *s, struct buffer *out) {
    print_answers(s, out);
    print_sent(s, out);
    print_durations(s, out);
    print_windows(s, out);
    print_contacts(s, out);
    print_guards(s, out);
    print_watches(s, out);
    print_workers(s, out);
    print_watch_flags(s, out);
    print_missing_fields(s, out);
    print_refused(s, out);
    print_doubts(s, out);
    print_held_back(s, out);
    print_readings(s, out);
    print_pod_events(s, out);
}
