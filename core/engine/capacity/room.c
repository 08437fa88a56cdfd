// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/room.h"

#include "core/base/memory.h"
#include "core/base/saturate.h"
#include "core/kube/api/pod_request.h"
#include "core/kube/object/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOT_OFFERED UINT32_MAX // a column
// How often a waiting pod is compared with a node, each time. Those that fit nowhere cost most, and take nothing: so
// the pods beyond that are left out, rather than that one worker keeps the engine busy.
#define WAITING_STEPS ((size_t)1 << 20)

struct need { // of one pod, by columns of the nodes
    size_t count;
    bool impossible; // no node offers it
    size_t column[NODES_RESOURCES];
    int64_t amount[NODES_RESOURCES];
};

void room_free(struct room *room) {
    nodes_free(room->nodes);
    free(room->left);
    free(room->memos);
    free(room->taken);
    *room = (struct room){.nodes = NULL};
}

bool room_set(struct room *room, struct nodes *nodes) {
    nodes_free(room->nodes);
    free(room->left);
    room->nodes = NULL;
    room->left = calloc(nodes->count * nodes->n_resources + 1, sizeof *room->left);
    memset(room->columns, 0, sizeof room->columns);
    for (size_t i = 0; i < room->n_memos; i++)
        room->memos[i].hint = 0;
    if (!room->left) {
        nodes_free(nodes);
        return false;
    }
    room->nodes = nodes;
    room_reset(room);
    return true;
}

// The column of a resource, looked up once.
static uint32_t column_of(struct room *room, const struct pod_shapes *shapes, uint32_t resource) {
    uint32_t *column = &room->columns[resource];
    if (*column)
        return *column - 1;
    *column = NOT_OFFERED;
    for (uint32_t i = 0; i < room->nodes->n_resources; i++)
        if (strcmp(room->nodes->names[i], shapes->resources[resource]) == 0)
            *column = i + 1;
    return *column - 1;
}

static void need_of(struct room *room, const struct pod_shapes *shapes, const struct pod_shape *shape,
                    struct need *out) {
    out->count = 0;
    out->impossible = false;
    for (size_t i = 0; i < shape->n_amounts; i++) {
        uint32_t column = column_of(room, shapes, shape->amounts[i].resource);
        if (column == NOT_OFFERED - 1) {
            out->impossible = true;
            continue;
        }
        out->column[out->count] = column;
        out->amount[out->count++] = shape->amounts[i].amount;
    }
}

static int64_t *left_of(const struct room *room, size_t node) {
    return room->left + node * room->nodes->n_resources;
}

// How many such pods the node has room for, at most `most`.
static int64_t fit(const int64_t *left, const struct need *need, int64_t most) {
    for (size_t i = 0; i < need->count; i++)
        if (left[need->column[i]] < need->amount[i])
            return 0;
    for (size_t i = 0; i < need->count; i++) {
        int64_t pods = left[need->column[i]] / need->amount[i];
        most = pods < most ? pods : most;
    }
    return most;
}

static void subtract(int64_t *left, const struct need *need, int64_t pods) {
    for (size_t i = 0; i < need->count; i++)
        left[need->column[i]] -= need->amount[i] * pods; // no more than there is, or was taken
}

static void take_waiting(struct room *room, size_t waiting, size_t *steps) {
    const struct nodes *nodes = room->nodes;
    struct need need = {.count = 0};
    for (size_t i = 0; i < nodes->n_resources; i++)
        if (nodes->waiting[waiting * nodes->n_resources + i] > 0) {
            need.column[need.count] = i;
            need.amount[need.count++] = nodes->waiting[waiting * nodes->n_resources + i];
        }
    int64_t rest = nodes->waiting_count[waiting];
    for (size_t n = 0; n < nodes->count && rest > 0 && *steps > 0; n++, --*steps) {
        int64_t pods = fit(left_of(room, n), &need, rest);
        subtract(left_of(room, n), &need, pods);
        rest -= pods;
    }
}

void room_reset(struct room *room) {
    const struct nodes *nodes = room->nodes;
    memcpy(room->left, nodes->left, nodes->count * nodes->n_resources * sizeof *room->left);
    size_t steps = WAITING_STEPS;
    for (size_t w = 0; w < nodes->n_waiting && steps > 0; w++)
        take_waiting(room, w, &steps);
    room->grown++;
}

static struct room_memo *memo_of(struct room *room, const struct pod_shape *shape) {
    return array_reserve(&room->memos, &room->n_memos, shape->number + 1U, sizeof *room->memos)
               ? &room->memos[shape->number]
               : NULL;
}

void room_forget_shape(struct room *room, const struct pod_shape *shape) {
    if (shape->number < room->n_memos)
        room->memos[shape->number] = (struct room_memo){.grown = 0};
}

// Remembers what was taken after `n_taken` others; without memory for that, less is taken.
static int64_t take(struct room *room, const struct pod_shapes *shapes, const struct pod_set *set, size_t *n_taken) {
    struct room_memo *memo = memo_of(room, set->shape);
    if (!memo || (memo->grown == room->grown && memo->most == 0))
        return 0;
    struct need need;
    need_of(room, shapes, set->shape, &need);
    size_t count = need.impossible ? 0 : room->nodes->count, at = memo->hint < count ? memo->hint : 0;
    int64_t rest = set->count;
    for (size_t i = 0; i < count && rest > 0; i++, at = at + 1 < count ? at + 1 : 0) {
        int64_t pods = fit(left_of(room, at), &need, rest);
        if (pods == 0 || !pod_shape_allowed(set->shape, room->nodes, at))
            continue;
        if (n_taken && !array_reserve(&room->taken, &room->cap_taken, *n_taken + 1, sizeof *room->taken))
            break;
        if (n_taken)
            room->taken[(*n_taken)++] = (struct room_taken){at, pods, set->shape};
        subtract(left_of(room, at), &need, pods);
        memo->hint = at;
        rest -= pods;
    }
    return set->count - rest;
}

