// SPDX-License-Identifier: Apache-2.0
#include "core/json/items.h"

#include "core/base/text.h"

#include <stdlib.h>

bool json_index_init(struct json_index *index, const struct json *array, const char *key) {
    size_t count = json_is(array, JSON_ARRAY) ? json_size(array) : 0;
    *index = (struct json_index){.all = count > 0 ? calloc(count, sizeof *index->all) : NULL};
    if (count == 0)
        return true;
    if (!index->all)
        return false;
    map_init(&index->places, random_system());
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
