// SPDX-License-Identifier: Apache-2.0
// What a worker can cause to be written to the management cluster is bounded, whatever its mirrors say: of
// each workload in number, and of each worker in bytes, which its etcd keeps until they are compacted. Nothing is lost:
// the newest status is written once there is a token. The first status of an attempt and the final one do not wait.
#pragma once

#include "core/engine/engine_internal.h"

// When the workload's status, and a further attempt, may be written: into the facts of decide().
void status_budget_facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts);

// Of a status, and of a further attempt: it was sent; and it was stored, for all that is known, as an object of `size`
// bytes.
void status_budget_sent(struct engine *engine, struct entry *entry);
void status_budget_stored(struct engine *engine, const struct entry *entry, size_t size);
// A status of the attempt was accepted.
void status_budget_copied(struct entry *entry, uint32_t attempt, bool is_final);

void status_budget_count(struct engine *engine); // into the stats
