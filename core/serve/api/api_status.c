// SPDX-License-Identifier: Apache-2.0
// /api/v1/status and /api/v1/adapters; and /api/v1/rights: the rights that the host needs in a worker, with the present
// adapters and configuration.
#include "core/serve/api/api_internal.h"

#include "core/adapter/process/process.h"
#include "core/serve/metrics/metrics.h"

static const char *const phase_names[STATS_PHASES] = {
    [WHARF_PENDING] = "Pending",     [WHARF_SUSPENDED] = "Suspended", [WHARF_ACTIVE] = "Running",
    [WHARF_SUCCEEDED] = "Succeeded", [WHARF_FAILED] = "Failed",
};

const char *api_phase_name(size_t phase) {
    return phase < STATS_PHASES ? phase_names[phase] : phase_names[WHARF_ACTIVE];
}

void api_put_kind(const wharf_kind *kind, struct writer *out) {
    api_put(out, "kind=%s group=%s resource=%s", kind->kind, kind->group, kind->plural);
}

static void put_versions(const struct kind *kind, struct writer *out) {
    writer_array(out, "versions");
    for (const char *const *v = kind->abi.versions; *v; v++)
        writer_string(out, NULL, *v);
    writer_end(out, ']');
}

// The lines of /readyz.
static void put_reasons(const struct host_snapshot *snapshot, struct writer *out) {
    AUTO_BUFFER(lines, 64 << 10);
    bool been_in_sync = snapshot->been_in_sync;
    bool ready = health_ready(snapshot, &been_in_sync, &lines);
    writer_bool(out, "ready", ready);
    writer_array(out, "reasons");
    for (char *rest = lines.data, *line; rest && *rest && (line = strsep(&rest, "\n")) && rest;)
        if (strcmp(line, "ok") != 0)
            writer_string(out, NULL, line);
    writer_end(out, ']');
}

// The worker gets new work of at least one kind.
static bool is_ready(const struct host_snapshot *snapshot, size_t cluster) {
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
        if (snapshot->stats.clusters[cluster].watches[k].eligible)
            return true;
    return false;
}

// With the problems of kubeconfig files, Secrets and ClusterProfiles that are not used, or not in their newest version.
static void put_workers(const struct host_snapshot *snapshot, struct writer *out) {
    const struct reload_notes *notes = &snapshot->notes;
    size_t total = snapshot->stats.n_clusters > 0 ? snapshot->stats.n_clusters - 1 : 0, ready = 0;
    for (size_t c = 1; c < snapshot->stats.n_clusters; c++)
        ready += is_ready(snapshot, c);
    writer_object(out, "workers");
    api_put(out, "total=%zu ready=%zu", total, ready);
    writer_array(out, "problems");
    for (size_t i = 0; i < notes->n_sources; i++)
        if (notes->sources[i].problem)
            api_put_object(out, NULL, "from=%s worker=%s message=%s", notes->sources[i].origin_text,
                           notes->sources[i].name, notes->sources[i].problem);
    writer_end(out, ']');
    writer_end(out, '}');
}

static void put_workloads(const struct host_snapshot *snapshot, struct writer *out) {
    writer_object(out, "workloads");
    writer_uint(out, "total", snapshot->workloads);
    writer_object(out, "byPhase");
    for (size_t p = 0; p < STATS_PHASES; p++) {
        uint64_t count = 0;
        for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
            count += snapshot->stats.kinds[k].phases[p];
        if (count)
            writer_uint(out, api_phase_name(p), count);
    }
    writer_end(out, '}');
    writer_object(out, "waiting");
    for (size_t w = 0; w < WAITINGS; w++)
        if (snapshot->stats.waiting[w])
            writer_uint(out, waiting_name((enum waiting)w), snapshot->stats.waiting[w]);
    writer_end(out, '}');
    writer_end(out, '}');
}

static void put_states(const char *name, const uint64_t states[DEPENDENCY_STATES], struct writer *out) {
    writer_object(out, name);
    for (size_t s = 0; s < DEPENDENCY_STATES; s++)
        if (states[s])
            writer_uint(out, dependency_state_name((enum dependency_state)s), states[s]);
    writer_end(out, '}');
}

