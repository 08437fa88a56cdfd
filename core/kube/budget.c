// SPDX-License-Identifier: Apache-2.0
#include "core/kube/budget.h"

static const struct budget defaults = {.max_object_size = BUDGET_OBJECT_SIZE,
                                       .max_object_nodes = BUDGET_OBJECT_NODES,
                                       .max_answer = BUDGET_DEFAULT / 4,
                                       .max_frame = BUDGET_DEFAULT / 8,
                                       .max_buffered = BUDGET_DEFAULT / 2,
                                       .max_queued = BUDGET_DEFAULT / 8};

void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop) {
    size_t all = per_cluster > 0 ? per_cluster : BUDGET_DEFAULT;
    *budget = (struct budget){.max_object_size = max_object_size > 0 ? max_object_size : BUDGET_OBJECT_SIZE,
                              .max_object_nodes = max_object_nodes > 0 ? max_object_nodes : BUDGET_OBJECT_NODES,
                              .max_answer = all / 4,
                              .max_frame = all / 8,
                              .max_buffered = all / 2,
                              .max_queued = all / 8,
                              .stop = stop};
}

void budget_resize(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes) {
    size_t buffered = budget->buffered;
    budget_init(budget, per_cluster, max_object_size, max_object_nodes, budget->stop);
    budget->buffered = buffered;
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
