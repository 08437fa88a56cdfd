// SPDX-License-Identifier: Apache-2.0
// The index of a wide container (index.c), for lookups other than by key or position. Internal to core/json.
#pragma once

#include "core/base/map.h"
#include "core/json/items.h"
#include "core/json/node.h"

#define INDEX_FAR 64          // members passed that make a search a long one
#define INDEX_FAR_SEARCHES 8U // before there is an index
#define INDEX_WIDE 1024       // members of an object that keeps an index after parsing

struct index {
    struct map members; // of an object: key -> node
    cJSON **items;      // of an array
    size_t count, capacity;
    size_t last; // position of the last item found, which is usually the one removed or replaced

    // For an array with all items in the array's arena: the items by one member (items.c).
    struct json_index keyed;
    char *keyed_by;      // that member's key; NULL: there is none
    size_t version;      // the arena's at the creation of the index: no item has changed since
    unsigned unanswered; // far searches for an item by a member since the creation
};

// Must be called after a long search in a container without an index: the eighth creates one.
void index_note_far_search(const cJSON *container);
void index_drop_keyed(struct index *index);
