// SPDX-License-Identifier: Apache-2.0
// The memory of a whole document (node.h): nodes are allocated from a few blocks and freed together, since allocating
// and freeing each node separately is most of the cost of parsing and freeing an object.
#include "core/json/node.h"

#include <stdatomic.h>
#include <string.h>

#define LARGEST ((size_t)1 << 20)
#define ALIGN(size) (((size) + 7) & ~(size_t)7)

struct block {
    struct block *next;
};

struct arena {
    struct block *blocks; // the first block, which contains the arena itself, is last in the list
    char *at;
    size_t left, next_size;
    atomic_bool mixed; // a node has a descendant outside the arena
    atomic_size_t version;
    atomic_size_t
        refs; // nodes that hold the arena (NODE_HOLDS_ARENA); atomic, since two threads may use parts of one document
};

struct arena *arena_new(size_t size, size_t more) {
    size_t head = ALIGN(sizeof(struct block)) + ALIGN(sizeof(struct arena));
    if (size > SIZE_MAX / 4 || more > SIZE_MAX / 4)
        return NULL;
    char *memory = cJSON_malloc(head + ALIGN(size));
    if (!memory)
        return NULL;
    struct block *block = (struct block *)(void *)memory;
    block->next = NULL;
    struct arena *arena = (struct arena *)(void *)(memory + ALIGN(sizeof *block));
    *arena = (struct arena){.blocks = block, .at = memory + head, .left = ALIGN(size), .next_size = ALIGN(more)};
    atomic_init(&arena->refs, 0);
    atomic_init(&arena->version, 0);
    atomic_init(&arena->mixed, false);
    return arena;
}

static bool grow(struct arena *arena, size_t size) {
    size_t wanted = arena->next_size > LARGEST ? LARGEST : arena->next_size;
    if (wanted < size)
        wanted = size;
    struct block *block = cJSON_malloc(ALIGN(sizeof *block) + wanted);
    if (!block)
        return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = (char *)block + ALIGN(sizeof *block);
    arena->left = wanted;
    arena->next_size = wanted * 2;
    return true;
}

void *arena_take(struct arena *arena, size_t size) {
    size = ALIGN(size);
    if (size > arena->left && !grow(arena, size))
        return NULL;
    void *memory = arena->at;
    arena->at += size;
    arena->left -= size;
    return memory;
}

void arena_give_back(struct arena *arena, const void *memory) {
    uintptr_t start = (uintptr_t)memory, end = (uintptr_t)arena->at;
    if (start < (uintptr_t)arena->blocks || start > end) // in an earlier block
        return;
    arena->left += end - start;
    arena->at -= end - start;
}

void arena_hold(struct arena *arena) {
    atomic_fetch_add_explicit(&arena->refs, 1, memory_order_relaxed);
}

void arena_drop(struct arena *arena) {
    if (atomic_fetch_sub_explicit(&arena->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct block *block = arena->blocks;
    while (block) { // the arena is inside the last one
        struct block *next = block->next;
        cJSON_free(block);
        block = next;
    }
}

size_t arena_version(const struct arena *arena) {
    return atomic_load_explicit(&arena->version, memory_order_relaxed);
}

void arena_note_change(struct arena *arena) {
    atomic_fetch_add_explicit(&arena->version, 1, memory_order_relaxed);
}

void node_hold_arena(cJSON *node) {
    if (!node_has(node, NODE_IN_ARENA) || node_has(node, NODE_HOLDS_ARENA))
        return;
    arena_hold(node_arena(node));
    node_mark(node, NODE_HOLDS_ARENA);
}

void node_note_foreign(const cJSON *container, const cJSON *node) {
    if (!node_has(container, NODE_IN_ARENA))
        return;
    if (!node || node_has(node, NODE_HOLDS_ARENA) || node_arena(node) != node_arena(container))
        atomic_store_explicit(&node_arena(container)->mixed, true, memory_order_relaxed);
}

bool node_goes_with_arena(const cJSON *node) {
    return node_has(node, NODE_HOLDS_ARENA) && !atomic_load_explicit(&node_arena(node)->mixed, memory_order_relaxed);
}
