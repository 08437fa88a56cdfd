// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const verb_labels[STATS_VERBS] = {
    [VERB_GET] = "get",           [VERB_CREATE] = "create",
    [VERB_MERGE_PATCH] = "patch", [VERB_STATUS_PATCH] = "patch_status",
    [VERB_DELETE] = "delete",     [VERB_RAW_GET] = "get_raw",
};

static const char *const phase_labels[STATS_PHASES] = {
    [WHARF_PENDING] = "pending",     [WHARF_SUSPENDED] = "suspended", [WHARF_ACTIVE] = "active",
    [WHARF_SUCCEEDED] = "succeeded", [WHARF_FAILED] = "failed",
};

static const char *const state_labels[] = {
    [REFLECTOR_STARTING] = "starting",
    [REFLECTOR_CONNECTED] = "connected",
    [REFLECTOR_LOST] = "lost",
    [REFLECTOR_ABSENT] = "absent",
};
#define STATES (sizeof state_labels / sizeof state_labels[0])

static const char *const contact_labels[] = {
    [CONTACT_UNKNOWN] = "unknown",
    [CONTACT_GOOD] = "good",
    [CONTACT_SUSPECT] = "suspect",
    [CONTACT_LOST] = "lost",
};
#define CONTACTS (sizeof contact_labels / sizeof contact_labels[0])

