// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement_worker.h"

#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/engine/event.h"
#include "core/engine/placement/placement_queue.h"

#include <stdlib.h>
#include <string.h>

static void count_limits(struct engine *engine) {
    engine->workers_are_limited = false;
    for (size_t c = 1; c < engine->n_clusters; c++)
        engine->workers_are_limited |= engine->slots[c].max_active > 0 || engine->slots[c].max_kinds;
}

void placement_worker_take(struct engine *engine, size_t cluster, const struct engine_event *event) {
    struct worker_slot *slot = &engine->slots[cluster];
    slot->weight = event->worker.weight;
    slot->order = event->worker.order;
    slot->max_active = event->worker.max_active;
    // Without memory the former values stay; the next change of the worker sets both again.
    (void)text_set_filled(&slot->labels, event->worker.labels);
    (void)text_set_filled(&slot->max_kinds, event->worker.max_kinds);
    count_limits(engine);
    placement_room(engine);
}

void placement_worker_clear(struct engine *engine, size_t cluster) {
    struct worker_slot *slot = &engine->slots[cluster];
    free(slot->labels);
    free(slot->max_kinds);
    slot->labels = slot->max_kinds = NULL;
    slot->max_active = 0;
    count_limits(engine);
}

// Of a list "jobs.batch=5,JobSet=2"; 0: no limit.
static size_t limit_of_kind(const char *list, const struct kind *kind) {
    const char *const names[] = {kind->plural_group, kind->abi.kind};
    for (size_t i = 0; list && i < 2; i++) {
        int64_t limit = 0;
        char text[24];
        if (labels_value(list, names[i], text, sizeof text) && text_to_int64(text, &limit) && limit > 0)
            return (size_t)limit;
    }
    return 0;
}

void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind) {
    const struct worker_slot *slot = &engine->slots[cluster];
    struct worker_facts *facts = &engine->workers[kind][cluster];
    facts->weight = slot->weight ? slot->weight : 1;
    facts->order = slot->order;
    facts->max_active = slot->max_active;
    facts->max_kind = limit_of_kind(slot->max_kinds, engine->kinds[kind]);
}
