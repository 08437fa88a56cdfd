// SPDX-License-Identifier: Apache-2.0
// What placement knows of each worker: its labels, weight and order, and how many workloads it may have.
#ifndef WHARF_ENGINE_PLACEMENT_WORKER_H
#define WHARF_ENGINE_PLACEMENT_WORKER_H

#include "core/engine/engine_internal.h"

struct engine_event;
void placement_worker_take(struct engine *engine, size_t cluster, const struct engine_event *event); // EVENT_WORKER
void placement_worker_clear(struct engine *engine, size_t cluster); // frees; when the worker leaves
// Of worker_facts.
void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind);

#endif
