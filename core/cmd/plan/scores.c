// SPDX-License-Identifier: Apache-2.0
// The scores of adapters for the workers of the configuration.
#include "core/adapter/scores.h"

#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/cmd/plan/plan.h"

// The host alone knows what the workers have.
static struct json *configured_workers(const struct config *config) {
    AUTO_JSON workers = json_new_array();
    for (size_t i = 0; workers && i < config->n_workers; i++) {
        const struct worker_settings *settings = &config->workers[i].settings;
        struct json *worker = scores_worker(settings->name, settings->labels);
        bool made = worker && json_set(worker, "active", json_new_int64(0)) &&
                    json_set(worker, "activeOfKind", json_new_int64(0));
        if (!json_append(workers, worker) || !made)
            return NULL;
    }
    return TAKE(workers);
}

struct error *plan_report_scores(struct plan_object *object) {
    const struct adapters *adapters = object->plan->adapters;
    if (adapters->n_scorers == 0)
        return NULL;
    AUTO_JSON workers = configured_workers(object->plan->config);
    AUTO_JSON sets = NULL;
    AUTO_BUFFER(text, 65536);
    if (!workers)
        return error_no_memory();
    AUTO_CALL pods_call;
    plan_begin_call(object, 0, NULL, &pods_call);
    (void)pods_of(&pods_call, object->workload, &sets);
    for (size_t i = 0; i < adapters->n_scorers; i++) {
        AUTO_CALL call;
        plan_begin_call(object, 0, NULL, &call);
        if (scorer_rates(adapters->scorers[i], object->kind))
            json_free(scores_ask(&call, adapters->scorers[i], object->workload, sets, workers, &text));
    }
    if (text.len > 0)
        plan_comment(&object->lines, "scores: %s (of the workers in the configuration, as if they were empty)",
                     text.data);
    return NULL;
}
