// SPDX-License-Identifier: Apache-2.0
// The watch events of a resource, the newest N of them, in a ring.
#include "tests/world/model.h"

#include <stdlib.h>

static struct event *slot(const struct kind *kind, uint64_t sequence) {
    return &kind->ring[sequence % kind->ring_size];
}

static void drop_first(struct kind *kind) {
    struct event *event = slot(kind, kind->first);
    kind->compacted = event->version;
    world_blob_unref(event->now);
    world_blob_unref(event->before);
    kind->first++;
}

void world_history_add(struct kind *kind, enum event_type type, struct blob *now, struct blob *before) {
    if (!kind->ring)
        kind->ring = world_alloc(kind->ring_size * sizeof *kind->ring);
    if (kind->last - kind->first == kind->ring_size)
        drop_first(kind);
    *slot(kind, kind->last++) = (struct event){type, now->version, world_blob_ref(now), world_blob_ref(before)};
}

void world_history_clear(struct kind *kind) {
    while (kind->first < kind->last)
        drop_first(kind);
}

const struct event *world_history_at(const struct kind *kind, uint64_t sequence) {
    return sequence >= kind->first && sequence < kind->last ? slot(kind, sequence) : NULL;
}

uint64_t world_history_after(const struct kind *kind, uint64_t version) {
    uint64_t low = kind->first, high = kind->last;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (slot(kind, middle)->version > version)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void world_compact(struct world_cluster *cluster) {
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind) {
        world_history_clear(kind);
        kind->compacted = cluster->version;
    }
}
