// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/pod_shape.h"

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/pod_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX ((size_t)64 << 10)

void pod_shapes_init(struct pod_shapes *shapes, uint64_t seed) {
    *shapes = (struct pod_shapes){.count = 0};
    map_init(&shapes->by_key, seed);
}

static void free_shape(struct pod_shape *shape) {
    if (!shape)
        return;
    free(shape->key);
    free(shape->amounts);
    free(shape->labels);
    free(shape->tolerations);
    free(shape);
}

void pod_shapes_free(struct pod_shapes *shapes) {
    for (size_t i = 0; i < shapes->count; i++)
        free_shape(shapes->list[i]);
    free(shapes->list);
    map_free(&shapes->by_key);
    for (size_t i = 0; i < shapes->n_resources; i++)
        free(shapes->resources[i]);
}

// SHAPE_RESOURCES: there is no room, or no memory.
static size_t resource_of(struct pod_shapes *shapes, const char *name) {
    size_t i = 0;
    while (i < shapes->n_resources && strcmp(shapes->resources[i], name) != 0)
        i++;
    if (i < shapes->n_resources || i == SHAPE_RESOURCES)
        return i;
    shapes->resources[i] = strdup(name);
    if (!shapes->resources[i])
        return SHAPE_RESOURCES;
    return shapes->n_resources++;
}

// In the order of their numbers.
static bool read_amounts(struct pod_shapes *shapes, const struct json *spec, struct pod_shape *out) {
    int64_t amounts[SHAPE_RESOURCES] = {0};
    struct resource_list list;
    pod_request_read(spec, NULL, &list);
    for (size_t i = 0; i < list.count; i++) {
        size_t resource = resource_of(shapes, list.items[i].name);
        if (resource < SHAPE_RESOURCES)
            amounts[resource] = list.items[i].amount;
    }
    out->amounts = calloc(shapes->n_resources + 1, sizeof *out->amounts);
    for (uint32_t i = 0; out->amounts && i < shapes->n_resources; i++)
        if (amounts[i] > 0)
            out->amounts[out->n_amounts++] = (struct shape_amount){i, amounts[i]};
    return out->amounts;
}

static size_t size_of(const struct json *value, enum json_type type) {
    return json_is(value, type) ? json_size(value) : 0;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool read_labels(const struct json *selector, struct pod_shape *out) {
    size_t count = size_of(selector, JSON_OBJECT);
    out->labels = calloc(count + 1, sizeof *out->labels);
    for (const struct json *m = out->labels && count > 0 ? json_first(selector) : NULL; m; m = json_next(m))
        out->labels[out->n_labels++] = nodes_hash(json_key(m), json_string_or(m, ""));
    if (out->labels)
        qsort(out->labels, out->n_labels, sizeof *out->labels, compare);
    return out->labels;
}

// core/v1 Toleration: no key with the operator Exists matches every taint.
static bool read_toleration(const struct json *toleration, struct shape_toleration *out) {
    const char *key = json_string_or(json_get(toleration, "key"), "");
    const char *effect = json_string_or(json_get(toleration, "effect"), "");
    bool exists = text_equal(json_string(json_get(toleration, "operator")), "Exists");
    if (*key == '\0' && !exists)
        return false;
    out->key = *key ? nodes_hash(key, NULL) : 0;
    out->value = exists ? 0 : nodes_hash(json_string_or(json_get(toleration, "value"), ""), NULL);
    out->effect = strcmp(effect, "NoSchedule") == 0  ? TAINT_NO_SCHEDULE
                  : strcmp(effect, "NoExecute") == 0 ? TAINT_NO_EXECUTE
                                                     : TAINT_ANY;
    return *effect == '\0' || out->effect != TAINT_ANY;
}

static bool read_tolerations(const struct json *tolerations, struct pod_shape *out) {
    size_t count = size_of(tolerations, JSON_ARRAY);
    out->tolerations = calloc(count + 1, sizeof *out->tolerations);
    for (const struct json *t = out->tolerations && count > 0 ? json_first(tolerations) : NULL; t; t = json_next(t))
        if (read_toleration(t, &out->tolerations[out->n_tolerations]))
            out->n_tolerations++;
    return out->tolerations;
}

static bool write_key(struct pod_shape *shape) {
    AUTO_BUFFER(key, KEY_MAX);
    for (size_t i = 0; i < shape->n_amounts; i++)
        buffer_printf(&key, "%" PRIu32 "=%" PRId64 " ", shape->amounts[i].resource, shape->amounts[i].amount);
    for (size_t i = 0; i < shape->n_labels; i++)
        buffer_printf(&key, "l%" PRIx32, shape->labels[i]);
    for (size_t i = 0; i < shape->n_tolerations; i++)
        buffer_printf(&key, "t%" PRIx32 ".%" PRIx32 ".%d", shape->tolerations[i].key, shape->tolerations[i].value,
                      (int)shape->tolerations[i].effect);
    shape->key = buffer_take(&key, NULL);
    return shape->key;
}

static bool keep(struct pod_shapes *shapes, struct pod_shape *shape) {
    size_t number = 0;
    while (number < shapes->count && shapes->list[number])
        number++;
    if (!array_reserve(&shapes->list, &shapes->capacity, number + 1, sizeof(struct pod_shape *)) ||
        !map_put(&shapes->by_key, shape->key, shape))
        return false;
    shape->number = (uint32_t)number;
    shapes->list[number] = shape;
    shapes->count = number < shapes->count ? shapes->count : number + 1;
    return true;
}

struct pod_shape *pod_shape_take(struct pod_shapes *shapes, const struct json *spec) {
    struct pod_shape *shape = calloc(1, sizeof *shape);
    if (!shape || !read_amounts(shapes, spec, shape) || !read_labels(json_get(spec, "nodeSelector"), shape) ||
        !read_tolerations(json_get(spec, "tolerations"), shape) || !write_key(shape)) {
        free_shape(shape);
        return NULL;
    }
    struct pod_shape *known = map_get(&shapes->by_key, shape->key);
    if (known || !keep(shapes, shape)) {
        free_shape(shape);
        shape = known;
    }
    if (shape)
        shape->refs++;
    return shape;
}

bool pod_shape_give(struct pod_shapes *shapes, struct pod_shape *shape) {
    if (--shape->refs > 0)
        return false;
    (void)map_remove(&shapes->by_key, shape->key);
    shapes->list[shape->number] = NULL;
    free_shape(shape);
    return true;
}

static bool has_label(const struct nodes *nodes, const struct node_marks *marks, uint32_t label) {
    for (uint32_t i = 0; i < marks->n_labels; i++)
        if (nodes->labels[marks->first_label + i] == label)
            return true;
    return false;
}

static bool tolerates(const struct pod_shape *shape, const struct node_taint *taint) {
    for (size_t i = 0; i < shape->n_tolerations; i++) {
        const struct shape_toleration *t = &shape->tolerations[i];
        if ((!t->key || t->key == taint->key) && (!t->value || t->value == taint->value) &&
            (t->effect == TAINT_ANY || t->effect == taint->effect))
            return true;
    }
    return false;
}

bool pod_shape_allowed(const struct pod_shape *shape, const struct nodes *nodes, size_t node) {
    const struct node_marks *marks = &nodes->marks[node];
    for (size_t i = 0; i < shape->n_labels; i++)
        if (!has_label(nodes, marks, shape->labels[i]))
            return false;
    for (uint32_t i = 0; i < marks->n_taints; i++)
        if (!tolerates(shape, &nodes->taints[marks->first_taint + i]))
            return false;
    return true;
}
