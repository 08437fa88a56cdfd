// SPDX-License-Identifier: Apache-2.0
// New work of a kind waits, once, for the state of all workers.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"

#define GRACE_NS (1 * CLOCK_SECOND)

static void tick(struct engine *engine) {
    struct startup_grace *grace = &engine->startup_grace;
    if (grace->n_kinds == engine->n_kinds)
        return;
    if (grace->seen_kinds != engine->n_kinds) { // the first step, or new kinds
        grace->seen_kinds = engine->n_kinds;
        grace->until_ns = engine->now.mono_ns + GRACE_NS;
    }
    if (engine->now.mono_ns < grace->until_ns)
        return;
    size_t first = grace->n_kinds;
    grace->n_kinds = engine->n_kinds;
    for (size_t k = first; k < grace->n_kinds; k++)
        cluster_queue_blocked(engine, k, SIZE_MAX);
}

static int64_t due_ns(struct engine *engine) {
    return engine->startup_grace.n_kinds < engine->n_kinds ? engine->startup_grace.until_ns : CLOCK_NEVER;
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->startup_grace_is_over = entry->kind < engine->startup_grace.n_kinds;
}

const struct part part_startup_grace = {.name = "startup grace", .tick = tick, .due_ns = due_ns, .facts = facts};
