// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/report/report.h"

#define LATE_NS (10 * CLOCK_SECOND) // lateness of a due step
#define GRACE_NS CLOCK_MINUTE       // time to reconnect to lost workers, at most workerLostTimeout

// Moves the start of each loss, so the host gives up no worker before the end of the grace period.
static void give_time(struct engine *engine, size_t cluster) {
    int64_t grace_ns = clock_earlier(GRACE_NS, engine->settings.worker_lost_timeout_ns);
    int64_t since_ns = engine->now.mono_ns + grace_ns - engine->settings.worker_lost_timeout_ns;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (!cluster_is_connected(engine, cluster, k))
            watch->lost_since_ns = clock_later(watch->lost_since_ns, since_ns);
    }
    cluster_changed(engine, cluster);
}

static void check(struct engine *engine, struct engine_event *event) {
    int64_t due_ns = clock_later(engine->wake_ns, engine->stepped_ns), late_ns = event->now.mono_ns - due_ns;
    if (engine->wake_ns == CLOCK_NEVER || late_ns < LATE_NS)
        return;
    report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, LOG_NO_KIND,
               "the host did not run for %lld s or more (suspended, or stopped): lost workers have a grace period "
               "before the host gives up",
               (long long)(late_ns / CLOCK_SECOND));
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            give_time(engine, c);
}

const struct part part_clock_jump = {.name = "clock jump", .events = PART_EVENTS, .event = check};
