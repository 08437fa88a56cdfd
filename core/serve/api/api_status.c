// SPDX-License-Identifier: Apache-2.0
// /api/v1/status and /api/v1/adapters.
#include "core/serve/api/api_internal.h"
#include "core/serve/metrics/health.h"

#include <string.h>

static const char *const phase_names[STATS_PHASES] = {
    [WHARF_PENDING] = "Pending",     [WHARF_SUSPENDED] = "Suspended", [WHARF_ACTIVE] = "Running",
    [WHARF_SUCCEEDED] = "Succeeded", [WHARF_FAILED] = "Failed",
};

const char *api_phase_name(size_t phase) {
    return phase < STATS_PHASES ? phase_names[phase] : phase_names[WHARF_ACTIVE];
}

void api_put_kind(const wharf_kind *kind, struct writer *out) {
    writer_string(out, "kind", kind->kind);
    writer_string(out, "group", kind->group);
    writer_string(out, "resource", kind->plural);
}

void api_put_versions(const struct kind *kind, struct writer *out) {
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
    for (char *line = lines.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        *end = '\0';
        if (strcmp(line, "ok") != 0)
            writer_string(out, NULL, line);
    }
    writer_end(out, ']');
}

// The worker gets new work of at least one kind.
static bool is_ready(const struct host_snapshot *snapshot, size_t cluster) {
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
        if (snapshot->stats.clusters[cluster].watches[k].eligible)
            return true;
    return false;
}

// Of kubeconfig files, Secrets and ClusterProfiles that are not used, or not in their newest version.
static void put_problems(const struct reload_notes *live, struct writer *out) {
    writer_array(out, "problems");
    for (size_t i = 0; i < live->n_sources; i++) {
        const struct source_note *note = &live->sources[i];
        if (!note->problem)
            continue;
        writer_object(out, NULL);
        writer_string(out, "from", note->origin_text);
        writer_string(out, "worker", note->name);
        writer_string(out, "message", note->problem);
        writer_end(out, '}');
    }
    writer_end(out, ']');
}

static void put_workers(const struct host_snapshot *snapshot, struct writer *out) {
    uint64_t ready = 0;
    for (size_t c = 1; c < snapshot->stats.n_clusters; c++)
        ready += is_ready(snapshot, c);
    writer_object(out, "workers");
    writer_uint(out, "total", snapshot->stats.n_clusters > 0 ? snapshot->stats.n_clusters - 1 : 0);
    writer_uint(out, "ready", ready);
    put_problems(&snapshot->notes, out);
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
    writer_object(out, "requests");
    writer_uint(out, "sent", sent);
    writer_uint(out, "failed", failed);
    writer_uint(out, "inFlight", in_flight);
    writer_uint(out, "waiting", waiting);
    writer_uint(out, "eventsRecorded", snapshot->stats.events);
    writer_uint(out, "eventsDropped", snapshot->stats.events_dropped);
    writer_end(out, '}');
}

static void put_reload(const struct reload_note *reload, struct writer *out) {
    writer_object(out, "lastReload");
    writer_time(out, "at", reload->at_wall_ns);
    writer_bool(out, "successful", reload->successful);
    writer_string(out, "message", reload->message);
    writer_end(out, '}');
}

static void put_election(const struct election_state *state, struct writer *out) {
    writer_object(out, "election");
    writer_bool(out, "enabled", state->mode == ELECTION_ON);
    writer_string(out, "identity", *state->identity ? state->identity : NULL);
    writer_string(out, "holder", *state->leader ? state->leader : NULL);
    writer_uint(out, "shards", state->mode == ELECTION_ON ? state->shards : 0);
    writer_uint(out, "held", state->mode == ELECTION_ON ? state->held : 0);
    writer_uint(out, "replicas", state->members);
    writer_string(out, "otherHost", *state->other ? state->other : NULL);
    writer_string(out, "problem", *state->problem ? state->problem : NULL);
    writer_end(out, '}');
}

struct error *api_put_status(const struct api_source *source, struct writer *out) {
    struct host_snapshot snapshot;
    TRY(source->snapshot(source->ctx, &snapshot));
    writer_string(out, "version", WHARF_VERSION);
    writer_string(out, "origin", snapshot.origin);
    const char *uid = snapshot.stats.n_clusters > 0 ? snapshot.stats.clusters[ENGINE_MANAGEMENT].uid : "";
    writer_string(out, "managementUid", *uid ? uid : NULL);
    writer_string(out, "controllerName", source->config->controller_name);
    writer_time(out, "startedAt", snapshot.started_wall_ns);
    put_reasons(&snapshot, out);
    writer_bool(out, "inSync", snapshot.in_sync);
    put_workers(&snapshot, out);
    put_workloads(&snapshot, out);
    put_requests(&snapshot, out);
    writer_object(out, "config");
    writer_string(out, "path", source->config->path);
    put_reload(&snapshot.notes.reload, out);
    writer_end(out, '}');
    writer_uint(out, "adapters", api_adapters_of(source)->count);
    writer_bool(out, "leader", snapshot.running && election_writes(&snapshot.election));
    put_election(&snapshot.election, out);
    source->free_snapshot(&snapshot);
    return NULL;
}

static void put_kind(const struct host_snapshot *snapshot, const struct kind *kind, struct writer *out,
                     uint64_t *errors) {
    writer_object(out, NULL);
    api_put_kind(&kind->abi, out);
    api_put_versions(kind, out);
    writer_string(out, "managedBy", kind->managed_by);
    writer_end(out, '}');
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
        if (snapshot->kinds[k] == kind)
            *errors += snapshot->stats.kinds[k].adapter_errors;
}

static void put_adapter(const struct host_snapshot *snapshot, const struct adapter *adapter, struct writer *out) {
    uint64_t errors = 0;
    writer_object(out, NULL);
    writer_string(out, "name", adapter->name);
    writer_string(out, "version", adapter->version);
    writer_string(out, "file", adapter->file);
    writer_string(out, "sha256", adapter->sha256);
    writer_array(out, "kinds");
    for (size_t k = 0; k < adapter->n_kinds; k++)
        put_kind(snapshot, adapter->kinds[k], out, &errors);
    writer_end(out, ']');
    writer_uint(out, "errors", errors);
    writer_end(out, '}');
}

struct error *api_adapters(struct api_call *call) {
    struct host_snapshot snapshot;
    const struct api_source *source = call->source;
    TRY(source->snapshot(source->ctx, &snapshot));
    writer_array(&call->out, "items");
    const struct adapters *adapters = api_adapters_of(source);
    for (size_t a = 0; a < adapters->count; a++)
        put_adapter(&snapshot, adapters->list[a], &call->out);
    writer_end(&call->out, ']');
    source->free_snapshot(&snapshot);
    return NULL;
}
