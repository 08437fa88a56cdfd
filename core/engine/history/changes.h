// SPDX-License-Identifier: Apache-2.0
// The workloads in the order of their last visible change, each with a sequence number, so that a reader gets only
// later changes. Numbers grow from one process to the next: they begin with the start time.
#pragma once

#include "core/engine/engine_internal.h"

#define CHANGES_GONE 1024 // most deleted workloads that readers still get

struct gone {
    uint64_t sequence;
    size_t kind;
    char *key; // "namespace/name"
};

struct changes;

uint64_t changes_last(const struct engine *engine);
// Whether all later changes are known; if not, a reader begins anew.
bool changes_known_since(const struct engine *engine, uint64_t since);
// The workload with the least sequence above `after`; NULL: none. Quick for readers that continue.
struct entry *changes_next(struct engine *engine, uint64_t after);
// The deletions since, the oldest first, without workloads that were created again. NULL: no more. Begins with
// *cursor = 0.
const struct gone *changes_gone(const struct engine *engine, uint64_t since, size_t *cursor);
