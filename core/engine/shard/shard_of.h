// SPDX-License-Identifier: Apache-2.0
// Which shard an entry is in, and which ones this host holds; see shard.h.
#pragma once

#include "core/engine/engine_internal.h"

struct shard {
    int64_t until_ns;
    uint32_t term, opened; // opened: the term in which it was open last
    bool open;
};

uint32_t shard_of(const struct engine *engine, const struct entry *entry);
uint64_t shard_mask(const struct engine *engine); // of those that this host holds; without shards, bit 0
uint64_t shard_all(const struct engine *engine);  // of all that there are; the same
