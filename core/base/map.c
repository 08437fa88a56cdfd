// SPDX-License-Identifier: Apache-2.0
#include "core/base/map.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST 8

static const char map_tombstone[1] = "";

void map_init(struct map *map, uint64_t seed) {
    *map = (struct map){.seed = seed};
}

void map_free(struct map *map) {
    free(map->slots);
    map_init(map, map->seed);
}

void map_free_values(struct map *map) {
    size_t cursor = 0;
    for (void *value; (value = map_next(map, &cursor));)
        free(value);
    map_free(map);
}

static uint64_t rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

__attribute__((always_inline)) static inline void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

// SipHash-1-3 (Aumasson and Bernstein): keyed, so that collisions cannot be computed without the seed. Both halves of
// the key come from the one seed.
static uint32_t hash_key(const struct map *map, const char *key, size_t len) {
    uint64_t k0 = map->seed;
    uint64_t k1 = map->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t at = 0;
    for (; len - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, key + at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)len << 56;
    for (size_t i = 0; at + i < len; i++)
        last |= (uint64_t)(unsigned char)key[at + i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];
    return (uint32_t)(hash ^ (hash >> 32));
}

static struct map_slot *find(const struct map *map, const char *key, size_t len, uint32_t hash) {
    if (map->capacity == 0)
        return NULL;
    size_t mask = map->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_slot *slot = &map->slots[i];
        if (!slot->key)
            return NULL;
        if (slot->hash == hash)
            __builtin_prefetch(slot->value); // read next, and not adjacent to the key
        if (slot->key != map_tombstone && slot->hash == hash && strncmp(slot->key, key, len) == 0 &&
            slot->key[len] == '\0')
            return slot;
    }
}

void *map_get_len(const struct map *map, const char *key, size_t len) {
    if (map->count == 0)
        return NULL;
    const struct map_slot *slot = find(map, key, len, hash_key(map, key, len));
    return slot ? slot->value : NULL;
}

void *map_get(const struct map *map, const char *key) {
    return map_get_len(map, key, strlen(key));
}

static void insert_new(struct map_slot *slots, size_t capacity, const struct map_slot *entry) {
    size_t i = entry->hash & (capacity - 1);
    while (slots[i].key)
        i = (i + 1) & (capacity - 1);
    slots[i] = *entry;
}

// Moves the live entries to a table that is at most half full with `count` entries; this also removes the tombstones.
static bool rebuild(struct map *map, size_t count) {
    size_t capacity = SMALLEST;
    while (capacity / 2 < count)
        capacity *= 2;
    struct map_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key && map->slots[i].key != map_tombstone)
            insert_new(slots, capacity, &map->slots[i]);
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    map->used = map->count;
    return true;
}

bool map_reserve(struct map *map, size_t count) {
    return count * 2 <= map->capacity || rebuild(map, count);
}

bool map_put(struct map *map, const char *key, void *value) {
    size_t len = strlen(key);
    uint32_t hash = hash_key(map, key, len);
    struct map_slot *slot = find(map, key, len, hash);
    if (slot) {
        slot->key = key;
        slot->value = value;
        return true;
    }
    if ((map->used + 1) * 4 > map->capacity * 3 && !rebuild(map, map->count + 1))
        return false;
    insert_new(map->slots, map->capacity, &(struct map_slot){key, value, hash});
    map->count++;
    map->used++;
    return true;
}

void *map_remove(struct map *map, const char *key) {
    size_t len = strlen(key);
    struct map_slot *slot = find(map, key, len, hash_key(map, key, len));
    if (!slot)
        return NULL;
    void *value = slot->value;
    *slot = (struct map_slot){.key = map_tombstone};
    map->count--;
    // Tombstones at the end of a run are not needed: freeing them avoids frequent rebuilds when entries come and go.
    size_t mask = map->capacity - 1;
    size_t i = (size_t)(slot - map->slots);
    if (map->slots[(i + 1) & mask].key)
        return value;
    while (map->slots[i].key == map_tombstone) {
        map->slots[i].key = NULL;
        map->used--;
        i = (i - 1) & mask;
    }
    return value;
}

void *map_next(const struct map *map, size_t *cursor) {
    while (*cursor < map->capacity) {
        const struct map_slot *slot = &map->slots[(*cursor)++];
        if (slot->key && slot->key != map_tombstone)
            return slot->value;
    }
    return NULL;
}