static void family(struct buffer *out, const char *name, const char *type, const char *help) {
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

struct label {
    const char *name, *value;
};

// "label value" in the exposition format: backslash, quote and line feed are escaped.
static void print_label_value(struct buffer *out, const char *value) {
    for (; *value; value++) {
        if (*value == '\n') {
            buffer_text(out, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"')
            buffer_char(out, '\\');
        buffer_char(out, *value);
    }
}

static void series(struct buffer *out, const char *name, const struct label *labels) {
    buffer_text(out, name);
    for (const struct label *l = labels; l && l->name; l++) {
        buffer_printf(out, "%c%s=\"", l == labels ? '{' : ',', l->name);
        print_label_value(out, l->value);
        buffer_char(out, '"');
    }
    buffer_text(out, labels ? "} " : " ");
}

static void sample(struct buffer *out, const char *name, const struct label *labels, uint64_t value) {
    series(out, name, labels);
    buffer_printf(out, "%" PRIu64 "\n", value);
}

static void sample_double(struct buffer *out, const char *name, const struct label *labels, double value) {
    series(out, name, labels);
    buffer_printf(out, "%.15g\n", value);
}

#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})

static void single(struct buffer *out, const char *name, const char *type, const char *help, uint64_t value) {
    family(out, name, type, help);
    sample(out, name, NULL, value);
}

// A family with one series a cluster and verb.
static void print_sent(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_requests_sent_total";
    family(out, name, "counter", "Requests sent to API servers, watches and lists not counted.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            if (s->stats.clusters[c].sent[v])
                sample(out, name, LABELS({"cluster", s->names[c]}, {"verb", verb_labels[v]}),
                       s->stats.clusters[c].sent[v]);
}

// Series that are 0 are omitted: there are too many combinations.
static void print_answers(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_requests_total";
    family(out, name, "counter", "Outcomes of requests to API servers, by reason.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            for (size_t r = 0; r < STATS_REASONS; r++) {
                uint64_t count = s->stats.clusters[c].answers[v][r];
                if (count)
                    sample(out, name,
                           LABELS({"cluster", s->names[c]}, {"verb", verb_labels[v]},
                                  {"reason", reason_text((enum reason)r)}),
                           count);
            }
}

// `first`: 0 for all clusters, 1 for the workers only.
static void print_of_clusters(const struct host_snapshot *s, struct buffer *out, size_t first, const char *name,
                              const char *type, const char *help, size_t offset) {
    family(out, name, type, help);
    for (size_t c = first; c < s->stats.n_clusters; c++) {
        const char *stats = (const char *)&s->stats.clusters[c];
        sample(out, name, LABELS({"cluster", s->names[c]}), *(const uint64_t *)(const void *)(stats + offset));
    }
}

static void print_windows(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 0, "wharf_requests_window", "gauge",
                      "Requests that may be in flight to a cluster, found from its round-trip times.",
                      offsetof(struct stats_cluster, window));
    print_of_clusters(s, out, 0, "wharf_requests_in_flight", "gauge", "Requests to a cluster that are in flight.",
                      offsetof(struct stats_cluster, in_flight));
    const char *name = "wharf_requests_waiting";
    family(out, name, "gauge", "Objects that wait for a place in a cluster's window, by what is to be sent.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < WORK_CLASSES; i++)
            sample(out, name, LABELS({"cluster", s->names[c]}, {"class", work_class_name((enum work_class)i)}),
                   s->stats.clusters[c].waiting[i]);
}

static void print_contacts(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_cluster_contact";
    family(out, name, "gauge", "State of a cluster's API server: 1 for the present state, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t i = 0; i < CONTACTS; i++)
            sample(out, name, LABELS({"cluster", s->names[c]}, {"contact", contact_labels[i]}),
                   (size_t)s->stats.clusters[c].contact == i);
}

static void print_watch_states(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_watch_state";
    family(out, name, "gauge", "State of the watch of a kind in a cluster: 1 for the present state, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++)
            for (size_t i = 0; i < STATES; i++)
                sample(
                    out, name,
                    LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}, {"state", state_labels[i]}),
                    (size_t)s->stats.clusters[c].watches[k].state == i);
}

static void print_watch_counter(const struct host_snapshot *s, struct buffer *out, const char *name, const char *help,
                                size_t offset) {
    family(out, name, "counter", help);
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++) {
            const char *watch = (const char *)&s->stats.clusters[c].watches[k];
            sample(out, name, LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}),
                   *(const uint64_t *)(const void *)(watch + offset));
        }
}

static void print_watchs(const struct host_snapshot *s, struct buffer *out) {
    print_windows(s, out);
    print_contacts(s, out);
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

static void print_workloads(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_workloads";
    family(out, name, "gauge", "Workloads that are delegated to this host, by phase.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        for (size_t p = 0; p < STATS_PHASES; p++)
            sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}, {"phase", phase_labels[p]}),
                   s->stats.kinds[k].phases[p]);
    name = "wharf_adapter_errors_total";
    family(out, name, "counter", "Calls into an adapter that did not return OK.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}), s->stats.kinds[k].adapter_errors);
    name = "wharf_workloads_waiting";
    family(out, name, "gauge", "Workloads that have waited for longer than a minute, by reason.");
    for (size_t w = WAITING_ANSWER + 1; w < WAITINGS; w++)
        sample(out, name, LABELS({"reason", waiting_name((enum waiting)w)}), s->stats.waiting[w]);
    single(out, "wharf_tracked_objects", "gauge", "Names that the host keeps state for.", s->workloads);
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

static void print_eligible(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_worker_eligible";
    family(out, name, "gauge", "1 where a worker gets new workloads of a kind, else 0.");
    for (size_t c = 1; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++)
            sample(out, name, LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}),
                   s->stats.clusters[c].watches[k].eligible);
}

