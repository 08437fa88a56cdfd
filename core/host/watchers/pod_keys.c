// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/host/watchers/node_table.h"

#define LEAST ((size_t)64)

_Static_assert(sizeof(struct pod_key) == 16, "a worker may have 150,000 pods");

uint64_t pod_keys_hash(const char *uid) {
    uint64_t hash = text_hash(TEXT_HASH, uid);
    hash ^= hash >> 33; // the table takes the lower bits
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

// The slot of the pod, or the free one for the pod.
static size_t slot_of(const struct pod_keys *keys, uint64_t uid) {
    size_t at = uid & (keys->capacity - 1);
    while (keys->slots[at].uid && keys->slots[at].uid != uid)
        at = (at + 1) & (keys->capacity - 1);
    return at;
}

static bool resize(struct pod_keys *keys, size_t capacity) {
    struct pod_keys resized = {calloc(capacity, sizeof *keys->slots), capacity, keys->count};
    if (!resized.slots)
        return false;
    for (size_t i = 0; i < keys->capacity; i++)
        if (keys->slots[i].uid)
            resized.slots[slot_of(&resized, keys->slots[i].uid)] = keys->slots[i];
    free(keys->slots);
    *keys = resized;
    return true;
}

bool pod_keys_put(struct pod_keys *keys, const struct pod_key *pod, struct pod_key *former) {
    if (8 * (keys->count + 1) > 7 * keys->capacity && !resize(keys, keys->capacity ? 2 * keys->capacity : LEAST))
        return false;
    struct pod_key *slot = &keys->slots[slot_of(keys, pod->uid)];
    *former = *slot;
    *slot = *pod;
    keys->count += !former->uid;
    return true;
}

// Moves back the pods that the removed one had displaced.
static void close_gap(struct pod_keys *keys, size_t gap) {
    size_t mask = keys->capacity - 1;
    for (size_t at = (gap + 1) & mask; keys->slots[at].uid; at = (at + 1) & mask) {
        size_t home = keys->slots[at].uid & mask;
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        keys->slots[gap] = keys->slots[at];
        gap = at;
    }
    keys->slots[gap].uid = 0;
}

static void remove_at(struct pod_keys *keys, size_t at, struct pod_key *former) {
    *former = keys->slots[at];
    close_gap(keys, at);
    keys->count--;
}

bool pod_keys_remove(struct pod_keys *keys, uint64_t uid, struct pod_key *former) {
    size_t at = keys->count > 0 ? slot_of(keys, uid) : 0;
    if (keys->count == 0 || !keys->slots[at].uid)
        return false;
    remove_at(keys, at, former);
    if (keys->capacity > LEAST && 8 * keys->count < keys->capacity)
        (void)resize(keys, keys->capacity / 4); // without memory the table stays large
    return true;
}

void pod_keys_unsee(struct pod_keys *keys) {
    for (size_t i = 0; i < keys->capacity; i++)
        keys->slots[i].seen = 0;
}

// A pod that moves into the gap is either next or, from the beginning of the table, was seen before.
bool pod_keys_take_unseen(struct pod_keys *keys, size_t *at, struct pod_key *former) {
    for (; *at < keys->capacity; ++*at)
        if (keys->slots[*at].uid && !keys->slots[*at].seen) {
            remove_at(keys, *at, former);
            return true;
        }
    return false;
}
