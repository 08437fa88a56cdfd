// SPDX-License-Identifier: Apache-2.0
// Finding members of large objects (node.h).
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/json/node.h"

#include <stdlib.h>
#include <string.h>

#define FILTER_CHARS 6    // of a key that its filter bit is made of
#define FINDER_LINEAR 256 // comparisons before a finder makes a map

static struct map *map_of(const cJSON *object) {
    struct map *map = malloc(sizeof *map);
    if (!map)
        return NULL;
    map_init(map, random_system());
    for (cJSON *member = object->child; member; member = member->next) {
        if (!map_put(map, member->string, member)) {
            map_free(map);
            free(map);
            return NULL;
        }
    }
    return map;
}

static void drop_map(struct map **map) {
    if (!*map)
        return;
    map_free(*map);
    free(*map);
    *map = NULL;
}

void finder_init(struct finder *finder, const cJSON *object) {
    *finder = (struct finder){.object = object, .hint = object->child};
}

void finder_cleanup(struct finder *finder) {
    drop_map(&finder->map);
}

static cJSON *search(struct finder *finder, const char *key) {
    if (finder->map)
        return map_get(finder->map, key);
    for (cJSON *member = finder->object->child; member; member = member->next) {
        finder->searched++;
        if (strcmp(member->string, key) == 0)
            return member;
    }
    return NULL;
}

cJSON *finder_get(struct finder *finder, const char *key) {
    cJSON *found = finder->hint;
    if (!found || strcmp(found->string, key) != 0) {
        if (!finder->map && finder->searched > FINDER_LINEAR) {
            finder->map = map_of(finder->object);
            finder->searched = 0; // without memory for it: again after as many comparisons
        }
        found = search(finder, key);
    }
    if (found)
        finder->hint = found->next;
    return found;
}

void keys_free(struct keys *keys) {
    drop_map(&keys->map);
}

static uint64_t filter_bit(const char *key) {
    unsigned mix = 0;
    for (size_t i = 0; i < FILTER_CHARS && key[i] != '\0'; i++)
        mix = mix * 31U + (unsigned char)key[i];
    return UINT64_C(1) << ((mix ^ (mix >> 6U)) & 63U);
}

cJSON *keys_find(const struct keys *keys, const cJSON *object, const char *key) {
    if (keys->map)
        return map_get(keys->map, key);
    if (!(keys->filter & filter_bit(key)))
        return NULL;
    for (cJSON *member = object->child; member; member = member->next)
        if (strcmp(member->string, key) == 0)
            return member;
    return NULL;
}

bool keys_add(struct keys *keys, const cJSON *object, cJSON *member, bool replaced) {
    if (keys->map)
        return map_put(keys->map, member->string, member);
    keys->filter |= filter_bit(member->string);
    if (replaced || ++keys->count < KEYS_LINEAR)
        return true;
    keys->map = map_of(object);
    return keys->map != NULL;
}
