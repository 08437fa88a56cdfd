// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/free_capacity.h"

#include "core/base/memory.h"
#include "core/kube/object/object.h"

#include <inttypes.h>

#define KEY_MAX ((size_t)64 << 10)

// Comparisons of waiting pods with nodes for each view. Pods that fit nowhere cost most and take nothing: the engine
// leaves further pods out, so that one worker does not keep the engine busy.
#define WAITING_STEPS ((size_t)1 << 20)

struct need { // the request of one pod, by the nodes' numbers of resources
    size_t count;
    struct amount items[NODES_RESOURCES];
};

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

// Free capacity ------------------------------------------------------------------------------------------------

void free_capacity_clear(struct free_capacity *spare) {
    nodes_free(TAKE(spare->nodes));
    free(TAKE(spare->left));
}

bool free_capacity_set(struct free_capacity *spare, struct nodes *nodes) {
    free_capacity_clear(spare);
    spare->left = calloc(nodes->count * nodes->names.count + 1, sizeof *spare->left);
    if (!spare->left) {
        nodes_free(nodes);
        return false;
    }
    spare->nodes = nodes;
    free_capacity_reset(spare);
    return true;
}

static int64_t *left_of(const struct free_capacity *spare, size_t node) {
    return spare->left + node * spare->nodes->names.count;
}

// How many such pods fit onto the node, at most `most`.
static int64_t fit(const int64_t *left, const struct amount *need, size_t count, int64_t most) {
    for (size_t i = 0; i < count; i++)
        if (left[need[i].resource] < need[i].amount)
            return 0;
    for (size_t i = 0; i < count; i++) {
        int64_t pods = left[need[i].resource] / need[i].amount;
        most = pods < most ? pods : most;
    }
    return most;
}

static void subtract(int64_t *left, const struct amount *need, size_t count, int64_t pods) {
    for (size_t i = 0; i < count; i++)
        left[need[i].resource] -= need[i].amount * pods; // no more than is left
}

static void take_waiting(struct free_capacity *spare, const struct waiting_pods *waiting, size_t *steps) {
    const struct amounts *request = waiting->request;
    int64_t rest = waiting->count;
    for (size_t n = 0; n < spare->nodes->count && rest > 0 && *steps > 0; n++, --*steps) {
        int64_t pods = fit(left_of(spare, n), request->items, request->count, rest);
        subtract(left_of(spare, n), request->items, request->count, pods);
        rest -= pods;
    }
}

void free_capacity_reset(struct free_capacity *spare) {
    const struct nodes *nodes = spare->nodes;
    memcpy(spare->left, nodes->left, nodes->count * nodes->names.count * sizeof *spare->left);
    size_t steps = WAITING_STEPS;
    for (size_t w = 0; w < nodes->n_waiting && steps > 0; w++)
        take_waiting(spare, &nodes->waiting[w], &steps);
    spare->stamp = ++spare->shapes->stamp;
}

static struct shape_memo *memo_of(const struct free_capacity *spare, struct pod_shape *shape) {
    return array_reserve(&shape->memos, &shape->n_memos, spare->worker + 1, sizeof *shape->memos)
               ? &shape->memos[spare->worker]
               : NULL;
}

// The number of a resource among the nodes', or NODES_RESOURCES.
static size_t column_of(const struct free_capacity *spare, uint32_t resource) {
    return resource_names_find(&spare->nodes->names, spare->shapes->names.list[resource]);
}

// False: no node offers one of the resources.
static bool need_of(const struct free_capacity *spare, const struct pod_shape *shape, struct need *out) {
    for (out->count = 0; out->count < shape->request->count; out->count++) {
        const struct amount *amount = &shape->request->items[out->count];
        size_t column = column_of(spare, amount->resource);
        if (column == NODES_RESOURCES)
            return false;
        out->items[out->count] = (struct amount){(uint32_t)column, amount->amount};
    }
    return true;
}

// Takes the pods off `left`: spare->left, or for an attempt a copy, or NULL: only counts. `first`: the copy still
// equals spare->left.
static int64_t take(const struct free_capacity *spare, int64_t *left, const struct pod_set *set, bool first) {
    const int64_t *from = left ? left : spare->left;
    struct shape_memo *memo = memo_of(spare, set->shape);
    struct need need;
    if (!memo || (memo->stamp == spare->stamp && memo->most == 0) || !need_of(spare, set->shape, &need))
        return 0;
    size_t count = spare->nodes->count, width = spare->nodes->names.count, at = memo->hint < count ? memo->hint : 0;
    int64_t rest = set->count;
    for (size_t i = 0; i < count && rest > 0; i++, at = at + 1 < count ? at + 1 : 0) {
        int64_t pods = fit(from + at * width, need.items, need.count, rest);
        if (pods == 0 || !node_marks_permit(set->shape->marks, spare->nodes->marks[at]))
            continue;
        if (left)
            subtract(left + at * width, need.items, need.count, pods);
        memo->hint = at;
        rest -= pods;
    }
    if (rest > 0 && first) {
        memo->stamp = spare->stamp;
        memo->most = left == spare->left ? 0 : set->count - rest;
    }
    return set->count - rest;
}

