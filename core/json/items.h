// SPDX-License-Identifier: Apache-2.0
// The items of an array by the member that tells them apart, as containers by their name. An index is made in one pass
// and then finds each item in constant time; it is for an array that does not change as long as it is used. (An
// object's members and an array's positions need none: json_get and json_at are quick in wide containers by
// themselves.)
#ifndef WHARF_JSON_ITEMS_H
#define WHARF_JSON_ITEMS_H

#include "core/base/map.h"
#include "core/json/json.h"

// The first item that is an object whose member `key` is the string `text`, or NULL. Many such searches in one wide
// array that was read or copied take constant time each, as long as its items stay as they are.
struct json *json_find_item(const struct json *array, const char *key, const char *text);

// For what is looked up in a loop anyway, and for positions:
struct json_index {
    struct map places; // text -> struct json_place
    struct json_place *all;
};

struct json_place {
    struct json *item;
    size_t at; // its position in the array
};

// Of all items that are objects with a string as their member `key`; of several with the same one, the first. An index
// of what is no array is empty. False when out of memory: nothing to free.
bool json_index_init(struct json_index *index, const struct json *array, const char *key);
void json_index_free(struct json_index *index); // for __attribute__((cleanup)) too; also for zeros

// NULL if there is none. `text` may be NULL.
const struct json_place *json_index_find(const struct json_index *index, const char *text);

#endif
