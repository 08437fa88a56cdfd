// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/host/turn/turn.h"
#include "core/serve/metrics/metrics_internal.h"
#include "core/serve/metrics/metrics_text.h"

#include <stdio.h>

static const char *const phase_labels[STATS_PHASES] = {
    [WHARF_PENDING] = "pending",     [WHARF_SUSPENDED] = "suspended", [WHARF_ACTIVE] = "active",
    [WHARF_SUCCEEDED] = "succeeded", [WHARF_FAILED] = "failed",
};

static const char *const function_labels[ADAPTER_FUNCTIONS] = {
    [FUNCTION_PHASE] = "phase",   [FUNCTION_ACCEPT] = "accept", [FUNCTION_MIRROR] = "mirror",
    [FUNCTION_UPDATE] = "update", [FUNCTION_STATUS] = "status", [FUNCTION_POD_SETS] = "pod_sets",
};

static void print_workloads(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_workloads";
    metrics_family(out, name, "gauge", "Workloads that are delegated to this host, by phase.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        for (size_t p = 0; p < STATS_PHASES; p++)
            metrics_sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}, {"phase", phase_labels[p]}),
                           s->stats.kinds[k].phases[p]);
    name = "wharf_adapter_errors_total";
    metrics_family(out, name, "counter", "Calls into an adapter that did not return OK.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        metrics_sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}), s->stats.kinds[k].adapter_errors);
    name = "wharf_workloads_refused";
    metrics_family(out, name, "gauge", "Workloads that are not handled because there are maxWorkloads already.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        metrics_sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}), s->stats.kinds[k].refused);
    name = "wharf_workloads_also_run_here";
    metrics_family(out, name, "gauge",
                   "Delegated workloads that a controller in the management cluster runs too, see Events AlsoRunHere.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        metrics_sample(out, name, LABELS({"kind", s->kinds[k]->plural_group}), s->stats.kinds[k].also_run);
    name = "wharf_workloads_waiting";
    metrics_family(out, name, "gauge", "Workloads that have waited for longer than a minute, by reason.");
    for (size_t w = WAITING_ANSWER + 1; w < WAITINGS; w++)
        metrics_sample(out, name, LABELS({"reason", waiting_name((enum waiting)w)}), s->stats.waiting[w]);
    name = "wharf_workloads_unplaced";
    metrics_family(out, name, "gauge", "Workloads that are not placed yet, by what they wait for; not suspended ones.");
    for (size_t w = 0; w < WAITINGS; w++)
        metrics_sample(out, name, LABELS({"reason", w == WAITING_NOT ? "turn" : waiting_name((enum waiting)w)}),
                       s->stats.unplaced[w]);
    metrics_single(out, "wharf_tracked_objects", "gauge", "Names that the host keeps state for.", s->workloads);
}

static void print_calls(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_adapter_call_duration_seconds";
    metrics_family(out, name, "summary", "Time spent in the functions of adapters; those never called are omitted.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        for (size_t f = 0; f < ADAPTER_FUNCTIONS; f++) {
            const struct call_time *time = &s->stats.kinds[k].calls[f];
            const struct label *labels = LABELS({"kind", s->kinds[k]->plural_group}, {"function", function_labels[f]});
            if (time->count == 0)
                continue;
            metrics_sample_seconds(out, "wharf_adapter_call_duration_seconds_sum", labels, time->sum_ns);
            metrics_sample(out, "wharf_adapter_call_duration_seconds_count", labels, time->count);
        }
}

static void print_latencies(const struct host_snapshot *s, struct buffer *out) {
    metrics_histogram(out, "wharf_status_latency_seconds",
                      "Time from a mirror's change being received to the patch of its workload's status.",
                      &s->stats.status_latency, STATS_STATUS_NS);
    metrics_histogram(out, "wharf_dispatch_latency_seconds",
                      "Time from a workload being received, and not suspended, to its first mirror being created.",
                      &s->stats.dispatch_latency, STATS_DISPATCH_NS);
    metrics_histogram(out, "wharf_engine_step_duration_seconds",
                      "Time that the engine took for one event, with passing on what follows from it.", &s->steps,
                      TURN_STEP_NS);
}

static void print_engine(const struct host_snapshot *s, struct buffer *out) {
    metrics_single(out, "wharf_placements_total", "counter", "Workloads that were placed for the first time.",
                   s->stats.placements);
    metrics_single(out, "wharf_replacements_total", "counter", "Workloads that were placed again.",
                   s->stats.replacements);
    metrics_single(out, "wharf_conflicts_total", "counter",
                   "Mirrors that could not be created because a foreign object has the name.", s->stats.conflicts);
    metrics_single(out, "wharf_orphans_deleted_total", "counter", "Mirrors deleted because their workload is gone.",
                   s->stats.orphans);
    metrics_single(out, "wharf_other_host_writes_total", "counter",
                   "Statuses that somebody else wrote just as this host was about to: another host of the same origin.",
                   s->stats.other_host_writes);
    metrics_single(out, "wharf_events_recorded_total", "counter", "Kubernetes Events recorded on workloads.",
                   s->stats.events);
    metrics_single(out, "wharf_events_dropped_total", "counter", "Events left out because requests waited.",
                   s->stats.events_dropped);
    metrics_single(out, "wharf_queue_length", "gauge", "Workloads that wait to be reconciled.", s->stats.queued);
    metrics_family(out, "wharf_engine_stalled_seconds", "gauge",
                   "How long there has been work without the engine finishing anything; 0 when all is well.");
    metrics_sample_seconds(out, "wharf_engine_stalled_seconds", NULL, s->stalled_ns);
    metrics_single(out, "wharf_in_sync", "gauge",
                   "1 once all that can be reached was listed and nothing waits, else 0.", s->in_sync);
}

static void print_leader(const struct host_snapshot *s, struct buffer *out) {
    bool elected = s->election.mode == ELECTION_ON;
    metrics_single(out, "wharf_leader", "gauge", "1 where this host leads: it decides and writes; else 0.",
                   s->running && election_writes(&s->election));
    metrics_single(out, "wharf_shards", "gauge", "Parts into which the workloads are divided; 0 without election.",
                   elected ? s->election.shards : 0);
    metrics_single(out, "wharf_shards_held", "gauge", "Those that this host holds the lease of.",
                   elected ? s->election.held : 0);
    metrics_single(out, "wharf_lease_transitions_total", "counter", "How often this host took a lease.",
                   elected ? s->election.transitions : 0);
    metrics_single(out, "wharf_other_host", "gauge",
                   "1 while another host with this origin runs without leader election, else 0.",
                   *s->election.other != '\0');
}

void metrics_print_process(const struct metrics_process *process, struct buffer *out) {
    metrics_family(out, "wharf_build_info", "gauge", "The version of the host and of its adapter ABI; always 1.");
    char abi[32];
    snprintf(abi, sizeof abi, "%d.%d", WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    metrics_sample(out, "wharf_build_info", LABELS({"version", WHARF_VERSION}, {"abi", abi}), 1);
    metrics_single(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
                   process->resident_bytes);
    metrics_family(out, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
    metrics_sample_double(out, "process_cpu_seconds_total", NULL, process->cpu_seconds);
    metrics_single(out, "wharf_log_lines_lost_total", "counter",
                   "Log lines dropped because stderr was not read in time.", process->log_lines_lost);
    metrics_family(out, "process_start_time_seconds", "gauge",
                   "Start time of the process since unix epoch in seconds.");
    metrics_sample_double(out, "process_start_time_seconds", NULL, process->start_seconds);
}

struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out) {
    metrics_print_clusters(snapshot, out);
    metrics_print_capacity(snapshot, out);
    metrics_print_policies(snapshot, out);
    print_workloads(snapshot, out);
    print_calls(snapshot, out);
    print_engine(snapshot, out);
    print_latencies(snapshot, out);
    print_leader(snapshot, out);
    metrics_print_live(snapshot, out);
    metrics_print_process(process, out);
    if (!out->failed)
        return NULL;
    return error_new(ERROR_LIMIT, "the metrics do not fit %zu bytes, or memory ran out", out->max);
}
