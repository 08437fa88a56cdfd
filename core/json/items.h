// SPDX-License-Identifier: Apache-2.0
// Finds items of an array by an identifying member, such as a container's name. Building an index takes one pass, then
// each lookup takes constant time; the array must not change meanwhile. (Lookups by key and position need none:
// json_get and json_at are fast in wide containers, too.)
#pragma once

#include "core/base/map.h"
#include "core/json/json.h"

// The first item that is an object whose member `key` is the string `text`, or NULL. Repeated searches in a wide parsed
// or copied array take constant time each, as long as the items do not change.
struct json *json_find_item(const struct json *array, const char *key, const char *text);

// For lookups in a loop, and for positions:
struct json_index {
    struct map places; // text -> struct json_place
    struct json_place *all;
};

struct json_place {
    struct json *item;
    size_t at; // the position in the array
};

// Indexes all items that are objects with a string member `key`; of several with the same value, the first. If `array`
// is not an array, the index is empty. False when out of memory; nothing to free.
bool json_index_init(struct json_index *index, const struct json *array, const char *key);
void json_index_free(struct json_index *index); // for __attribute__((cleanup)) too; also for zeros

// NULL if not found. `text` may be NULL.
const struct json_place *json_index_find(const struct json_index *index, const char *text);