static void print_paused(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_kind_paused";
    family(out, name, "gauge", "1 where a kind is paused in a cluster, see the log for why, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        for (size_t k = 0; k < s->stats.n_kinds; k++)
            sample(out, name, LABELS({"cluster", s->names[c]}, {"kind", s->kinds[k]->plural_group}),
                   s->stats.clusters[c].watches[k].paused);
}

static void print_refused(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_cluster_refused";
    family(out, name, "gauge", "1 where nothing is done because a cluster is not the one that it should be, else 0.");
    for (size_t c = 0; c < s->stats.n_clusters; c++)
        sample(out, name, LABELS({"cluster", s->names[c]}), *s->stats.clusters[c].refused != '\0');
}

static void print_orphans(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(s, out, 1, "wharf_orphans_held", "gauge",
                      "Mirrors without a workload that are held: not deleted before orphanGrace is over.",
                      offsetof(struct stats_cluster, orphans_held));
}

static void print_doubts(const struct host_snapshot *s, struct buffer *out) {
    print_of_clusters(
        s, out, 1, "wharf_mirrors_unproven", "gauge",
        "Mirrors that are neither adopted nor deleted, because nothing proves that this host created them.",
        offsetof(struct stats_cluster, unproven));
    print_of_clusters(s, out, 1, "wharf_foreign_objects_total", "counter",
                      "Times that an object with this host's marks and without a valid seal was seen.",
                      offsetof(struct stats_cluster, unsealed));
}

static void print_engine(const struct host_snapshot *s, struct buffer *out) {
    single(out, "wharf_placements_total", "counter", "Workloads that were placed for the first time.",
           s->stats.placements);
    single(out, "wharf_replacements_total", "counter", "Workloads that were placed again.", s->stats.replacements);
    single(out, "wharf_conflicts_total", "counter",
           "Mirrors that could not be created because a foreign object has the name.", s->stats.conflicts);
    single(out, "wharf_orphans_deleted_total", "counter", "Mirrors deleted because their workload is gone.",
           s->stats.orphans);
    single(out, "wharf_other_host_writes_total", "counter",
           "Statuses that somebody else wrote just as this host was about to: another host of the same origin.",
           s->stats.other_host_writes);
    single(out, "wharf_events_recorded_total", "counter", "Kubernetes Events recorded on workloads.", s->stats.events);
    single(out, "wharf_events_dropped_total", "counter", "Events left out because requests waited.",
           s->stats.events_dropped);
    single(out, "wharf_queue_length", "gauge", "Workloads that wait to be reconciled.", s->stats.queued);
    family(out, "wharf_engine_stalled_seconds", "gauge",
           "How long there has been work without the engine finishing anything; 0 when all is well.");
    sample_double(out, "wharf_engine_stalled_seconds", NULL, (double)s->stalled_ns / 1e9);
    single(out, "wharf_in_sync", "gauge", "1 once all that can be reached was listed and nothing waits, else 0.",
           s->in_sync);
}

// Bucket i counts up to 2^i * 50 us; the last one has no bound (stats.h).
static void print_latency(const struct host_snapshot *s, struct buffer *out) {
    family(out, "wharf_status_latency_seconds", "histogram",
           "Time from a mirror's change being received to the patch of its workload's status.");
    uint64_t sum = 0;
    for (size_t i = 0; i + 1 < STATS_BUCKETS; i++) {
        sum += s->stats.status_latency[i];
        buffer_printf(out, "wharf_status_latency_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                      50e-6 * (double)(UINT64_C(1) << i), sum);
    }
    sum += s->stats.status_latency[STATS_BUCKETS - 1];
    sample(out, "wharf_status_latency_seconds_bucket", LABELS({"le", "+Inf"}), sum);
    sample_double(out, "wharf_status_latency_seconds_sum", NULL, (double)s->stats.status_latency_sum_ns / 1e9);
    sample(out, "wharf_status_latency_seconds_count", NULL, sum);
}

static void print_process(const struct metrics_process *process, struct buffer *out) {
    family(out, "wharf_build_info", "gauge", "The version of the host and of its adapter ABI; always 1.");
    char abi[32];
    snprintf(abi, sizeof abi, "%d.%d", WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    sample(out, "wharf_build_info", LABELS({"version", WHARF_VERSION}, {"abi", abi}), 1);
    single(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", process->resident_bytes);
    family(out, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
    sample_double(out, "process_cpu_seconds_total", NULL, process->cpu_seconds);
    single(out, "wharf_log_lines_lost_total", "counter", "Log lines dropped because stderr was not read in time.",
           process->log_lines_lost);
    family(out, "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.");
    sample_double(out, "process_start_time_seconds", NULL, process->start_seconds);
}

struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out) {
    print_answers(snapshot, out);
    print_sent(snapshot, out);
    print_watchs(snapshot, out);
    print_workloads(snapshot, out);
    print_workers(snapshot, out);
    print_eligible(snapshot, out);
    print_paused(snapshot, out);
    print_refused(snapshot, out);
    print_doubts(snapshot, out);
    print_orphans(snapshot, out);
    print_engine(snapshot, out);
    print_latency(snapshot, out);
    print_process(process, out);
    if (!out->failed)
        return NULL;
    return error_new(ERROR_LIMIT, "the metrics do not fit %zu bytes, or memory ran out", out->max);
}
