// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/base/text.h"

// Appends a line that controls no terminal: texts may be a server's, or a user's.
__attribute__((format(printf, 2, 3))) static void put_line(struct buffer *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT line = text_vformat(format, args);
    va_end(args);
    out->failed |= !line;
    text_show(out, line ? line : "");
    buffer_char(out, '\n');
}

static const char *const state_texts[] = {
    [REFLECTOR_STARTING] = "not contacted yet",
    [REFLECTOR_CONNECTED] = "connected",
    [REFLECTOR_LOST] = "not connected",
    [REFLECTOR_ABSENT] = "not served there",
};

// A line where the cluster is silent or rejects the host; returns how many.
static size_t explain_contact(const struct host_snapshot *snapshot, size_t cluster, struct buffer *out) {
    enum contact contact = snapshot->stats.clusters[cluster].contact;
    const char *rejection = stats_rejection(&snapshot->stats, cluster);
    const char *name = snapshot->names[cluster];
    if (rejection)
        put_line(out, "%s: rejects the host: %s", name, rejection);
    else if (contact == CONTACT_LOST)
        put_line(out, "%s: lost, its API server does not answer", name);
    else if (contact == CONTACT_SUSPECT)
        put_line(out, "%s: suspect, its API server is silent, late or refuses connections", name);
    return rejection || contact == CONTACT_LOST || contact == CONTACT_SUSPECT;
}

// A line for a cluster that is refused because of its identity; returns how many. No uid: a worker that knew the uid of
// another worker could report that uid.
static size_t explain_refusal(const struct host_snapshot *snapshot, size_t cluster, struct buffer *out) {
    bool refused = *snapshot->stats.clusters[cluster].refused != '\0';
    if (refused)
        put_line(out, "%s: refused, it is not the cluster that it should be: see `wharf status workers`",
                 snapshot->names[cluster]);
    return refused;
}

// Lines for the watches of one cluster that are not in sync; returns how many. A kind that a cluster does not serve
// does not count.
static size_t explain_watches(const struct host_snapshot *snapshot, size_t cluster, struct buffer *out) {
    size_t lines = 0;
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++) {
        const struct stats_watch *watch = &snapshot->stats.clusters[cluster].watches[k];
        if (watch->state == REFLECTOR_CONNECTED || watch->state == REFLECTOR_ABSENT)
            continue;
        put_line(out, "%s/%s: %s%s%s", snapshot->names[cluster], snapshot->kinds[k]->plural_group,
                 state_texts[watch->state], *watch->problem ? ": " : "", watch->problem);
        lines++;
    }
    return lines;
}

// Why the host has never been in sync: everything that is missing, also lost workers, which alone do not prevent this.
static void explain_start(const struct host_snapshot *snapshot, struct buffer *out) {
    size_t lines = 0;
    for (size_t c = 1; c < snapshot->stats.n_clusters; c++)
        lines +=
            explain_contact(snapshot, c, out) + explain_watches(snapshot, c, out) + explain_refusal(snapshot, c, out);
    if (snapshot->stats.queued > 0 || lines == 0)
        buffer_printf(out, "not in sync yet: %llu objects wait to be reconciled\n",
                      (unsigned long long)snapshot->stats.queued);
}

static void explain_unknown(const struct host_snapshot *snapshot, struct buffer *out) {
    for (size_t i = 0; i < snapshot->stats.n_unknown; i++)
        put_line(out, "%llu unfinished workloads are placed in worker %s, which is not configured",
                 (unsigned long long)snapshot->stats.unknown[i].workloads, snapshot->stats.unknown[i].name);
}

// A standby is ready: a standby takes over at once.
static void explain_election(const struct election_state *state, struct buffer *out) {
    bool enabled = state->mode == ELECTION_ON;
    if (enabled && state->held == 0 && state->shards > 1)
        put_line(out, "stands by: other replicas hold the shards");
    else if (enabled && state->held == 0)
        put_line(out, "stands by: %s%s",
                 *state->leader ? "the lease is held by " : "the holder of the lease is unknown", state->leader);
    if (*state->problem)
        put_line(out, "%s: %s", enabled ? "leader election" : "another host would not be noticed", state->problem);
    if (*state->other)
        put_line(out, "another host with this origin runs, without leader election: %s", state->other);
}

static bool put_progress(const char *of, const char *although, int64_t stalled_ns, int64_t limit_ns,
                         struct buffer *out) {
    bool alive = stalled_ns < limit_ns;
    if (alive)
        buffer_text(out, "ok\n");
    else
        put_line(out, "the %s has made no progress for %lld s%s", of, (long long)(stalled_ns / CLOCK_SECOND), although);
    return alive;
}

bool health_alive(int64_t stalled_ns, struct buffer *out) {
    return put_progress("engine", ", although there is work", stalled_ns, HEALTH_STALL_NS, out);
}

bool health_ready(const struct host_snapshot *snapshot, bool *been_in_sync, struct buffer *out) {
    if (snapshot->stopping) {
        put_line(out, "stopping");
        return false;
    }
    if (!snapshot->running) {
        put_line(out, "not running yet: %s",
                 snapshot->waits_for ? snapshot->waits_for : "the management cluster has not answered");
        return false;
    }
    if (snapshot->stalled_ns >= HEALTH_STALL_NS)
        return health_alive(snapshot->stalled_ns, out);
    size_t lines = explain_contact(snapshot, ENGINE_MANAGEMENT, out);
    lines += explain_watches(snapshot, ENGINE_MANAGEMENT, out) + explain_refusal(snapshot, ENGINE_MANAGEMENT, out);
    if (snapshot->in_sync && lines == 0)
        *been_in_sync = true;
    if (!*been_in_sync) {
        explain_start(snapshot, out);
        return false;
    }
    if (lines == 0)
        buffer_text(out, "ok\n");
    for (size_t c = 1; c < snapshot->stats.n_clusters; c++) // the next lines do not affect readiness
        if (explain_refusal(snapshot, c, out) == 0 && stats_rejection(&snapshot->stats, c))
            explain_contact(snapshot, c, out);
    explain_unknown(snapshot, out);
    explain_election(&snapshot->election, out);
    return lines == 0;
}

bool guard_page_alive(const struct guard_status *status, int64_t now_ns, struct buffer *out) {
    return put_progress("guard", "", now_ns - status->at_ns, GUARD_STALL_NS, out);
}

// The guard exists for lost hosts, so a lost host leaves the guard ready.
bool guard_page_ready(const struct guard_status *status, int64_t now_ns, struct buffer *out) {
    if (now_ns - status->at_ns >= GUARD_STALL_NS)
        return guard_page_alive(status, now_ns, out);
    if (status->reachable)
        buffer_text(out, "ok\n");
    else
        put_line(out, "the API server has not answered: the guard can stop nothing%s%s", *status->problem ? ": " : "",
                 status->problem);
    if (status->reachable && status->leases == 0)
        put_line(out, "no Lease of a host with origin %s is there: nothing is guarded", status->origin);
    if (*status->unreturned)
        put_line(out, "a Lease of a former number of shards cannot be given back yet: %s", status->unreturned);
    buffer_text(out, status->late);
    return status->reachable;
}
