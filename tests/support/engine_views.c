// SPDX-License-Identifier: Apache-2.0
#include "tests/support/engine_views.h"

#include "core/engine/engine_internal.h"
#include "core/engine/request/command.h"

static struct engine_view view_of(const struct engine *engine, const struct entry *e, char space[254]) {
    const struct workload *w = e->workload;
    const struct mirror *current = facts_followed_mirror(engine, e);
    bool known = w->facts.cluster && w->facts.cluster != DECIDE_UNKNOWN_CLUSTER;
    entry_namespace(e, space);
    struct engine_view view = {.kind = e->kind,
                               .namespace_ = space,
                               .name = entry_name(e),
                               .uid = w->uid,
                               .cluster = known ? engine->clusters[w->facts.cluster].name : NULL,
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
    for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m)) {
        view.mirrors += m->facts.present;
        view.in_flight |= m->facts.busy || m->node.flow;
    }
    return view;
}

void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        size_t cursor = 0;
        for (const struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));) {
            char space[254];
            struct engine_view view = view_of(engine, e, space);
            if (e->workload->facts.exists)
                visit(ctx, &view);
        }
    }
}

void engine_each_waiter(const struct engine *engine, void (*visit)(void *ctx, const struct engine_waiter *waiter),
                        void *ctx) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (int work = 0; engine->clusters[c].request && work < WORK_CLASSES; work++) {
            const struct flow *first = engine->clusters[c].request->queue.classes[work].turn, *flow = first;
            for (bool more = first; more; flow = flow->next, more = flow != first)
                for (const struct fair_node *node = flow->first; node; node = node->next)
                    visit(ctx, &(struct engine_waiter){c, node->entry->kind, (enum work_class)work, node->entry->key});
        }
}
