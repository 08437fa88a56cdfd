// SPDX-License-Identifier: Apache-2.0
// The JSONPath of additionalPrinterColumns, as far as CRDs use it.
#include "tests/world/view.h"

#include <string.h>

// Copies a member's name from `path` up to `end` characters that stop it, without the backslashes that escape dots.
static const char *read_name(const char *path, const char *stops, char name[256]) {
    size_t len = 0;
    for (; *path && !strchr(stops, *path); path++) {
        if (*path == '\\' && path[1])
            path++;
        if (len + 1 < 256)
            name[len++] = *path;
    }
    name[len] = '\0';
    return path;
}

// [?(@.type=="Ready")]: the first item that has it.
static const char *read_filter(const char *path, const struct json **value) {
    char name[256], wanted[256];
    path = read_name(path + strlen("?(@."), "= )", name);
    path += strspn(path, " =");
    if (*path != '"' && *path != '\'')
        return NULL;
    path = read_name(path + 1, *path == '"' ? "\"" : "'", wanted);
    const struct json *item = json_first(*value);
    while (item && !text_equal(json_string(json_get(item, name)), wanted))
        item = json_next(item);
    *value = item;
    path = strchr(path, ']');
    return path ? path + 1 : NULL;
}

static const char *read_bracket(const char *path, const struct json **value) {
    char text[256];
    int64_t index;
    if (text_has_prefix(path, "?(@."))
        return read_filter(path, value);
    if (*path == '\'' || *path == '"') {
        path = read_name(path + 1, *path == '"' ? "\"" : "'", text);
        *value = json_get(*value, text);
        return *path && path[1] == ']' ? path + 2 : NULL;
    }
    path = read_name(path, "]", text);
    if (*path != ']')
        return NULL;
    if (strcmp(text, "*") == 0)
        *value = json_first(*value);
    else
        *value = text_to_int64(text, &index) ? json_at(*value, (size_t)index) : NULL;
    return path + 1;
}

const struct json *jsonpath_find(const struct json *root, const char *path) {
    const struct json *value = root;
    char name[256];
    while (value && path && *path) {
        if (*path == '.') {
            path = read_name(path + 1, ".[", name);
            value = *name ? json_get(value, name) : value;
        } else if (*path == '[') {
            path = read_bracket(path + 1, &value);
        } else {
            return NULL;
        }
    }
    return path ? value : NULL;
}
