// SPDX-License-Identifier: Apache-2.0
// What is left in one worker once everything that is known of is taken off: the nodes as last seen, less the pods that
// wait for a node there (as many as can be compared in a few milliseconds), less what was placed there and is not seen
// yet. Pods are put onto the first nodes that have room, so a worker may be fuller than it looks, but never emptier.
#ifndef WHARF_ENGINE_ROOM_H
#define WHARF_ENGINE_ROOM_H

#include "core/base/buffer.h"
#include "core/engine/capacity/pod_shape.h"

struct pod_set { // equal pods
    struct pod_shape *shape;
    int64_t count;
};

struct room_memo { // of one shape
    uint64_t grown;
    int64_t most; // no more than so many fit, as long as nothing has grown
    size_t hint;  // the node that had room last
};

struct room_taken { // from one node, to be given back
    size_t node;
    int64_t count;
    const struct pod_shape *shape;
};

struct room {
    struct nodes *nodes; // NULL: not known
    int64_t *left;       // as in nodes
    uint32_t columns[SHAPE_RESOURCES];
    struct room_memo *memos; // by number of the shape
    size_t n_memos;
    struct room_taken *taken; // scratch
    size_t cap_taken;
    uint64_t grown;
};

void room_free(struct room *room);
// Takes `nodes`; false: out of memory, and nothing is known of the room.
bool room_set(struct room *room, struct nodes *nodes);
// Back to what the nodes have left, less the pods that wait there.
void room_reset(struct room *room);
// Takes off as many of these pods as there is room for. Returns how many.
int64_t room_take(struct room *room, const struct pod_shapes *shapes, const struct pod_set *set);
// Whether there is room for all of them at once. Nothing is taken.
bool room_fits(struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets, size_t n_sets);
void room_forget_shape(struct room *room, const struct pod_shape *shape);

// Why there is no room: "lacks 3 nvidia.com/gpu". Appends.
void room_explain(struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets, size_t n_sets,
                  struct buffer *out);

// Of the resource among those that the pods ask for of which most is in use: how much of it, in thousandths of what the
// worker's nodes offer.
unsigned room_fullness(const struct room *room, const struct pod_shapes *shapes, const struct pod_set *sets,
                       size_t n_sets);

#endif
