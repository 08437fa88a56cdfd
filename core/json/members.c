// SPDX-License-Identifier: Apache-2.0
// Finding members of large objects (node.h).
#include "core/json/node.h"

#include <string.h>

#define FILTER_CHARS 6 // characters of a key that determine its filter bit

void finder_init(struct finder *finder, const cJSON *object) {
    *finder = (struct finder){.object = object, .hint = object->child};
}

cJSON *finder_get(struct finder *finder, const char *key) {
    cJSON *found = finder->hint;
    if (!found || strcmp(found->string, key) != 0)
        found = node_member_named(finder->object, key);
    if (found)
        finder->hint = found->next;
    return found;
}

static uint64_t filter_bit(const char *key) {
    unsigned mix = 0;
    for (size_t i = 0; i < FILTER_CHARS && key[i] != '\0'; i++)
        mix = mix * 31U + (unsigned char)key[i];
    return UINT64_C(1) << ((mix ^ (mix >> 6U)) & 63U);
}

cJSON *keys_find(struct keys *keys, const cJSON *object, const char *key) {
    uint64_t bit = filter_bit(key);
    bool seen = (keys->filter & bit) != 0;
    keys->filter |= bit;
    return seen ? node_member_named(object, key) : NULL;
}
