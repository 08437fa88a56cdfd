// SPDX-License-Identifier: Apache-2.0
// Before the first workload of a kind is placed: some versions of the kind's controller ignore managedBy, and the
// version in the management cluster is not known to be a later one. The first workload waits for the signs of such a
// controller (rival.c), which acts on a new object within seconds. Without a sign the kind is trusted from then on.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"

#define PROBATION_NS (10 * CLOCK_SECOND)

static struct probation *probation_of(const struct engine *engine, size_t kind) {
    return &cluster_watch(engine, ENGINE_MANAGEMENT, kind)->probation;
}

static void event(struct engine *engine, struct engine_event *event) {
    struct probation *probation = probation_of(engine, event->kind);
    probation->settled = event->field.settled;
    if (probation->settled && probation->until_ns > engine->now.mono_ns)
        cluster_queue_blocked(engine, event->kind, SIZE_MAX);
}

static void before(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    struct probation *probation = probation_of(engine, entry->kind);
    bool first = w->exists && w->attempt == 0 && !w->suspended && !w->finished && !w->being_deleted;
    if (engine->kinds[entry->kind]->doubted_until && first && !probation->until_ns)
        probation->until_ns = engine->now.mono_ns + PROBATION_NS;
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    const struct probation *probation = probation_of(engine, entry->kind);
    bool trusted = probation->settled || engine->kinds[entry->kind]->hybrid == HYBRID_ALLOW;
    facts->probation_until_ns = trusted ? 0 : probation->until_ns;
}

const struct part part_probation = {
    .name = "probation", .events = PART_EVENT(EVENT_FIELD), .event = event, .before = before, .facts = facts};
