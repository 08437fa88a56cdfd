// SPDX-License-Identifier: Apache-2.0
// The state of the engine's workloads and of its queues, for checks.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"
#include "core/engine/request/pacing.h"

struct engine_view {
    size_t kind;
    const char *namespace_, *name, *uid, *cluster; // cluster NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    size_t mirrors;     // known now
    const char *mirror; // uid of the source of the status; "": none
    bool being_deleted, suspended;
    bool in_flight;  // a request about the workload or a mirror is in flight or waits
    bool told;       // the reason for the wait was reported
    int64_t wake_ns; // next reconciliation (monotonic), CLOCK_NEVER: at the next event
    const char *why; // of the last decision; may be NULL
};

static inline struct engine_view engine_view_of(const struct engine *engine, const struct entry *e,
                                                const char *namespace_) {
    const struct workload *w = e->workload;
    const struct mirror *current = facts_followed_mirror(engine, e);
    struct engine_view view = {.kind = e->kind,
                               .namespace_ = namespace_,
                               .name = entry_name(e),
                               .uid = w->uid,
                               .attempt = w->facts.attempt,
                               .phase = (wharf_phase_kind)w->phase,
                               .mirror =
                                   current && !current->facts.being_deleted && !current->unmarked ? current->uid : "",
                               .being_deleted = w->facts.being_deleted,
                               .suspended = w->facts.suspended,
                               .told = w->report.reported || w->report.waiting_reported,
                               .wake_ns = e->timer.place == HEAP_NOT_IN ? CLOCK_NEVER : e->timer.at_ns,
                               .why = e->why,
                               .in_flight = e->busy || e->lookups > 0 || e->node.flow};
    if (w->facts.cluster && w->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        view.cluster = engine->clusters[w->facts.cluster].name;
    for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m)) {
        view.mirrors += m->facts.present ? 1 : 0;
        view.in_flight |= m->facts.busy || m->node.flow;
    }
    return view;
}

// Calls `visit` for each delegated workload. Strings are valid during the call.
static inline void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view),
                               void *ctx) {
    struct store_cursor at = {0};
    for (const struct entry *e; (e = store_next(&engine->store, &at));) {
        char namespace_[254];
        entry_namespace(e, namespace_);
        struct engine_view view = engine_view_of(engine, e, namespace_);
        if (e->workload->facts.exists)
            visit(ctx, &view);
    }
}

// The objects that wait for a cluster's window, unordered.
struct engine_waiter {
    size_t cluster, kind;
    enum work_class work;
    const char *key; // "namespace/name"
};

static inline void engine_each_waiter(const struct engine *engine,
                                      void (*visit)(void *ctx, const struct engine_waiter *waiter), void *ctx) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (int work = 0; engine->clusters[c].request && work < WORK_CLASSES; work++) {
            const struct flow *first = engine->clusters[c].request->queue.classes[work].turn, *flow = first;
            for (bool more = first; more; flow = flow->next, more = flow != first)
                for (const struct fair_node *node = flow->first; node; node = node->next)
                    visit(ctx, &(struct engine_waiter){c, node->entry->kind, (enum work_class)work, node->entry->key});
        }
}
