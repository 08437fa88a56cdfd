// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/adapter/process/process.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/usage.h"
#include "core/host/turn/turn.h"
#include "core/kube/client/client.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const meter_labels[] = {
    [METER_GET] = "get",       [METER_CREATE] = "create",
    [METER_PATCH] = "patch",   [METER_PATCH_STATUS] = "patch_status",
    [METER_DELETE] = "delete", [METER_LIST] = "list",
    [METER_OTHER] = "other",
};

static void print_calls(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_adapter_call_duration_seconds";
    metrics_family(out, name, "summary",
                   "Time spent in the functions of adapters, without functions that were never called.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        for (size_t f = 0; f < ADAPTER_FUNCTIONS; f++) {
            const struct call_time *time = &s->stats.kinds[k].calls[f];
            const struct label *labels =
                LABELS({"kind", s->kinds[k]->plural_group}, {"function", adapter_function_name(f)});
            if (time->count == 0)
                continue;
            metrics_sample_seconds(out, "wharf_adapter_call_duration_seconds_sum", labels, time->sum_ns);
            metrics_sample(out, "wharf_adapter_call_duration_seconds_count", labels, time->count);
        }
}

static void print_failures(const struct host_snapshot *s, struct buffer *out) {
    static const char *const reasons[] = {
        [ADAPTER_CRASHED] = "crash", [ADAPTER_LIMIT] = "limit", [ADAPTER_ANSWER] = "answer"};
    const char *name = "wharf_adapter_failures_total";
    metrics_family(out, name, NULL,
                   "Calls that ended the adapter's process (crash, limit), or had an answer against the ABI's rules.");
    for (size_t k = 0; k < s->stats.n_kinds; k++)
        for (size_t r = 0; r < ADAPTER_FAILURES; r++) {
            const struct kind *kind = s->kinds[k];
            metrics_sample(out, name,
                           LABELS({"adapter", kind->adapter ? kind->adapter->name : ""}, {"kind", kind->plural_group},
                                  {"reason", reasons[r]}),
                           s->stats.kinds[k].failures[r]);
        }
}

static uint64_t runs(const struct adapter_state *process) {
    return process->state == ADAPTER_RUNS;
}

static uint64_t starts(const struct adapter_state *process) {
    return process->starts;
}

static uint64_t ends(const struct adapter_state *process) {
    return process->ends;
}

static uint64_t memory(const struct adapter_state *process) {
    return process->memory;
}

static bool is_first_of_adapter(const struct host_snapshot *s, size_t kind) {
    size_t k = 0;
    while (s->kinds[k]->adapter != s->kinds[kind]->adapter)
        k++;
    return k == kind;
}

struct process_sample { // of an isolated adapter
    const char *adapter;
    struct adapter_state state;
};

// Returns how many. In `out` is room for the number of kinds.
static size_t read_processes(const struct host_snapshot *s, struct process_sample *out) {
    size_t count = 0;
    for (size_t k = 0; k < s->stats.n_kinds; k++) {
        const struct adapter *adapter = s->kinds[k]->adapter;
        if (adapter && is_first_of_adapter(s, k) && adapter_process_state(adapter, &out[count].state))
            out[count++].adapter = adapter->name;
    }
    return count;
}

static void print_processes(const struct host_snapshot *s, struct buffer *out) {
    static const struct {
        const char *name, *help;
        uint64_t (*value)(const struct adapter_state *process);
    } families[] = {
        {"wharf_adapter_process_up", "1 while the process of an isolated adapter answers calls, else 0.", runs},
        {"wharf_adapter_process_starts_total", "Starts of the process of an isolated adapter.", starts},
        {"wharf_adapter_process_ends_total", "Ends of the process that the host did not wish for.", ends},
        {"wharf_adapter_process_memory_bytes", "Resident memory of the process of an isolated adapter.", memory}};
    struct process_sample *samples = calloc(s->stats.n_kinds + 1, sizeof *samples);
    size_t count = samples ? read_processes(s, samples) : 0;
    out->failed |= !samples;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        metrics_family(out, families[f].name, NULL, families[f].help);
        for (size_t i = 0; i < count; i++)
            metrics_sample(out, families[f].name, LABELS({"adapter", samples[i].adapter}),
                           families[f].value(&samples[i].state));
    }
    free(samples);
}