// Objects that workloads refer to: in the management cluster, and in all workers together.
static void put_dependencies(const struct host_snapshot *snapshot, struct writer *out) {
    uint64_t sources[DEPENDENCY_STATES] = {0}, there[DEPENDENCY_STATES] = {0};
    for (size_t c = 0; c < snapshot->stats.n_clusters; c++)
        for (size_t s = 0; s < DEPENDENCY_STATES; s++)
            *(c == ENGINE_MANAGEMENT ? &sources[s] : &there[s]) += snapshot->stats.clusters[c].dependencies[s];
    writer_object(out, "dependencies");
    put_states("management", sources, out);
    put_states("workers", there, out);
    writer_end(out, '}');
}

static void put_requests(const struct host_snapshot *snapshot, struct writer *out) {
    uint64_t sent = 0, failed = 0, in_flight = 0, waiting = 0;
    for (size_t c = 0; c < snapshot->stats.n_clusters; c++) {
        const struct stats_cluster *cluster = &snapshot->stats.clusters[c];
        for (size_t v = 0; v < STATS_VERBS; v++) {
            sent += cluster->sent[v];
            for (size_t r = REASON_OK + 1; r < STATS_REASONS; r++)
                failed += cluster->answers[v][r];
        }
        in_flight += cluster->in_flight;
        for (size_t w = 0; w < WORK_CLASSES; w++)
            waiting += cluster->waiting[w];
    }
    api_put_object(out, "requests", "sent=%ju failed=%ju inFlight=%ju waiting=%ju eventsRecorded=%ju eventsDropped=%ju",
                   sent, failed, in_flight, waiting, snapshot->stats.events, snapshot->stats.events_dropped);
}

static void put_election(const struct election_state *state, struct writer *out) {
    bool enabled = state->mode == ELECTION_ON;
    api_put_object(out, "election",
                   "enabled=%d identity=%s holder=%s shards=%u held=%u replicas=%u otherHost=%s problem=%s", enabled,
                   api_filled(state->identity), api_filled(state->leader), enabled ? state->shards : 0,
                   enabled ? state->held : 0, state->members, api_filled(state->other), api_filled(state->problem));
}

void api_show_status(const struct api_source *source, const struct host_snapshot *snapshot, struct writer *out) {
    const struct reload_note *reload = &snapshot->notes.reload;
    const char *uid = snapshot->stats.n_clusters > 0 ? snapshot->stats.clusters[ENGINE_MANAGEMENT].uid : "";
    api_put(out, "version=%s origin=%s managementUid=%s controllerName=%s startedAt=%jd", WHARF_VERSION,
            snapshot->origin, api_filled(uid), source->config->controller_name, snapshot->started_wall_ns);
    put_reasons(snapshot, out);
    writer_bool(out, "inSync", snapshot->in_sync);
    put_workers(snapshot, out);
    put_workloads(snapshot, out);
    put_dependencies(snapshot, out);
    put_requests(snapshot, out);
    writer_object(out, "config");
    writer_string(out, "path", source->config->path);
    api_put_object(out, "lastReload", "at=%jd successful=%d message=%s", reload->at_wall_ns, reload->successful,
                   reload->message);
    writer_end(out, '}');
    api_put(out, "adapters=%zu leader=%d", api_adapters_of(source)->count,
            snapshot->running && election_writes(&snapshot->election));
    put_election(&snapshot->election, out);
}

struct adapter_sums {
    uint64_t errors, failures, aside;
    enum adapter_health health;
    const char *problem;
};

static void add_kind(const struct stats_kind *kind, struct adapter_sums *sums) {
    sums->errors += kind->adapter_errors;
    for (size_t f = 0; f < ADAPTER_FAILURES; f++)
        sums->failures += kind->failures[f];
    sums->aside += kind->aside;
    sums->health = kind->adapter;
    sums->problem = kind->adapter_problem;
}

static const char *state_of(const struct adapter_state *process, const struct adapter_sums *sums) {
    if (sums->health == ADAPTER_PAUSED)
        return "paused";
    if (process->isolated && process->state != ADAPTER_RUNS)
        return process->state == ADAPTER_STARTS ? "starting" : "down";
    return sums->health == ADAPTER_BUSY ? "busy" : "active";
}

// Null for an adapter within the host.
static void put_process(const struct adapter_state *process, struct writer *out) {
    if (process->isolated)
        api_put_object(out, "process", "pid=%ju starts=%ju ends=%ju memoryBytes=%zu lastEnd=%s",
                       (uintmax_t)process->pid, process->starts, process->ends, process->memory,
                       api_filled(process->last));
    else
        writer_null(out, "process");
}

