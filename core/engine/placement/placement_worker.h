// SPDX-License-Identifier: Apache-2.0
// The settings of each worker for placement: labels, weight, order, and limits.
#ifndef WHARF_ENGINE_PLACEMENT_WORKER_H
#define WHARF_ENGINE_PLACEMENT_WORKER_H

#include "core/engine/engine_internal.h"

void placement_workers_changed(struct engine *engine); // settings of a worker have changed
// Of worker_facts.
void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind);

#endif
