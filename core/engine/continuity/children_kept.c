// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/children_kept.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_map_of_objects(const struct json *map) {
    if (!json_is(map, JSON_OBJECT))
        return false;
    for (const struct json *m = json_first(map); m; m = json_next(m))
        if (!json_is(m, JSON_OBJECT))
            return false;
    return true;
}

struct json *kept_read(const char *annotation, const char *uid) {
    AUTO_JSON whole = NULL;
    if (!annotation || strnlen(annotation, KEPT_MAX + 1) > KEPT_MAX) // an author may have written a longer one
        return NULL;
    error_free(json_parse(annotation, strlen(annotation), &whole));
    struct json *children = json_get(whole, "children");
    if (!text_equal(json_string(json_get(whole, "uid")), uid) || !is_map_of_objects(children))
        return NULL;
    for (const struct json *m = json_first(children); m; m = json_next(m))
        if (!is_map_of_objects(m))
            return NULL;
    return json_detach(whole, "children");
}

const struct json *kept_of(const struct json *kept, const char *plural, const char *name) {
    return json_get(json_get(kept, plural), name);
}

bool kept_add(struct json *kept, const char *plural, const char *name, struct json *what) {
    struct json *of = json_get(kept, plural);
    if (!of && !json_set(kept, plural, json_new_object())) {
        json_free(what);
        return false;
    }
    return json_set(json_get(kept, plural), name, what);
}

// The size ----------------------------------------------------------------------------------------------------------

struct sized {
    struct json *map, *child;
    size_t size;
};

static int by_size(const void *a, const void *b) {
    size_t left = ((const struct sized *)a)->size, right = ((const struct sized *)b)->size;
    return left < right ? 1 : left > right ? -1 : 0;
}

static size_t count_children(const struct json *kept) {
    size_t count = 0;
    for (const struct json *map = json_first(kept); map; map = json_next(map))
        count += json_size(map);
    return count;
}

// Removes the largest children, of at least `excess` bytes together. False: out of memory.
static bool drop_largest(struct json *kept, size_t excess, size_t *dropped) {
    size_t count = count_children(kept), at = 0;
    struct sized *all = calloc(count + 1, sizeof *all);
    bool ok = all;
    for (struct json *map = json_first(kept); map && ok; map = json_next(map))
        for (struct json *child = json_first(map); child && ok; child = json_next(child)) {
            size_t len = 0;
            AUTO_TEXT text = json_text(child, &len);
            ok = text;
            all[at++] = (struct sized){map, child, len + strlen(json_key(child)) + strlen("\"\":,")};
        }
    if (ok)
        qsort(all, count, sizeof *all, by_size);
    for (size_t i = 0, freed = 0; ok && i < count && freed < excess; i++) {
        freed += all[i].size;
        json_remove_child(all[i].map, all[i].child);
        ++*dropped;
    }
    free(all);
    return ok;
}

static char *print(struct json *kept, const char *uid, size_t *len) {
    AUTO_JSON whole = json_new_object();
    if (!json_set(whole, "uid", json_new_string(uid)) || !json_set(whole, "children", json_copy(kept)))
        return NULL;
    return json_text(whole, len);
}

char *kept_print(struct json *kept, const char *uid, size_t max, size_t *dropped) {
    size_t len = 0;
    char *text = print(kept, uid, &len);
    *dropped = 0;
    while (text && len > max && count_children(kept) > 0) {
        free(text);
        text = drop_largest(kept, len - max, dropped) ? print(kept, uid, &len) : NULL;
    }
    return text;
}
