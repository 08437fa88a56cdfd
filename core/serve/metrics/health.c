// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/health.h"

#include "core/base/text.h"

static const char *state_text(enum reflector_state state) {
    switch (state) {
    case REFLECTOR_CONNECTED:
        return "connected";
    case REFLECTOR_LOST:
        return "not connected";
    case REFLECTOR_ABSENT:
        return "not served there";
    case REFLECTOR_STARTING:
        break;
    }
    return "not contacted yet";
}

// A line where the cluster is silent or rejects the host; returns how many.
static size_t explain_contact(const struct host_snapshot *snapshot, size_t cluster, struct buffer *out) {
    enum contact contact = snapshot->stats.clusters[cluster].contact;
    const char *rejection = stats_rejection(&snapshot->stats, cluster);
    if (rejection) {
        buffer_printf(out, "%s: rejects the host: ", snapshot->names[cluster]);
        text_show(out, rejection); // may be a server's text
        buffer_char(out, '\n');
        return 1;
    }
    if (contact != CONTACT_SUSPECT && contact != CONTACT_LOST)
        return 0;
    buffer_printf(out, "%s: %s\n", snapshot->names[cluster],
                  contact == CONTACT_LOST ? "lost, its API server does not answer"
                                          : "suspect, its API server is silent, late or refuses connections");
    return 1;
}

// A line for a cluster that is refused because of its identity; returns how many. No uid: a worker that knew the uid of
// another worker could report that uid.
static size_t explain_refusal(const struct host_snapshot *snapshot, size_t cluster, struct buffer *out) {
    bool refused = *snapshot->stats.clusters[cluster].refused != '\0';
    if (refused)
        buffer_printf(out, "%s: refused, it is not the cluster that it should be: see `wharf status workers`\n",
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
        buffer_printf(out, "%s/%s: %s%s", snapshot->names[cluster], snapshot->kinds[k]->plural_group,
                      state_text(watch->state), *watch->problem ? ": " : "");
        text_show(out, watch->problem); // may be a server's text
        buffer_char(out, '\n');
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
    for (size_t i = 0; i < snapshot->stats.n_unknown; i++) {
        buffer_printf(out, "%llu unfinished workloads are placed in worker ",
                      (unsigned long long)snapshot->stats.unknown[i].workloads);
        text_show(out, snapshot->stats.unknown[i].name); // from users who may write annotations
        buffer_text(out, ", which is not configured\n");
    }
}

// A standby is ready: a standby takes over at once.
static void explain_election(const struct election_state *state, struct buffer *out) {
    if (state->mode == ELECTION_ON && state->held == 0)
        buffer_printf(out, "stands by: %s%s\n",
                      state->shards > 1 ? "other replicas hold the shards"
                      : *state->leader  ? "the lease is held by "
                                        : "the holder of the lease is unknown",
                      state->shards > 1 ? "" : state->leader);
    if (*state->problem) {
        buffer_text(out, state->mode == ELECTION_ON ? "leader election: " : "another host would not be noticed: ");
        text_show(out, state->problem); // may be a server's text
        buffer_char(out, '\n');
    }
    if (*state->other) {
        buffer_text(out, "another host with this origin runs, without leader election: ");
        text_show(out, state->other);
        buffer_char(out, '\n');
    }
}

bool health_alive(int64_t stalled_ns, struct buffer *out) {
    if (stalled_ns < HEALTH_STALL_NS) {
        buffer_text(out, "ok\n");
        return true;
    }
    buffer_printf(out, "the engine has made no progress for %lld s, although there is work\n",
                  (long long)(stalled_ns / CLOCK_SECOND));
    return false;
}

static void explain_startup(const struct host_snapshot *snapshot, struct buffer *out) {
    buffer_text(out, "not running yet: ");
    if (snapshot->waits_for)
        text_show(out, snapshot->waits_for); // may be a server's text
    else
        buffer_text(out, "the management cluster has not answered");
    buffer_char(out, '\n');
}

bool health_ready(const struct host_snapshot *snapshot, bool *been_in_sync, struct buffer *out) {
    if (snapshot->stopping) {
        buffer_text(out, "stopping\n");
        return false;
    }
    if (!snapshot->running) {
        explain_startup(snapshot, out);
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
