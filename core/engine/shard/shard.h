// SPDX-License-Identifier: Apache-2.0
// Rule 11. A host needs the Lease of a shard for writes to the shard's workloads. A hash of kind, namespace and name
// determines the shard (not the uid: a mirror stays in one shard even if a new workload has the old name).
// For the other shards the host keeps the entries up to date, and takes no action.
//
// A host that takes a shard over may not have seen the last holder's last writes. Writes to the workload carry the
// resourceVersion, so the server rejects such writes then. Before a write in a worker, the host reads the workload once
// in the new term, unless the server has accepted a write of the workload in that term. The host forgets its own
// writes, as after a restart.
#pragma once

#include "core/engine/engine_internal.h"

#define SHARD_MARGIN_NS (CLOCK_SECOND / 2) // the host sends nothing with less time left of the lease

struct shard {
    int64_t until_ns;
    uint32_t term, opened; // opened: the last term in which the shard was open
    bool open;
};

uint32_t shard_of(const struct engine *engine, const struct entry *entry);
// The same for any object; `key`: "namespace/name".
uint32_t shard_of_key(const struct engine *engine, const char *plural_group, const char *key);
uint64_t shard_mask(const struct engine *engine); // shards that this host holds; bit 0 without shards
uint64_t shard_all(const struct engine *engine);  // all shards; bit 0 without shards

uint32_t shard_term(const struct engine *engine, const struct entry *entry);
// Whether this host may write for the entry now.
bool shard_is_held(const struct engine *engine, const struct entry *entry);
// Whether the host has read or written the workload in the present term.
bool shard_is_fresh(const struct engine *engine, const struct entry *entry);
