// SPDX-License-Identifier: Apache-2.0
#include "tests/world/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_oom(void) {
    fputs("world: out of memory\n", stderr);
    abort();
}

void *world_alloc(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        world_oom();
    return memory;
}

void *world_resize(void *memory, size_t size) {
    void *bigger = realloc(memory, size ? size : 1);
    if (!bigger)
        world_oom();
    return bigger;
}

char *world_strdup(const char *text) {
    char *copy = strdup(text);
    if (!copy)
        world_oom();
    return copy;
}

struct json *world_json_copy(const struct json *value) {
    struct json *copy = json_copy(value);
    if (!copy)
        world_oom();
    return copy;
}

void world_json_set(struct json *object, const char *key, struct json *value) {
    if (!json_set(object, key, value))
        world_oom();
}

void world_set_text(struct json *object, const char *key, const char *text) {
    world_json_set(object, key, json_new_string(text));
}

void world_set_int(struct json *object, const char *key, int64_t number) {
    world_json_set(object, key, json_new_int64(number));
}

struct json *world_json_child(struct json *object, const char *key) {
    struct json *child = json_get(object, key);
    if (json_is(child, JSON_OBJECT))
        return child;
    world_json_set(object, key, json_new_object());
    return json_get(object, key);
}
