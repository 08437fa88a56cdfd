// SPDX-License-Identifier: Apache-2.0
// What is remembered of each pod of a worker: a hash table of 16 bytes a pod, between a half and 7/8 full (open
// addressing, linear probing, no tombstones).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POD_KEY_SHAPES 0x7fffffffU // numbers of shapes

struct pod_key {
    uint64_t uid;  // its hash, never 0
    uint32_t node; // 0: none
    uint32_t shape : 31;
    uint32_t seen : 1; // in the list that is being read
};

struct pod_keys { // zeroed: empty
    struct pod_key *slots;
    size_t capacity, count;
};

void pod_keys_free(struct pod_keys *keys);
uint64_t pod_keys_hash(const char *uid);

// Adds or replaces it; *was: then *former is what it was. False: out of memory; nothing changed.
bool pod_keys_put(struct pod_keys *keys, const struct pod_key *pod, bool *was, struct pod_key *former);
bool pod_keys_remove(struct pod_keys *keys, uint64_t uid, struct pod_key *former); // false: it is not there

void pod_keys_unsee(struct pod_keys *keys); // none is seen
// Removes the next pod that is not seen; *at is 0 at first. False: there is none left.
bool pod_keys_take_unseen(struct pod_keys *keys, size_t *at, struct pod_key *former);

size_t pod_keys_bytes(const struct pod_keys *keys);