static void print_latencies(const struct host_snapshot *s, struct buffer *out) {
    metrics_histogram(out, "wharf_status_latency_seconds",
                      "Time from a mirror's change being received to the patch of its workload's status.",
                      &s->stats.status_latency, STATS_STATUS_NS);
    metrics_histogram(out, "wharf_dispatch_latency_seconds",
                      "Time from a workload being received, and not suspended, to its first mirror being created.",
                      &s->stats.dispatch_latency, STATS_DISPATCH_NS);
    metrics_histogram(out, "wharf_engine_step_duration_seconds",
                      "Time that the engine took for one event, including dispatch of the resulting requests.",
                      &s->steps, TURN_STEP_NS);
}

// Omits unused verbs and codes.
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

// As in Prometheus: cpu in cores, other resources in the unit of the resource.
static double in_units(const char *resource, int64_t amount) {
    return strcmp(resource, "cpu") == 0 ? (double)amount / 1000 : (double)amount;
}

static void print_amounts(const struct host_snapshot *s, struct buffer *out, const char *name, const char *help,
                          bool left) {
    bool begun = false;
    for (size_t c = 1; c < s->stats.n_clusters; c++) {
        const struct stats_capacity *capacity = &s->stats.clusters[c].capacity;
        if (capacity->state != CAPACITY_OFF && !begun) {
            metrics_family(out, name, NULL, help);
            begun = true;
        }
        for (size_t r = 0; r < capacity->n_resources; r++) {
            const struct stats_resource *resource = &capacity->resources[r];
            metrics_sample_double(out, name, LABELS({"cluster", s->names[c]}, {"resource", resource->name}),
                                  in_units(resource->name, left ? resource->left : resource->allocatable));
        }
    }
}

#define RESOURCE_SERIES ((size_t)10000) // of accounts: fit into the answer with the longest names

static void print_account(const struct account_sums *sums, const struct account_row *row, size_t index, double value,
                          struct buffer *out) {
    const char *resource = index > 0 ? sums->resources[index - 1] : NULL;
    const struct label labels[] = {{"namespace", row->namespace_},
                                   {"kind", row->kind},
                                   {"cluster", row->cluster},
                                   {resource ? "resource" : NULL, resource},
                                   {NULL, NULL}};
    metrics_sample_double(out, resource ? "wharf_resource_seconds_total" : "wharf_workload_seconds_total", labels,
                          value);
}

// Without resources that an account has not used.
static void print_used(const struct account_sums *sums, int64_t mono_ns, struct buffer *out) {
    size_t left = RESOURCE_SERIES;
    for (size_t i = 0; i < sums->n_rows; i++)
        for (size_t r = 1; sums->rows[i].counts && r <= sums->n_resources; r++) {
            double value = account_counted(sums, &sums->rows[i], r, mono_ns);
            if (value > 0 && left > 0 && left--)
                print_account(sums, &sums->rows[i], r, value, out);
        }
}

static void print_accounts(const struct host_snapshot *s, struct buffer *out) {
    const struct account_sums *sums = s->stats.accounts;
    metrics_family(out, "wharf_workload_seconds_total", NULL,
                   "Seconds that workloads ran, from the start to the end in their objects.");
    for (size_t i = 0; sums && i < sums->n_rows; i++)
        if (sums->rows[i].counts)
            print_account(sums, &sums->rows[i], 0, account_counted(sums, &sums->rows[i], 0, s->taken.mono_ns), out);
    metrics_family(out, "wharf_resource_seconds_total", NULL,
                   "Requested resources by the seconds that workloads ran, cpu in cores.");
    if (sums)
        print_used(sums, s->taken.mono_ns, out);
}