int64_t free_capacity_take(struct free_capacity *spare, const struct pod_set *set) {
    return take(spare, spare->left, set, true);
}

// Attempts to take the pods of all sets; returns the index of the first set that does not fit, with the number of its
// pods that fit, or n_sets. One set needs no copy. Without memory, nothing fits.
static size_t try_all(const struct free_capacity *spare, const struct pod_set *sets, size_t n_sets, int64_t *pods) {
    size_t size = spare->nodes->count * spare->nodes->names.count * sizeof *spare->left, i = 0;
    int64_t *left = n_sets > 1 ? malloc(size + 1) : NULL;
    *pods = 0;
    if (n_sets > 1 && !left)
        return 0;
    if (left)
        memcpy(left, spare->left, size);
    for (; i < n_sets; i++) {
        *pods = take(spare, left, &sets[i], i == 0);
        if (*pods < sets[i].count)
            break;
    }
    free(left);
    return i;
}

bool free_capacity_fits(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets) {
    int64_t pods = 0;
    for (size_t i = 0; i < n_sets; i++) {
        const struct shape_memo *memo = memo_of(spare, sets[i].shape);
        if (memo && memo->stamp == spare->stamp && memo->most < sets[i].count)
            return false;
    }
    return try_all(spare, sets, n_sets, &pods) == n_sets;
}

// Explanations -------------------------------------------------------------------------------------------------

static bool is_permitted_somewhere(const struct free_capacity *spare, const struct pod_shape *shape) {
    for (size_t n = 0; n < spare->nodes->count; n++)
        if (node_marks_permit(shape->marks, spare->nodes->marks[n]))
            return true;
    return false;
}

static int64_t requested_by(const struct pod_shape *shape, uint32_t resource) {
    for (size_t i = 0; i < shape->request->count; i++)
        if (shape->request->items[i].resource == resource)
            return shape->request->items[i].amount;
    return 0;
}

// The sum over the nodes that such pods may use.
static int64_t left_for(const struct free_capacity *spare, const struct pod_shape *shape, uint32_t resource) {
    size_t column = column_of(spare, resource);
    int64_t sum = 0;
    for (size_t n = 0; n < spare->nodes->count && column < NODES_RESOURCES; n++)
        if (left_of(spare, n)[column] > 0 && node_marks_permit(shape->marks, spare->nodes->marks[n]))
            sum = int64_plus(sum, left_of(spare, n)[column]);
    return sum;
}

// The resource with the greatest missing part. False: the sums suffice.
static bool put_shortage(const struct free_capacity *spare, const struct pod_set *sets, size_t n_sets,
                         struct buffer *out) {
    const char *worst = NULL;
    int64_t lacking = 0;
    double most = 0;
    for (uint32_t r = 0; r < spare->shapes->names.count; r++) {
        int64_t wanted = 0, left = 0;
        for (size_t i = 0; i < n_sets; i++) {
            int64_t amount = requested_by(sets[i].shape, r);
            wanted = int64_plus(wanted, int64_times(amount, sets[i].count));
            left = amount > 0 ? left_for(spare, sets[i].shape, r) : left;
        }
        double part = wanted > left ? 1 - (double)left / (double)wanted : 0;
        if (part <= most)
            continue;
        most = part;
        worst = spare->shapes->names.list[r];
        lacking = wanted - left;
    }
    if (!worst)
        return false;
    buffer_text(out, "lacks ");
    quantity_put(out, worst, lacking);
    buffer_printf(out, " %s", worst);
    return true;
}

void free_capacity_explain(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets, struct buffer *out) {
    int64_t pods = 0;
    if (spare->nodes->count == 0) {
        buffer_text(out, "has no node that takes pods");
        return;
    }
    for (size_t i = 0; i < n_sets; i++)
        if (!is_permitted_somewhere(spare, sets[i].shape)) {
            buffer_text(out, "no node for its nodeSelector, tolerations");
            return;
        }
    if (put_shortage(spare, sets, n_sets, out))
        return;
    size_t i = try_all(spare, sets, n_sets, &pods);
    if (i < n_sets)
        buffer_printf(out, "nodes have room for %" PRId64 " of %" PRId64 " pods", pods, sets[i].count);
}

unsigned free_capacity_fullness(const struct free_capacity *spare, const struct pod_set *sets, size_t n_sets) {
    double most = 0;
    for (size_t i = 0; i < n_sets; i++)
        for (size_t a = 0; a < sets[i].shape->request->count; a++) {
            size_t column = column_of(spare, sets[i].shape->request->items[a].resource);
            double all = column < NODES_RESOURCES ? (double)spare->nodes->allocatable[column] : 0, left = 0;
            for (size_t n = 0; all > 0 && n < spare->nodes->count; n++)
                left += (double)left_of(spare, n)[column];
            double used = all > 0 ? 1 - left / all : 0;
            most = used > most ? used : most;
        }
    return most >= 1 ? 1000U : (unsigned)(1000 * most);
}
