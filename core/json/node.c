// SPDX-License-Identifier: Apache-2.0
// Nodes, and the memory of a whole document: nodes are allocated from a few blocks and freed together, since allocating
// and freeing each node separately is most of the cost of parsing and freeing an object.
#include "core/json/node.h"

// -- arenas --

#define LARGEST ((size_t)1 << 20)
#define ALIGN(size) (((size) + 7) & ~(size_t)7)

struct block {
    struct block *next;
    size_t size; // with the header
};

struct arena {
    struct block own;     // the first block begins with the arena
    struct block *blocks; // the first one is last in the list
    char *at;
    size_t left, next_size;
    bool sensitive;          // see sensitive.h
    atomic_bool mixed;       // a node has a descendant outside the arena
    atomic_bool blind;       // that descendant is a container, and changes inside it are not noticed
    _Atomic uint64_t serial; // see json_serial; 0: none since the last change
    const cJSON *numbered;   // the root that has it
    atomic_size_t version;
    atomic_size_t
        refs; // nodes that hold the arena (NODE_HOLDS_ARENA); atomic, since two threads may use parts of one document
};

struct arena *arena_new(size_t size, size_t more) {
    if (size > SIZE_MAX / 4 || more > SIZE_MAX / 4)
        return NULL;
    struct arena *arena = cJSON_malloc(ALIGN(sizeof *arena) + ALIGN(size));
    if (!arena)
        return NULL;
    *arena = (struct arena){.own = {.size = ALIGN(sizeof *arena) + ALIGN(size)},
                            .blocks = &arena->own,
                            .at = (char *)arena + ALIGN(sizeof *arena),
                            .left = ALIGN(size),
                            .next_size = ALIGN(more),
                            .sensitive = sensitive_section};
    atomic_init(&arena->refs, 0);
    atomic_init(&arena->version, 0);
    atomic_init(&arena->mixed, false);
    atomic_init(&arena->blind, false);
    atomic_init(&arena->serial, 0);
    return arena;
}

static bool grow(struct arena *arena, size_t size) {
    size_t wanted = arena->next_size > LARGEST ? LARGEST : arena->next_size;
    if (wanted < size)
        wanted = size;
    struct block *block = cJSON_malloc(ALIGN(sizeof *block) + wanted);
    if (!block)
        return false;
    *block = (struct block){arena->blocks, ALIGN(sizeof *block) + wanted};
    arena->blocks = block;
    arena->at = (char *)block + ALIGN(sizeof *block);
    arena->left = wanted;
    arena->next_size = wanted * 2;
    return true;
}

static void *arena_take(struct arena *arena, size_t size) {
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
    bool sensitive = arena->sensitive;
    while (block) { // the arena is inside the last one
        struct block *next = block->next;
        if (sensitive)
            explicit_bzero(block, block->size);
        cJSON_free(block);
        block = next;
    }
}

bool arena_is_sensitive(const cJSON *node) {
    return node_has(node, NODE_IN_ARENA) ? node_arena(node)->sensitive : node_has(node, NODE_SENSITIVE);
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
    if (node && !node_has(node, NODE_HOLDS_ARENA) && node_arena(node) == node_arena(container))
        return;
    atomic_store_explicit(&node_arena(container)->mixed, true, memory_order_relaxed);
    if (node && node_is_container(node))
        atomic_store_explicit(&node_arena(container)->blind, true, memory_order_relaxed);
}

// The container's children are about to change.
static void forget_serial(const cJSON *container) {
    if (node_has(container, NODE_IN_ARENA))
        atomic_store_explicit(&node_arena(container)->serial, 0, memory_order_relaxed);
}

uint64_t json_serial(const struct json *root) {
    static _Atomic uint64_t last;
    const cJSON *node = root ? node_of_const(root) : NULL;
    if (!node || !node_has(node, NODE_HOLDS_ARENA))
        return 0;
    struct arena *arena = node_arena(node);
    if (atomic_load_explicit(&arena->blind, memory_order_relaxed))
        return 0;
    uint64_t serial = atomic_load_explicit(&arena->serial, memory_order_relaxed);
    if (serial && arena->numbered == node)
        return serial;
    serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    arena->numbered = node;
    atomic_store_explicit(&arena->serial, serial, memory_order_relaxed);
    return serial;
}

// True if all descendants are in the arena that the node holds, so freeing it needs no traversal.
static bool goes_with_arena(const cJSON *node) {
    return node_has(node, NODE_HOLDS_ARENA) && !atomic_load_explicit(&node_arena(node)->mixed, memory_order_relaxed);
}

// -- nodes --

cJSON *node_new(int type, size_t key_size, size_t text_size) {
    return node_new_in(NULL, type, key_size, text_size);
}