// The names come from annotations: every user who may change a workload can write one.
static void print_unknown(const struct host_snapshot *s, struct buffer *out) {
    const char *name = "wharf_workloads_on_unknown_worker";
    metrics_family(out, name, NULL, "Unfinished workloads in a worker that is not configured.");
    for (size_t i = 0; i < s->stats.n_unknown; i++)
        metrics_sample(out, name, LABELS({"cluster", s->stats.unknown[i].name}), s->stats.unknown[i].workloads);
    if (s->stats.unknown_rest > 0)
        metrics_sample(out, name, LABELS({"cluster", "others"}), s->stats.unknown_rest);
}

static void print_refused(const struct reload_notes *live, struct buffer *out) {
    uint64_t refused = 0;
    for (size_t i = 0; i < live->n_sources; i++)
        refused += !!live->sources[i].problem;
    metrics_single(out, "wharf_worker_sources_refused",
                   "Kubeconfig files, Secrets and ClusterProfiles with an unused newest version.", refused);
}

// Two Secrets may claim one name.
static bool is_first(const struct reload_notes *live, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (live->sources[i].token_life.expires_wall_ns && text_equal(live->sources[i].name, live->sources[index].name))
            return false;
    return true;
}

static void print_tokens(const struct reload_notes *live, bool lifetime, struct buffer *out) {
    const char *name = lifetime ? "wharf_worker_token_lifetime_seconds" : "wharf_worker_token_expiry_timestamp_seconds";
    bool begun = false;
    for (size_t i = 0; i < live->n_sources; i++) {
        const struct source_note *note = &live->sources[i];
        const struct token_life *life = &note->token_life;
        if (!note->name || life->expires_wall_ns == 0 || !is_first(live, i))
            continue;
        if (!begun)
            metrics_family(out, name, NULL,
                           lifetime ? "Lifetime of the token in a worker's Secret."
                                    : "When the token in a worker's Secret expires.");
        begun = true;
        metrics_sample_seconds(out, name, LABELS({"cluster", note->name}),
                               life->expires_wall_ns - (lifetime ? life->issued_wall_ns : 0));
    }
}

static void print_leader(const struct host_snapshot *s, struct buffer *out) {
    bool elected = s->election.mode == ELECTION_ON;
    metrics_single(out, "wharf_leader", "1 where this host leads, so decides and writes; else 0.",
                   s->running && election_writes(&s->election));
    metrics_single(out, "wharf_shards", "Number of the workloads' parts; 0 without election.",
                   elected ? s->election.shards : 0);
    metrics_single(out, "wharf_shards_held", "Shards with a lease that this host holds.",
                   elected ? s->election.held : 0);
    metrics_single(out, "wharf_lease_transitions_total", "How often this host took a lease.",
                   elected ? s->election.transitions : 0);
    metrics_single(out, "wharf_other_host",
                   "1 while another host with this origin runs without leader election, else 0.",
                   *s->election.other != '\0');
}