static void put_adapter(const struct host_snapshot *snapshot, const struct adapter *adapter, struct writer *out) {
    struct adapter_state process;
    (void)adapter_process_state(adapter, &process);
    struct adapter_sums sums = {.problem = ""};
    writer_object(out, NULL);
    api_put(out, "name=%s version=%s file=%s sha256=%s", adapter->name, adapter->version, adapter->file,
            adapter->sha256);
    writer_array(out, "kinds");
    for (size_t a = 0; a < adapter->n_kinds; a++) {
        const struct kind *kind = adapter->kinds[a];
        writer_object(out, NULL);
        api_put_kind(&kind->abi, out);
        put_versions(kind, out);
        writer_string(out, "managedBy", kind->managed_by);
        writer_end(out, '}');
        for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
            if (snapshot->kinds[k] == kind)
                add_kind(&snapshot->stats.kinds[k], &sums);
    }
    writer_end(out, ']');
    writer_bool(out, "scores", adapter->scorer.score);
    api_put(out, "errors=%ju state=%s failures=%ju setAside=%ju problem=%s", sums.errors, state_of(&process, &sums),
            sums.failures, sums.aside, api_filled(*sums.problem ? sums.problem : process.last));
    put_process(&process, out);
    writer_end(out, '}');
}

// With the members of a loaded one.
static void put_refused(const struct adapter_refused *refused, struct writer *out) {
    writer_object(out, NULL);
    writer_string(out, "name", refused->name);
    writer_null(out, "version");
    writer_string(out, "file", refused->file);
    writer_null(out, "sha256");
    writer_array(out, "kinds");
    writer_end(out, ']');
    api_put(out, "errors=%u state=%s failures=%u setAside=%u problem=%s", 0U, "notLoaded", 0U, 0U, refused->problem);
    writer_end(out, '}');
}

void api_show_adapters(const struct api_source *source, const struct host_snapshot *snapshot, struct writer *out) {
    const struct adapters *adapters = api_adapters_of(source);
    writer_array(out, "items");
    for (size_t a = 0; a < adapters->count; a++)
        put_adapter(snapshot, adapters->list[a], out);
    for (size_t r = 0; r < adapters->n_refused; r++)
        put_refused(&adapters->refused[r], out);
    writer_end(out, ']');
}

// "get, list" as an array.
static void put_words(const char *key, const char *words, struct writer *out) {
    AUTO_WORDS list = text_words(words, ',');
    out->out->failed |= !list;
    writer_array(out, key);
    for (char **word = list; word && *word; word++)
        writer_string(out, NULL, *word);
    writer_end(out, ']');
}

static void put_right(const struct right *right, struct writer *out) {
    writer_object(out, NULL);
    api_put(out, "scope=%s group=%s", right_scope_name(right->scope), right->group);
    put_words("resources", right->resources, out);
    put_words("verbs", right->verbs, out);
    writer_string(out, "name", right->names);
    writer_end(out, '}');
}

struct error *api_rights(struct api_call *call) {
    struct host_snapshot snapshot;
    const struct api_source *source = call->source;
    const struct adapters *adapters = api_adapters_of(source);
    const char *account = api_parameter(call, "account"), *logs = api_parameter(call, "logs");
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    TRY(source->snapshot(source->ctx, &snapshot));
    struct rights_wanted wanted = {.kinds = (const struct kind *const *)adapters->kinds,
                                   .n_kinds = adapters->n_kinds,
                                   .logs = !text_equal(logs, "false"),
                                   .exec = text_equal(api_parameter(call, "exec"), "true"),
                                   .features = snapshot.features,
                                   .account = account ? account : RIGHTS_ACCOUNT};
    struct error *error = rights_make(RIGHTS_OF_WORKER, &wanted, &rights);
    source->free_snapshot(&snapshot);
    TRY(error);
    writer_array(&call->out, "items");
    for (size_t i = 0; i < rights.count; i++)
        put_right(&rights.list[i], &call->out);
    writer_end(&call->out, ']');
    writer_array(&call->out, "kinds");
    for (size_t k = 0; k < adapters->n_kinds; k++) {
        const struct kind *kind = adapters->kinds[k];
        writer_object(&call->out, NULL);
        api_put(&call->out, "group=%s resource=%s", kind->abi.group, kind->abi.plural);
        put_versions(kind, &call->out);
        writer_end(&call->out, '}');
    }
    writer_end(&call->out, ']');
    return NULL;
}