cJSON *node_new_in(struct arena *arena, int type, size_t key_size, size_t text_size) {
    if (key_size > SIZE_MAX / 4 || text_size > SIZE_MAX / 4)
        return NULL;
    size_t size = sizeof(cJSON) + key_size + text_size;
    cJSON *node = arena ? arena_take(arena, size) : cJSON_malloc(size);
    if (!node)
        return NULL;
    *node = (cJSON){.type = type};
    if (arena)
        node_set_arena(node, arena);
    else if (sensitive_section)
        node_mark(node, NODE_SENSITIVE);
    char *room = (char *)(node + 1);
    if (key_size > 0) {
        node->string = room;
        node->type |= cJSON_StringIsConst;
    }
    if (text_size > 0)
        node->valuestring = room + key_size;
    return node;
}

static cJSON *new_with_text(int type, const char *text, size_t len) {
    cJSON *node = len < SIZE_MAX ? node_new(type, 0, len + 1) : NULL;
    if (!node)
        return NULL;
    char *room = (char *)(node + 1);
    memcpy(room, text, len);
    room[len] = '\0';
    return node;
}

cJSON *node_new_text(const char *text, size_t len) {
    if (!memchr(text, '\0', len))
        return new_with_text(cJSON_String, text, len);
    AUTO_BUFFER(literal, SIZE_MAX / 4); // preserves the length
    return buffer_json_string(&literal, text, len) ? new_with_text(cJSON_Raw, literal.data, literal.len) : NULL;
}

cJSON *node_new_number(const char *token, size_t len) {
    return new_with_text(cJSON_Raw, token, len);
}

static void free_key(cJSON *node) {
    if (node->string && !(node->type & cJSON_StringIsConst))
        cJSON_free(node->string);
}

// Releases the arenas of freed holders after the end of the traversal. `held` is a list of the holders, linked by prev,
// which is now unused.
static void drop_arenas(cJSON *held) {
    while (held) {
        cJSON *next = held->prev;
        arena_drop(node_arena(held));
        held = next;
    }
}

// Inserts the children of each node before the next sibling, so that one list traversal suffices.
void node_free(cJSON *node) {
    cJSON *held = NULL;
    while (node) {
        if (node->child && !goes_with_arena(node)) {
            node->child->prev->next = node->next;
            node->next = node->child;
        }
        cJSON *next = node->next;
        if (node_is_container(node))
            index_drop(node);
        free_key(node);
        if (!node_has(node, NODE_IN_ARENA)) {
            if (node_has(node, NODE_SENSITIVE) && node_text(node))
                explicit_bzero(node->valuestring, strlen(node->valuestring));
            cJSON_free(node);
        } else if (node_has(node, NODE_HOLDS_ARENA)) {
            node->prev = held;
            held = node;
        }
        node = next;
    }
    drop_arenas(held);
}

bool node_set_key(cJSON *node, const char *key) {
    size_t size = key ? strlen(key) + 1 : 0;
    char *copy = key ? cJSON_malloc(size) : NULL;
    if (key && !copy)
        return false;
    if (copy)
        memcpy(copy, key, size);
    free_key(node);
    if (copy)
        node_note_foreign(node, NULL);
    node->string = copy;
    node->type &= ~cJSON_StringIsConst;
    return true;
}

// Changes of the container must be recorded.
static bool is_watched(const cJSON *container) {
    return node_index(container) || node_has(container, NODE_KEYED);
}

void node_append(cJSON *container, cJSON *node) {
    forget_serial(container);
    node_note_foreign(container, node);
    cJSON *first = container->child;
    node->next = NULL;
    if (!first) {
        container->child = node;
        node->prev = node;
    } else {
        node->prev = first->prev;
        first->prev->next = node;
        first->prev = node;
    }
    if (is_watched(container))
        index_added(container, node);
}

void node_unlink(cJSON *container, cJSON *node) {
    forget_serial(container);
    if (is_watched(container))
        index_removed(container, node);
    cJSON *first = container->child;
    if (node->next)
        node->next->prev = node->prev;
    else
        first->prev = node->prev; // it was the last child; harmless if it was the only one
    if (node == first)
        container->child = node->next;
    else
        node->prev->next = node->next;
    node->next = NULL;
    node->prev = NULL;
}

void node_swap(cJSON *container, cJSON *old, cJSON *node) {
    forget_serial(container);
    node_note_foreign(container, node);
    if (is_watched(container))
        index_replaced(container, old, node);
    bool first = container->child == old;
    node->next = old->next;
    node->prev = old->prev == old ? node : old->prev;
    if (node->next)
        node->next->prev = node;
    else if (!first)
        container->child->prev = node;
    if (first)
        container->child = node;
    else
        node->prev->next = node;
    old->next = NULL;
    old->prev = NULL;
}

void node_put(cJSON *container, cJSON *old, cJSON *node) {
    if (old)
        node_swap(container, old, node);
    else
        node_append(container, node);
    node_free(old);
}