int64_t room_take(struct room *room, const struct pod_shapes *shapes, const struct pod_set *set) {
    return take(room, shapes, set, NULL);
}

static void give_back(struct room *room, const struct pod_shapes *shapes, size_t n_taken) {
    for (size_t i = 0; i < n_taken; i++) {
        struct need need;
        need_of(room, shapes, room->taken[i].shape, &need);
        subtract(left_of(room, room->taken[i].node), &need, -room->taken[i].count);
    }
}

// What is known not to fit.
static bool is_known_full(struct room *room, const struct pod_set *set) {
    const struct room_memo *memo = memo_of(room, set->shape);
    return memo && memo->grown == room->grown && memo->most < set->count;
}

bool room_fits(struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets, size_t n_sets) {
    size_t n_taken = 0;
    bool fits = true;
    for (size_t i = 0; i < n_sets && fits; i++)
        fits = !is_known_full(room, &sets[i]);
    for (size_t i = 0; i < n_sets && fits; i++) {
        int64_t pods = take(room, shapes, &sets[i], &n_taken);
        fits = pods == sets[i].count;
        struct room_memo *memo = fits || i > 0 ? NULL : memo_of(room, sets[i].shape);
        if (memo) {
            memo->grown = room->grown;
            memo->most = pods;
        }
    }
    give_back(room, shapes, n_taken);
    return fits;
}

// Why ------------------------------------------------------------------------------------------------------------

struct sums { // over all pods, by resource
    int64_t wanted[SHAPE_RESOURCES], left[SHAPE_RESOURCES];
};

static void sum_up(struct room *room, const struct pod_shapes *shapes, const struct pod_set *set, struct sums *out) {
    for (size_t i = 0; i < set->shape->n_amounts; i++) {
        uint32_t resource = set->shape->amounts[i].resource, column = column_of(room, shapes, resource);
        int64_t wanted = int64_times(set->shape->amounts[i].amount, set->count);
        out->wanted[resource] = int64_plus(out->wanted[resource], wanted);
        out->left[resource] = 0;
        for (size_t n = 0; n < room->nodes->count && column != NOT_OFFERED - 1; n++)
            if (left_of(room, n)[column] > 0 && pod_shape_allowed(set->shape, room->nodes, n))
                out->left[resource] = int64_plus(out->left[resource], left_of(room, n)[column]);
    }
}

static bool is_allowed_somewhere(const struct room *room, const struct pod_shape *shape) {
    for (size_t n = 0; n < room->nodes->count; n++)
        if (pod_shape_allowed(shape, room->nodes, n))
            return true;
    return false;
}

static void put_lack(const struct pod_shapes *shapes, size_t resource, int64_t amount, struct buffer *out) {
    buffer_text(out, "lacks ");
    quantity_put(out, shapes->resources[resource], amount);
    buffer_printf(out, " %s", shapes->resources[resource]);
}

// The resource of which the greatest part is lacking.
static bool put_shortage(const struct pod_shapes *shapes, const struct sums *sums, struct buffer *out) {
    size_t worst = SHAPE_RESOURCES;
    double most = 0;
    for (size_t r = 0; r < shapes->n_resources; r++) {
        double part = sums->wanted[r] > sums->left[r] ? 1 - (double)sums->left[r] / (double)sums->wanted[r] : 0;
        if (part > most) {
            most = part;
            worst = r;
        }
    }
    if (worst == SHAPE_RESOURCES)
        return false;
    put_lack(shapes, worst, sums->wanted[worst] - sums->left[worst], out);
    return true;
}

void room_explain(struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets, size_t n_sets,
                  struct buffer *out) {
    struct sums sums = {.wanted = {0}};
    for (size_t i = 0; i < n_sets; i++) {
        if (room->nodes->count > 0 && !is_allowed_somewhere(room, sets[i].shape)) {
            buffer_text(out, "no node for its nodeSelector, tolerations");
            return;
        }
        sum_up(room, shapes, &sets[i], &sums);
    }
    if (room->nodes->count == 0)
        buffer_text(out, "has no node that takes pods");
    else if (put_shortage(shapes, &sums, out))
        return;
    size_t n_taken = 0;
    for (size_t i = 0; i < n_sets && room->nodes->count > 0; i++) {
        int64_t pods = take(room, shapes, &sets[i], &n_taken);
        if (pods == sets[i].count)
            continue;
        buffer_printf(out, "nodes have room for %" PRId64 " of %" PRId64 " pods", pods, sets[i].count);
        break;
    }
    give_back(room, shapes, n_taken);
}

unsigned room_fullness(const struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets,
                       size_t n_sets) {
    double most = 0;
    for (size_t c = 0; c < room->nodes->n_resources; c++) {
        bool wanted = false;
        for (size_t i = 0; i < n_sets; i++)
            for (size_t a = 0; a < sets[i].shape->n_amounts; a++)
                wanted |= strcmp(shapes->resources[sets[i].shape->amounts[a].resource], room->nodes->names[c]) == 0;
        double left = 0, all = (double)room->nodes->allocatable[c];
        for (size_t n = 0; wanted && all > 0 && n < room->nodes->count; n++)
            left += (double)left_of(room, n)[c];
        double used = wanted && all > 0 ? 1 - left / all : 0;
        most = used > most ? used : most;
    }
    return most >= 1 ? 1000U : (unsigned)(1000 * most);
}
