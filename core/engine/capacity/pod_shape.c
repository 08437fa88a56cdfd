// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/pod_shape.h"

#include <stdlib.h>

#define KEY_MAX ((size_t)64 << 10)

void pod_shapes_init(struct pod_shapes *shapes, uint64_t seed) {
    *shapes = (struct pod_shapes){.stamp = 0};
    map_init(&shapes->by_key, seed);
}

static void free_shape(struct pod_shape *shape) {
    free(shape->key);
    free(shape->request);
    node_marks_unref(shape->marks);
    free(shape->memos);
    free(shape);
}

void pod_shapes_free(struct pod_shapes *shapes) {
    size_t cursor = 0;
    for (struct pod_shape *shape; (shape = map_next(&shapes->by_key, &cursor));)
        free_shape(shape);
    map_free(&shapes->by_key);
    resource_names_free(&shapes->names);
}

static char *key_of(const struct pod_shape *shape) {
    AUTO_BUFFER(key, KEY_MAX);
    amounts_put(shape->request, &key);
    for (size_t i = 0; i < shape->marks->count; i++) {
        const struct node_mark *mark = &shape->marks->items[i];
        buffer_printf(&key, "%x.%x.%d ", mark->key, mark->value, (int)mark->type);
    }
    return buffer_take(&key, NULL);
}

struct pod_shape *pod_shape_ref(struct pod_shapes *shapes, const struct json *spec) {
    struct resource_list list;
    pod_request_read(spec, NULL, &list);
    struct pod_shape *shape = calloc(1, sizeof *shape);
    if (!shape)
        return NULL;
    shape->request = amounts_new(&shapes->names, &list);
    shape->marks = node_marks_of_pod(json_get(spec, "nodeSelector"), json_get(spec, "tolerations"));
    shape->key = shape->request && shape->marks ? key_of(shape) : NULL;
    struct pod_shape *known = shape->key ? map_get(&shapes->by_key, shape->key) : NULL;
    if (!shape->key || known || !map_put(&shapes->by_key, shape->key, shape)) {
        free_shape(shape);
        shape = known;
    }
    if (shape)
        shape->refs++;
    return shape;
}

void pod_shape_unref(struct pod_shapes *shapes, struct pod_shape *shape) {
    if (--shape->refs > 0)
        return;
    (void)map_remove(&shapes->by_key, shape->key);
    free_shape(shape);
}
