// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/guard_pages.h"

#include "core/serve/metrics/health.h"
#include "core/serve/metrics/metrics_text.h"

bool guard_page_alive(const struct guard_status *status, int64_t now_ns, struct buffer *out) {
    int64_t stalled_ns = now_ns - status->at_ns;
    bool alive = stalled_ns < GUARD_STALL_NS;
    if (alive)
        buffer_text(out, "ok\n");
    else
        health_line(out, "the guard has made no progress for %lld s", (long long)(stalled_ns / CLOCK_SECOND));
    return alive;
}

// The guard exists for lost hosts, so a lost host leaves the guard ready.
bool guard_page_ready(const struct guard_status *status, int64_t now_ns, struct buffer *out) {
    if (now_ns - status->at_ns >= GUARD_STALL_NS)
        return guard_page_alive(status, now_ns, out);
    if (status->reachable)
        buffer_text(out, "ok\n");
    else
        health_line(out, "the API server has not answered: the guard can stop nothing%s%s",
                    *status->problem ? ": " : "", status->problem);
    if (status->reachable && status->leases == 0)
        health_line(out, "no Lease of a host with origin %s is there: nothing is guarded", status->origin);
    if (*status->unreturned)
        health_line(out, "a Lease of a former number of shards cannot be given back yet: %s", status->unreturned);
    buffer_text(out, status->late);
    return status->reachable;
}

void guard_page_metrics(const struct guard_status *status, const struct metrics_process *process, struct buffer *out) {
    metrics_single(out, "wharf_guard_leases", "gauge", "Leases of the host that are held.", status->leases);
    metrics_single(out, "wharf_guard_leases_missed", "gauge",
                   "Held Leases that the host does not renew any more: the guard stops the mirrors.", status->missed);
    if (status->heard_wall_ns)
        metrics_single(out, "wharf_guard_heard_timestamp_seconds", "gauge",
                       "Time of the host's last heartbeat, of the Lease with the oldest one.",
                       (uint64_t)(status->heard_wall_ns / CLOCK_SECOND));
    metrics_single(out, "wharf_guard_reachable", "gauge", "1 while the API server answers, else 0.", status->reachable);
    metrics_family(out, "wharf_guard_stopped_total", "counter", "Mirrors stopped since the guard began.");
    metrics_sample(out, "wharf_guard_stopped_total", LABELS({"action", "suspend"}), status->suspended);
    metrics_sample(out, "wharf_guard_stopped_total", LABELS({"action", "delete"}), status->deleted);
    metrics_single(out, "wharf_guard_stop_failures_total", "counter",
                   "Failed requests to stop a mirror, repeated until successful.", status->failures);
    metrics_print_process(process, out);
}
