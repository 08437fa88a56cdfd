// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement_worker.h"

#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/engine/placement/placement_queue.h"

#include <stdlib.h>
#include <string.h>

void placement_workers_changed(struct engine *engine) {
    engine->placement.workers_are_limited = false;
    for (size_t c = 1; c < engine->n_clusters; c++)
        engine->placement.workers_are_limited |=
            engine->clusters[c].settings.max_active > 0 || engine->clusters[c].settings.max_kinds;
    placement_queue_retry(engine);
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
    const struct worker_settings *settings = &engine->clusters[cluster].settings;
    struct worker_facts *facts = &engine->workers[kind][cluster];
    facts->weight = settings->weight ? settings->weight : 1;
    facts->order = settings->order;
    facts->max_active = settings->max_active;
    facts->max_kind = limit_of_kind(settings->max_kinds, engine->kinds[kind]);
}

void completions_end(struct entry *entry) {
    entry->workload->placement.runs_in = 0;
}

const struct recent *completions_of(const struct engine *engine, size_t cluster) {
    return &engine->clusters[cluster].placement.finished;
}

void completions_free(struct engine *engine, size_t cluster) {
    free(engine->clusters[cluster].placement.durations);
    engine->clusters[cluster].placement.durations = NULL;
}
