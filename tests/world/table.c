// SPDX-License-Identifier: Apache-2.0
#include "tests/world/view.h"

#include <string.h>

static struct json *new_table(const struct kind *kind, const char *version) {
    struct column columns[COLUMNS_MAX];
    size_t count = columns_of(kind, version, columns);
    struct json *table = json_new_object(), *definitions = json_new_array(), *rows = json_new_array();
    if (!table || !definitions || !rows)
        world_oom();
    world_set_text(table, "kind", "Table");
    world_set_text(table, "apiVersion", "meta.k8s.io/v1");
    world_json_set(table, "metadata", json_new_object());
    for (size_t i = 0; i < count; i++) {
        struct json *definition = json_new_object();
        if (!definition || !json_append(definitions, definition))
            world_oom();
        world_set_text(definition, "name", columns[i].name);
        world_set_text(definition, "type", columns[i].type);
        world_set_text(definition, "format", i == 0 && strcmp(columns[i].name, "Name") == 0 ? "name" : "");
        world_set_text(definition, "description", "");
        world_set_int(definition, "priority", columns[i].wide ? 1 : 0);
    }
    world_json_set(table, "columnDefinitions", definitions);
    world_json_set(table, "rows", rows);
    return table;
}

static void add_row(struct json *table, const struct kind *kind, const char *version, const struct json *object) {
    struct json *row = json_new_object(), *cells = json_new_array();
    if (!row || !cells || !json_append(json_get(table, "rows"), row))
        world_oom();
    columns_fill(kind, version, object, cells);
    world_json_set(row, "cells", cells);
    world_json_set(row, "object", view_metadata(object));
}

struct json *table_of_list(const struct kind *kind, const char *version, const struct json *list) {
    struct json *table = new_table(kind, version);
    const struct json *metadata = json_get(list, "metadata");
    if (metadata)
        world_json_set(table, "metadata", world_json_copy(metadata));
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        add_row(table, kind, version, item);
    return table;
}

struct json *table_of_object(const struct kind *kind, const char *version, const struct json *object) {
    struct json *table = new_table(kind, version);
    const char *at = json_string(json_path(object, "metadata", "resourceVersion", NULL));
    if (at)
        world_set_text(world_json_child(table, "metadata"), "resourceVersion", at);
    add_row(table, kind, version, object);
    return table;
}
