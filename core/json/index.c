// SPDX-License-Identifier: Apache-2.0
// Lookups in containers (node.h). Most are small and searched linearly. A container with several long searches gets an
// index, so that any number of lookups in one document stays linear in the size: of an object's members by key, of an
// array's items by position. An index takes 32 to 96 bytes per member, or 8 to 16 per item, and is freed with the
// container. Without memory for an index, lookups stay linear.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/node.h"

#define INDEX_FAR 64          // members passed that make a search a long one
#define INDEX_FAR_SEARCHES 8U // before there is an index
#define INDEX_WIDE 1024       // members of an object that keeps an index after parsing

struct index {
    struct map members; // of an object: key -> node
    cJSON **items;      // of an array
    size_t count, capacity;
    size_t last; // position of the last item found, which is usually the one removed or replaced

    // For an array with all items in the array's arena: the items by one member (index.c).
    struct json_index keyed;
    char *keyed_by;      // that member's key; NULL: there is none
    size_t version;      // the arena's at the creation of the index: no item has changed since
    unsigned unanswered; // far searches for an item by a member since the creation
};

static void index_drop_keyed(struct index *index) {
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

static bool index_child(struct index *index, const cJSON *container, cJSON *child) {
    if (node_type(container) == cJSON_Object)
        return map_put(&index->members, child->string, child);
    if (!array_reserve(&index->items, &index->capacity, index->count + 1, sizeof(cJSON *)))
        return false;
    index->items[index->count++] = child;
    return true;
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

static void index_note_far_search(const cJSON *container) {
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

// The index to update after a change, or NULL. Each change outdates an index of items by a member: the container's, and
// the one that the container is an item of.
static struct index *changed_index(const cJSON *container) {
    struct index *index = node_index(container);
    if (node_has(container, NODE_KEYED))
        arena_note_change(node_arena(container));
    if (index)
        index_drop_keyed(index);
    return index;
}

void index_added(cJSON *container, cJSON *child) {
    struct index *index = changed_index(container);
    if (index && !index_child(index, container, child))
        index_drop(container);
}

// The position of an item if known without a search. False: unknown.
static bool find_item(struct index *index, const cJSON *item) {
    if (index->count > 0 && index->items[index->count - 1] == item)
        index->last = index->count - 1;
    return index->last < index->count && index->items[index->last] == item;
}

void index_removed(cJSON *container, const cJSON *child) {
    struct index *index = changed_index(container);
    if (!index)
        return;
    if (node_type(container) == cJSON_Object) {
        map_remove(&index->members, child->string);
    } else if (find_item(index, child)) {
        cJSON **item = &index->items[index->last];
        index->count--;
        memmove(item, item + 1, (index->count - index->last) * sizeof(cJSON *));
    } else {
        index_drop(container);
    }
}

void index_replaced(cJSON *container, const cJSON *old, cJSON *child) {
    struct index *index = changed_index(container);
    if (!index)
        return;
    bool array = node_type(container) == cJSON_Array;
    if (array && find_item(index, old))
        index->items[index->last] = child;
    else if (array || !map_put(&index->members, child->string, child))
        index_drop(container);
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

// -- items by a member (json.h) --

bool json_index_init(struct json_index *index, const struct json *array, const char *key) {
    size_t count = json_is(array, JSON_ARRAY) ? json_size(array) : 0, at = 0;
    *index = (struct json_index){.all = count > 0 ? calloc(count, sizeof *index->all) : NULL};
    if (count == 0)
        return true;
    map_init(&index->places, random_system());
    bool ok = index->all && map_reserve(&index->places, count);
    for (struct json *item = json_first(array); item && ok; item = json_next(item), at++) {
        struct json_place *place = &index->all[at];
        const char *text = json_string(json_get(item, key));
        *place = (struct json_place){.item = item, .at = at};
        ok = !text || map_get(&index->places, text) || map_put(&index->places, text, place);
    }
    if (!ok)
        json_index_free(index);
    return ok;
}

void json_index_free(struct json_index *index) {
    map_free(&index->places);
    free(index->all);
    *index = (struct json_index){0};
}

const struct json_place *json_index_find(const struct json_index *index, const char *text) {
    return text ? map_get(&index->places, text) : NULL;
}

// Marks all items, so that their changes are recorded; this is impossible for an item outside the array's arena.
static bool mark(const cJSON *array) {
    for (cJSON *item = array->child; item; item = item->next) {
        if (node_type(item) != cJSON_Object)
            continue;
        if (!node_has(item, NODE_IN_ARENA) || node_arena(item) != node_arena(array))
            return false;
        node_mark(item, NODE_KEYED);
    }
    return true;
}

static void make_keyed(const cJSON *array, struct index *index, const char *key) {
    index_drop_keyed(index);
    index->unanswered = 0;
    if (!node_has(array, NODE_IN_ARENA) || !mark(array))
        return;
    index->version = arena_version(node_arena(array));
    char *copy = strdup(key);
    if (copy && json_index_init(&index->keyed, node_json_const(array), key))
        index->keyed_by = copy;
    else
        free(copy);
}

static const struct index *keyed_index(const cJSON *array, const char *key) {
    const struct index *index = node_index(array);
    bool answers = index && index->keyed_by && strcmp(index->keyed_by, key) == 0 &&
                   index->version == arena_version(node_arena(array));
    return answers ? index : NULL;
}

static void note_far_search(const cJSON *array, const char *key) {
    struct index *index = node_index(array);
    if (!index)
        index_note_far_search(array);
    else if (++index->unanswered >= INDEX_FAR_SEARCHES)
        make_keyed(array, index, key);
}

struct json *json_find_item(const struct json *array, const char *key, const char *text) {
    if (!key || !text || !json_is(array, JSON_ARRAY))
        return NULL;
    const struct index *index = keyed_index(node_of_const(array), key);
    if (index) {
        const struct json_place *place = json_index_find(&index->keyed, text);
        return place ? place->item : NULL;
    }
    size_t passed = 0;
    struct json *item = json_first(array);
    for (; item; item = json_next(item), passed++) {
        const char *found = json_string(json_get(item, key));
        if (found && strcmp(found, text) == 0)
            break;
    }
    if (passed > INDEX_FAR)
        note_far_search(node_of_const(array), key);
    return item;
}
