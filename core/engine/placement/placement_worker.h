// SPDX-License-Identifier: Apache-2.0
// The settings of each worker for placement: labels, weight, order, and limits.
#pragma once

#include "core/engine/engine_internal.h"

void placement_workers_changed(struct engine *engine); // settings of a worker have changed
// Of worker_facts.
void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind);

// See completions.h.
void completions_end(struct entry *entry); // the workload is not compared any longer
// How many workloads of a worker began within a minute; and what is kept of a worker that leaves is freed.
const struct recent *completions_of(const struct engine *engine, size_t cluster);
void completions_free(struct engine *engine, size_t cluster);
