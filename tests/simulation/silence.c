// SPDX-License-Identifier: Apache-2.0
// Nothing is stuck unnoticed: every unfinished workload has a mirror that is followed, a request in flight, a time of
// its next reconciliation, or an Event that reports why it waits.
#include "tests/simulation/crew.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/rules.h"

#define EVERY_NS (1 * CLOCK_SECOND)
#define BLIND_NS (10 * CLOCK_MINUTE) // a silent watch is noticed after three minutes, marks are restored after five

static bool is_shown(struct trial *trial, const struct engine_view *view) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        if (!text_equal(world_name(trial->worlds[c]), view->cluster))
            continue;
        const struct json *mirror = trial_object(trial, c, view->kind, view->namespace_, view->name);
        return mirror && text_equal(rules_text(mirror, "metadata", NULL, "uid"), view->mirror);
    }
    return false;
}

static void look_at(void *ctx, const struct engine_view *view) {
    struct trial *trial = ctx;
    struct tracked_workload *job = rules_workload(trial, view->uid);
    if (view->phase == WHARF_SUCCEEDED || view->phase == WHARF_FAILED || view->being_deleted || view->suspended || !job)
        return;
    if (!crew_holds(trial, view->kind, view->namespace_, view->name))
        return;
    bool followed = *view->mirror != '\0';
    if (leases_missing(trial)) { // it may be another host's
        job->blind_ns = 0;
        return;
    }
    if (!followed && !view->in_flight && !view->told && !job->fenced && view->wake_ns == CLOCK_NEVER)
        trial_fail(trial, "%s is stuck without an Event (%s)", view->name, view->why ? view->why : "no decision");
    if (!followed || view->told || is_shown(trial, view)) {
        job->blind_ns = 0;
        return;
    }
    if (job->blind_ns == 0)
        job->blind_ns = trial->now_ns;
    if (trial->now_ns - job->blind_ns > BLIND_NS)
        trial_fail(trial, "a mirror of %s is followed that does not exist", view->name);
}

void silence_check(struct trial *trial) {
    struct instance *host = trial->host;
    if (!host->alive || trial->now_ns < trial->rules->looked_ns[host->index] + EVERY_NS ||
        event_queue_count(host->queue) > 0 || host->wake_ns <= trial->now_ns)
        return;
    trial->rules->looked_ns[host->index] = trial->now_ns;
    engine_each(host->turn.engine, look_at, trial);
}
