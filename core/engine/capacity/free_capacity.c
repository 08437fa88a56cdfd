// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/free_capacity.h"

#include "core/base/memory.h"
#include "core/base/saturate.h"
#include "core/kube/object/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Comparisons of waiting pods with nodes for each view. Pods that fit nowhere cost most and take nothing: the engine
// leaves further ones out, so that one worker does not keep the engine busy.
#define WAITING_STEPS ((size_t)1 << 20)

struct need { // the request of one pod, by the nodes' numbers of resources
    size_t count;
    struct amount items[NODES_RESOURCES];
};

static void forget_nodes(struct free_capacity *spare) {
    nodes_free(spare->nodes);
    free(spare->left);
    spare->nodes = NULL;
    spare->left = NULL;
}

void free_capacity_clear(struct free_capacity *spare) {
    forget_nodes(spare);
    free(spare->changes);
    spare->changes = NULL;
    spare->cap_changes = 0;
}

bool free_capacity_set(struct free_capacity *spare, struct nodes *nodes) {
    forget_nodes(spare);
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

static bool record(struct free_capacity *spare, size_t node, const struct need *need, int64_t pods, size_t *n_changes) {
    if (!array_reserve(&spare->changes, &spare->cap_changes, *n_changes + need->count, sizeof *spare->changes))
        return false;
    for (size_t i = 0; i < need->count; i++)
        spare->changes[(*n_changes)++] = (struct capacity_change){
            node * spare->nodes->names.count + need->items[i].resource, need->items[i].amount * pods};
    return true;
}

// With `n_changes` the changes are recorded, after so many others; without memory fewer pods are taken.
static int64_t take(struct free_capacity *spare, const struct pod_set *set, size_t *n_changes) {
    struct shape_memo *memo = memo_of(spare, set->shape);
    bool alone = !n_changes || *n_changes == 0;
    struct need need;
    if (!memo || (memo->stamp == spare->stamp && memo->most == 0) || !need_of(spare, set->shape, &need))
        return 0;
    size_t count = spare->nodes->count, at = memo->hint < count ? memo->hint : 0;
    int64_t rest = set->count;
    for (size_t i = 0; i < count && rest > 0; i++, at = at + 1 < count ? at + 1 : 0) {
        int64_t pods = fit(left_of(spare, at), need.items, need.count, rest);
        if (pods == 0 || !node_marks_permit(set->shape->marks, spare->nodes->marks[at]))
            continue;
        if (n_changes && !record(spare, at, &need, pods, n_changes))
            break;
        subtract(left_of(spare, at), need.items, need.count, pods);
        memo->hint = at;
        rest -= pods;
    }
    if (rest > 0 && alone) {
        memo->stamp = spare->stamp;
        memo->most = n_changes ? set->count - rest : 0;
    }
    return set->count - rest;
}

int64_t free_capacity_take(struct free_capacity *spare, const struct pod_set *set) {
    return take(spare, set, NULL);
}

static void undo(struct free_capacity *spare, size_t n_changes) {
    for (size_t i = 0; i < n_changes; i++)
        spare->left[spare->changes[i].at] += spare->changes[i].amount;
}

bool free_capacity_fits(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets) {
    for (size_t i = 0; i < n_sets; i++) {
        const struct shape_memo *memo = memo_of(spare, sets[i].shape);
        if (memo && memo->stamp == spare->stamp && memo->most < sets[i].count)
            return false;
    }
    size_t n_changes = 0;
    bool fits = true;
    for (size_t i = 0; i < n_sets && fits; i++)
        fits = take(spare, &sets[i], &n_changes) == sets[i].count;
    undo(spare, n_changes);
    return fits;
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

// On the nodes that such pods may use.
static int64_t left_for(const struct free_capacity *spare, const struct pod_shape *shape, uint32_t resource) {
    size_t column = column_of(spare, resource);
    int64_t sum = 0;
    for (size_t n = 0; n < spare->nodes->count && column < NODES_RESOURCES; n++)
        if (left_of(spare, n)[column] > 0 && node_marks_permit(shape->marks, spare->nodes->marks[n]))
            sum = int64_plus(sum, left_of(spare, n)[column]);
    return sum;
}

// The resource of which the greatest part is lacking. False: the sums suffice.
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
    size_t n_changes = 0;
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
    for (size_t i = 0; i < n_sets && out->len == 0; i++) {
        int64_t pods = take(spare, &sets[i], &n_changes);
        if (pods < sets[i].count)
            buffer_printf(out, "nodes have room for %" PRId64 " of %" PRId64 " pods", pods, sets[i].count);
    }
    undo(spare, n_changes);
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
