// SPDX-License-Identifier: Apache-2.0
#include "core/json/items.h"

#include "core/base/text.h"
#include "core/json/index.h"

#include <stdlib.h>
#include <string.h>

bool json_index_init(struct json_index *index, const struct json *array, const char *key) {
    size_t count = json_is(array, JSON_ARRAY) ? json_size(array) : 0;
    *index = (struct json_index){.all = count > 0 ? calloc(count, sizeof *index->all) : NULL};
    if (count == 0)
        return true;
    if (!index->all)
        return false;
    map_init(&index->places, random_system());
    if (!map_reserve(&index->places, count)) {
        json_index_free(index);
        return false;
    }
    size_t at = 0;
    for (struct json *item = json_first(array); item; item = json_next(item), at++) {
        struct json_place *place = &index->all[at];
        const char *text = json_string(json_get(item, key));
        *place = (struct json_place){.item = item, .at = at};
        if (text && !map_get(&index->places, text) && !map_put(&index->places, text, place)) {
            json_index_free(index);
            return false;
        }
    }
    return true;
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
