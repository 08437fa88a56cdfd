// SPDX-License-Identifier: Apache-2.0
#include "core/engine/shard/shard_of.h"

#include "core/engine/shard/shard_hash.h"

uint32_t shard_of(const struct engine *engine, const struct entry *entry) {
    if (engine->shard.count < 2)
        return 0;
    return shard_hash_at(shard_hash(engine->kinds[entry->kind]->plural_group, entry->key), engine->shard.count);
}

uint64_t shard_mask(const struct engine *engine) {
    uint64_t mask = 0;
    if (!engine->shard.list)
        return 1;
    for (uint32_t i = 0; i < engine->shard.count; i++)
        mask |= (uint64_t)engine->shard.list[i].open << i;
    return mask;
}

uint64_t shard_all(const struct engine *engine) {
    return engine->shard.count < 2 ? 1 : ~UINT64_C(0) >> (SHARDS_MAX - engine->shard.count);
}