static void print_process(const struct metrics_process *process, struct buffer *out) {
    metrics_family(out, "wharf_build_info", NULL, "The version of the host and of the adapter ABI; always 1.");
    char abi[32];
    snprintf(abi, sizeof abi, "%d.%d", WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    metrics_sample(out, "wharf_build_info", LABELS({"version", WHARF_VERSION}, {"abi", abi}), 1);
    metrics_single(out, "process_resident_memory_bytes", "Resident memory size in bytes.", process->resident_bytes);
    metrics_family(out, "process_cpu_seconds_total", NULL, "Total user and system CPU time spent in seconds.");
    metrics_sample_double(out, "process_cpu_seconds_total", NULL, process->cpu_seconds);
    metrics_single(out, "wharf_log_lines_lost_total", "Log lines dropped because stderr was not read in time.",
                   process->log_lines_lost);
    metrics_family(out, "process_start_time_seconds", NULL, "Start time of the process since unix epoch in seconds.");
    metrics_sample_double(out, "process_start_time_seconds", NULL, process->start_seconds);
}

struct error *metrics_print(const struct host_snapshot *snapshot, const struct metrics_process *process,
                            struct buffer *out) {
    metrics_print_families(snapshot, out);
    print_durations(snapshot, out);
    print_amounts(snapshot, out, "wharf_worker_allocatable", "Allocatable resources of the nodes, cpu in cores.",
                  false);
    print_amounts(snapshot, out, "wharf_worker_unused",
                  "Allocatable resources that no pod requests; workloads placed a moment ago are not subtracted.",
                  true);
    print_unknown(snapshot, out);
    print_accounts(snapshot, out);
    print_calls(snapshot, out);
    print_failures(snapshot, out);
    print_processes(snapshot, out);
    print_latencies(snapshot, out);
    print_leader(snapshot, out);
    print_refused(&snapshot->notes, out);
    print_tokens(&snapshot->notes, false, out);
    print_tokens(&snapshot->notes, true, out);
    print_process(process, out);
    if (!out->failed)
        return NULL;
    return error_new(ERROR_LIMIT, "the metrics do not fit %zu bytes, or memory ran out", out->max);
}

void guard_page_metrics(const struct guard_status *status, const struct metrics_process *process, struct buffer *out) {
    metrics_single(out, "wharf_guard_leases", "Leases of the host that are held.", status->leases);
    metrics_single(out, "wharf_guard_leases_missed",
                   "Held Leases that the host does not renew any more: the guard stops the mirrors.", status->missed);
    if (status->heard_wall_ns)
        metrics_single(out, "wharf_guard_heard_timestamp_seconds",
                       "Time of the host's last heartbeat, of the Lease with the oldest one.",
                       (uint64_t)(status->heard_wall_ns / CLOCK_SECOND));
    metrics_single(out, "wharf_guard_reachable", "1 while the API server answers, else 0.", status->reachable);
    metrics_family(out, "wharf_guard_stopped_total", NULL, "Mirrors stopped since the guard began.");
    metrics_sample(out, "wharf_guard_stopped_total", LABELS({"action", "suspend"}), status->suspended);
    metrics_sample(out, "wharf_guard_stopped_total", LABELS({"action", "delete"}), status->deleted);
    metrics_single(out, "wharf_guard_stop_failures_total",
                   "Failed requests to stop a mirror, repeated until successful.", status->failures);
    print_process(process, out);
}

#define PROC_FILE_MAX ((size_t)4096)
#define START_TIME_FIELD 22 // of /proc/pid/stat: "starttime", in clock ticks since boot (proc(5))

// Field `number` (from 1) of white-space separated `text`, as a number; 0 if there is none.
static uint64_t field(const char *text, int number) {
    for (int i = 1; i < number; i++) {
        text += strcspn(text, " \n");
        text += strspn(text, " \n");
    }
    return strtoull(text, NULL, 10);
}

// The name in field 2 may contain spaces and parentheses: counting begins after the last parenthesis, at field 3.
static double start_seconds(void) {
    AUTO_BUFFER(stat, PROC_FILE_MAX);
    error_free(text_read_file("/proc/self/stat", PROC_FILE_MAX, &stat));
    const char *rest = stat.data ? strrchr(stat.data, ')') : NULL;
    if (!rest || rest[1] != ' ')
        return 0;
    double since_boot = (double)field(rest + 2, START_TIME_FIELD - 2) / (double)sysconf(_SC_CLK_TCK);
    struct moment now = clock_now(); // the monotonic clock counts from boot
    return (double)(now.wall_ns - now.mono_ns) / 1e9 + since_boot;
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void metrics_process_read(struct metrics_process *out) {
    struct rusage usage;
    *out = (struct metrics_process){
        .resident_bytes = usage_memory(getpid()), .start_seconds = start_seconds(), .log_lines_lost = log_lost()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
