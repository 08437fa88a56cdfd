// SPDX-License-Identifier: Apache-2.0
// A hash map from byte-string keys to pointers (open addressing, linear probing). The map stores neither key nor value:
// a key must live as long as its entry, typically inside the value. Hashing is seeded per map, so that untrusted keys
// cannot be chosen to collide.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    const char *key; // NUL-terminated; NULL: never used; map_tombstone: removed
    void *value;
    uint32_t hash;
};

struct map {
    struct map_slot *slots;
    size_t capacity; // a power of two, or 0
    size_t count;    // live entries
    size_t used;     // live entries and tombstones
    uint64_t seed;
};

void map_init(struct map *map, uint64_t seed);
void map_free(struct map *map);        // frees the table only
void map_free_values(struct map *map); // frees the values too, each with free()

// NULL if absent.
void *map_get(const struct map *map, const char *key);
void *map_get_len(const struct map *map, const char *key, size_t len); // the key need not be NUL-terminated

// Reserves room for `count` entries. False when out of memory; nothing changed.
bool map_reserve(struct map *map, size_t count);

// Adds or replaces (then the key pointer is replaced too). False when out of memory: nothing changed.
bool map_put(struct map *map, const char *key, void *value);

// Returns the value that was removed, or NULL.
void *map_remove(struct map *map, const char *key);

// Iterates in table order: start with *cursor = 0; NULL at the end. Entries may be removed while iterating (the table
// does not move on removal), but not added.
void *map_next(const struct map *map, size_t *cursor);
