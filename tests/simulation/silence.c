// SPDX-License-Identifier: Apache-2.0
// Nothing is stuck unnoticed: every unfinished workload has a mirror that is followed, a request in flight, a time of
// its next reconciliation, or an Event that reports why it waits. Nor does a mirror stay suspended by the host in
// silence while its workload is to run.
#include "core/adapter/phase.h"
#include "core/kube/object/object.h"
#include "tests/simulation/breaks.h"
#include "tests/simulation/crew.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/rules.h"
#include "tests/support/engine_views.h"

#define EVERY_NS (1 * CLOCK_SECOND)
#define STOPPED_NS (3 * CLOCK_MINUTE)
#define BLIND_NS (10 * CLOCK_MINUTE) // a silent watch is noticed after three minutes, marks are restored after five

// The mirror that the host follows, as it is in its cluster; or NULL.
static const struct json *followed_mirror(struct trial *trial, const struct engine_view *view) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        if (!text_equal(world_name(trial->worlds[c]), view->cluster))
            continue;
        const struct json *mirror = trial_object(trial, c, view->kind, view->namespace_, view->name);
        return mirror && text_equal(rules_text(mirror, "metadata", NULL, "uid"), view->mirror) ? mirror : NULL;
    }
    return NULL;
}

// The host was the last to suspend it, and its record says so.
static void check_suspended(struct trial *trial, const struct engine_view *view, const struct json *mirror,
                            struct tracked_workload *job) {
    const char *record = mirror ? object_annotation(mirror, MARK_CARRIED) : NULL;
    bool stopped =
        record && text_has_prefix(record, "v2:s") && phase_suspend_asked(&trial->engine_kinds[view->kind]->abi, mirror);
    if (!stopped || view->told)
        job->stopped_ns = 0;
    else if (job->stopped_ns == 0)
        job->stopped_ns = trial->now_ns;
    else if (trial->now_ns - job->stopped_ns > STOPPED_NS)
        trial_fail(trial, "the mirror of %s stays suspended without an Event (%s)", view->name,
                   view->why ? view->why : "no decision");
}

static void look_at(void *ctx, const struct engine_view *view) {
    struct trial *trial = ctx;
    struct tracked_workload *job = rules_workload(trial, view->uid);
    if (job && view->suspended) // as its user wants: the times begin when it is to run again
        job->stopped_ns = job->blind_ns = 0;
    if (view->phase == WHARF_SUCCEEDED || view->phase == WHARF_FAILED || view->being_deleted || view->suspended || !job)
        return;
    if (!crew_holds(trial, view->kind, view->namespace_, view->name))
        return;
    bool followed = *view->mirror != '\0';
    if (leases_missing(trial)) { // it may be another host's
        job->blind_ns = 0;
        return;
    }
    bool adapter = view->why == waiting_text(WAITING_ADAPTER);
    if (adapter && !breaks_failed(trial, view->kind))
        trial_fail(trial, "rule 12: %s waits for an adapter that has not failed", view->name);
    if (adapter && trial->host->wake_ns != CLOCK_NEVER) // the engine tries some at a time
        return;
    if (!followed && !view->in_flight && !view->told && !job->fenced && view->wake_ns == CLOCK_NEVER)
        trial_fail(trial, "%s is stuck without an Event (%s)", view->name, view->why ? view->why : "no decision");
    const struct json *mirror = followed ? followed_mirror(trial, view) : NULL;
    check_suspended(trial, view, mirror, job);
    if (!followed || view->told || mirror) {
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
    if (!host->alive || trial->now_ns < trial->rules->looked_ns[host->index] + EVERY_NS || host->queue.events > 0 ||
        host->wake_ns <= trial->now_ns)
        return;
    trial->rules->looked_ns[host->index] = trial->now_ns;
    engine_each(host->turn.engine, look_at, trial);
}
