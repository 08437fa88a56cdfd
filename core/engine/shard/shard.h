// SPDX-License-Identifier: Apache-2.0
// Rule 11. Whoever may write holds the lease of what it writes. Workloads are divided into shards by a hash of their
// kind, namespace and name (not of their uid: an object in a worker belongs to one shard, also when its workload is
// created anew under its name). Entries of shards that this host does not hold are kept up to date and not acted on.
//
// A host that takes a shard over may have an older view than the last holder's last writes. Writes to the workload
// carry its resourceVersion and are rejected then. Before anything is written in a worker, the workload is read once in
// the new term, unless a write of it has been accepted in that term; what was known of own writes is forgotten, as
// after a restart.
#pragma once

#include "core/engine/shard/shard_of.h"

#define SHARD_MARGIN_NS (CLOCK_SECOND / 2) // nothing is sent when less than that is left of the lease

uint32_t shard_term(const struct engine *engine, const struct entry *entry);
// Whether this host may write for it now.
bool shard_is_held(const struct engine *engine, const struct entry *entry);
// Whether its workload was read, or written, in the present term.
bool shard_is_fresh(const struct engine *engine, const struct entry *entry);
