// SPDX-License-Identifier: Apache-2.0
// The shard of a workload, by kind, namespace and name. The mirror has the same ones, so the guard of a worker needs
// only the mirror.
#pragma once

#include "core/base/text.h"

#define SHARDS_MAX 64 // bits of a mask

// `key`: "namespace/name". The hash does not depend on the number of shards, see shard_hash_at.
static inline uint64_t shard_hash(const char *plural_group, const char *key) {
    return text_hash(text_hash(text_hash(TEXT_HASH, plural_group), "/"), key);
}

// The same for "namespace_/name".
static inline uint64_t shard_hash_of(const char *plural_group, const char *namespace_, const char *name) {
    return text_hash(text_hash(shard_hash(plural_group, namespace_), "/"), name);
}

static inline uint32_t shard_hash_at(uint64_t hash, uint32_t shards) {
    return shards < 2 ? 0 : (uint32_t)((hash ^ hash >> 32) % shards);
}

static inline bool shard_is_in(uint64_t mask, uint32_t shard) {
    return mask >> shard & 1;
}
