// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/budget.h"

#include "core/base/memory.h"

static const struct budget defaults = {.max_object_size = BUDGET_OBJECT_SIZE,
                                       .max_object_nodes = BUDGET_OBJECT_NODES,
                                       .max_answer = BUDGET_DEFAULT / 4,
                                       .max_frame = BUDGET_DEFAULT / 8,
                                       .max_buffered = BUDGET_DEFAULT / 2,
                                       .max_queued = BUDGET_DEFAULT / 8,
                                       .max_kept = BUDGET_DEFAULT / 4};

void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop) {
    size_t all = per_cluster > 0 ? per_cluster : BUDGET_DEFAULT;
    *budget = (struct budget){.max_object_size = max_object_size > 0 ? max_object_size : BUDGET_OBJECT_SIZE,
                              .max_object_nodes = max_object_nodes > 0 ? max_object_nodes : BUDGET_OBJECT_NODES,
                              .max_answer = all / 4,
                              .max_frame = all / 8,
                              .max_buffered = all / 2,
                              .max_queued = all / 8,
                              .max_kept = all / 4,
                              .stop = stop};
}

void budget_resize(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes) {
    size_t buffered = budget->buffered, kept = budget->kept;
    budget_init(budget, per_cluster, max_object_size, max_object_nodes, budget->stop);
    budget->buffered = buffered;
    budget->kept = kept;
}

const struct budget *budget_or_default(const struct budget *budget) {
    return budget ? budget : &defaults;
}

bool budget_take(struct budget *budget, size_t bytes) {
    if (!budget)
        return true;
    if (budget->buffered > budget->max_buffered || bytes > budget->max_buffered - budget->buffered)
        return false;
    budget->buffered += bytes;
    return true;
}

void budget_give(struct budget *budget, size_t bytes) {
    if (budget)
        budget->buffered -= bytes < budget->buffered ? bytes : budget->buffered;
}

bool budget_keep(struct budget *budget, size_t before, size_t bytes) {
    if (!budget)
        return true;
    size_t others = budget->kept - size_least(before, budget->kept);
    if (bytes > before && (others > budget->max_kept || bytes > budget->max_kept - others))
        return false;
    budget->kept = others + bytes;
    return true;
}
