// SPDX-License-Identifier: Apache-2.0
// Lookups in containers (node.h). Most are small and searched linearly. A container with several long searches gets an
// index, so that any number of lookups in one document stays linear in the size: of an object's members by key, of an
// array's items by position. An index takes 32 to 96 bytes per member, or 8 to 16 per item, and is freed with the
// container. Without memory for an index, lookups stay linear.
#include "core/json/index.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

void index_drop_keyed(struct index *index) {
    json_index_free(&index->keyed);
    free(index->keyed_by);
    index->keyed_by = NULL;
}

void index_drop(cJSON *container) {
    struct index *index = node_index(container);
    if (!index)
        return;
    index_drop_keyed(index);
    map_free(&index->members);
    free(index->items);
    free(index);
    node_set_index(container, NULL);
}

void index_drop_narrow(cJSON *container) {
    const struct index *index = node_index(container);
    if (index && index->members.count <= INDEX_WIDE)
        index_drop(container);
}

static bool push(struct index *index, cJSON *item) {
    if (!array_reserve(&index->items, &index->capacity, index->count + 1, sizeof(cJSON *)))
        return false;
    index->items[index->count++] = item;
    return true;
}

static bool index_child(struct index *index, const cJSON *container, cJSON *child) {
    return node_type(container) == cJSON_Object ? map_put(&index->members, child->string, child) : push(index, child);
}

static void build(cJSON *container) {
    struct index *index = calloc(1, sizeof *index);
    if (!index)
        return;
    map_init(&index->members, random_system());
    bool done = node_type(container) != cJSON_Object || map_reserve(&index->members, node_children(container));
    node_set_index(container, index);
    node_note_foreign(container, NULL); // the index must be freed separately
    for (cJSON *child = container->child; child && done; child = child->next)
        done = index_child(index, container, child);
    if (!done)
        index_drop(container);
}

void index_note_far_search(const cJSON *container) {
    if (node_has(container, NODE_FIXED))
        return;
    cJSON *searched = node_of(node_unconst(node_json_const(container)));
    unsigned searches = node_searches(searched);
    bool enough = searches == INDEX_FAR_SEARCHES;
    node_set_searches(searched, enough ? 0 : searches + 1);
    if (enough)
        build(searched);
}

cJSON *node_member(const cJSON *object, const char *key, size_t len) {
    const struct index *index = node_index(object);
    if (index)
        return map_get_len(&index->members, key, len);
    char first = len > 0 ? key[0] : '\0';
    size_t passed = 0;
    cJSON *member = object->child;
    for (; member; member = member->next, passed++) {
        const char *string = member->string;
        if (string[0] == first && strncmp(string, key, len) == 0 && string[len] == '\0')
            break;
    }
    if (passed > INDEX_FAR)
        index_note_far_search(object);
    return member;
}

cJSON *node_member_named(const cJSON *object, const char *key) {
    const struct index *index = node_index(object);
    if (index)
        return map_get(&index->members, key);
    size_t passed = 0;
    cJSON *member = object->child;
    for (; member; member = member->next, passed++)
        if (member->string[0] == key[0] && strcmp(member->string, key) == 0)
            break;
    if (passed > INDEX_FAR)
        index_note_far_search(object);
    return member;
}

cJSON *node_item(const cJSON *array, size_t at) {
    struct index *index = node_index(array);
    if (index) {
        index->last = at;
        return at < index->count ? index->items[at] : NULL;
    }
    cJSON *item = array->child;
    for (size_t left = at; item && left > 0; left--)
        item = item->next;
    if (at > INDEX_FAR)
        index_note_far_search(array);
    return item;
}

size_t node_children(const cJSON *node) {
    const struct index *index = node_is_container(node) ? node_index(node) : NULL;
    if (index)
        return node_type(node) == cJSON_Object ? index->members.count : index->count;
    size_t count = 0;
    for (const cJSON *child = node->child; child; child = child->next)
        count++;
    return count;
}

// An item's member changed: an index of items by a member is now outdated.
static void note_change(const cJSON *container) {
    if (node_has(container, NODE_KEYED))
        arena_note_change(node_arena(container));
}

void index_added(cJSON *container, cJSON *child) {
    struct index *index = node_index(container);
    note_change(container);
    if (!index)
        return;
    index_drop_keyed(index);
    if (!index_child(index, container, child))
        index_drop(container);
}

// The position of an item if known without a search. False: unknown.
static bool find_item(struct index *index, const cJSON *item) {
    if (index->count > 0 && index->items[index->count - 1] == item)
        index->last = index->count - 1;
    return index->last < index->count && index->items[index->last] == item;
}

void index_removed(cJSON *container, const cJSON *child) {
    struct index *index = node_index(container);
    note_change(container);
    if (!index)
        return;
    index_drop_keyed(index);
    if (node_type(container) == cJSON_Object) {
        map_remove(&index->members, child->string);
        return;
    }
    if (!find_item(index, child)) {
        index_drop(container);
        return;
    }
    cJSON **item = &index->items[index->last];
    index->count--;
    memmove(item, item + 1, (index->count - index->last) * sizeof(cJSON *));
}

void index_replaced(cJSON *container, const cJSON *old, cJSON *child) {
    struct index *index = node_index(container);
    note_change(container);
    if (!index)
        return;
    index_drop_keyed(index);
    if (node_type(container) == cJSON_Object) {
        if (!map_put(&index->members, child->string, child))
            index_drop(container);
    } else if (find_item(index, old)) {
        index->items[index->last] = child;
    } else {
        index_drop(container);
    }
}

void json_fix(struct json *value) {
    cJSON *node = node_of(value);
    if (!node || !node_is_container(node))
        return;
    index_drop(node);
    node_mark(node, NODE_FIXED);
    for (cJSON *child = node->child; child; child = child->next)
        json_fix(node_json(child));
}

// -- many lookups in one object --

#define FILTER_CHARS 6 // characters of a key that determine the filter bit

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
