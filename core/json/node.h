// SPDX-License-Identifier: Apache-2.0
// Internal to core/json: the nodes of the tree. Nodes are cJSON's, from cJSON's allocator; links, key, text and type
// are used as in cJSON (the last child of a container is first->prev). Additional data is in the fields that cJSON uses
// for numbers, and is accessed only by the functions below:
//
//   valueint node_line, node_set_line: where a value was read from YAML valuedouble node_arena, node_set_arena: the
//   arena of the memory (node.c) valuestring of a container: node_index, node_set_index (index.c) type besides cJSON's
//   types and cJSON_StringIsConst: marks, and the number of long searches
//
// Numbers are cJSON_Raw with the original token, and so are strings that contain U+0000, as a whole literal with
// quotes.
#pragma once

#include "core/json/json.h"

#include <cjson/cJSON.h>

struct json {
    cJSON node;
};

static inline cJSON *node_of(struct json *value) {
    return (cJSON *)value;
}

static inline const cJSON *node_of_const(const struct json *value) {
    return (const cJSON *)value;
}

static inline struct json *node_json(cJSON *node) {
    return (struct json *)node;
}

static inline const struct json *node_json_const(const cJSON *node) {
    return (const struct json *)node;
}

// The value itself. Readers take const and return non-const, like strchr; lookups may also update an index (index.c).
// No value is in const memory.
static inline struct json *node_unconst(const struct json *value) {
    return (struct json *)value;
}

static inline int node_type(const cJSON *node) {
    return node->type & 0xff;
}

static inline bool node_is_container(const cJSON *node) {
    return node_type(node) == cJSON_Array || node_type(node) == cJSON_Object;
}

// The text of a scalar; NULL without one.
static inline const char *node_text(const cJSON *node) {
    return node_is_container(node) ? NULL : node->valuestring;
}

// cJSON's own flags are bits 8 and 9.
enum node_mark {
    NODE_IN_ARENA = 1 << 10,    // the node's memory belongs to an arena and is not freed by itself
    NODE_HOLDS_ARENA = 1 << 11, // keeps the arena alive: the root, and nodes detached from the root
    NODE_KEYED = 1 << 16,       // an item indexed by a member (index.c): changes are counted
    NODE_FIXED = 1 << 17,       // a container that never gets an index (json_fix)
    NODE_SENSITIVE = 1 << 18    // separately allocated: the text is overwritten
};

static inline bool node_has(const cJSON *node, enum node_mark mark) {
    return (node->type & (int)mark) != 0;
}

static inline void node_mark(cJSON *node, enum node_mark mark) {
    node->type |= (int)mark;
}

// Of a container: the number of long searches, up to 15.
#define NODE_SEARCHES_SHIFT 12
static inline unsigned node_searches(const cJSON *container) {
    return (unsigned)container->type >> NODE_SEARCHES_SHIFT & 15U;
}

static inline void node_set_searches(cJSON *container, unsigned searches) {
    unsigned others = (unsigned)container->type & ~(15U << NODE_SEARCHES_SHIFT);
    container->type = (int)(others | searches << NODE_SEARCHES_SHIFT);
}

// The first line of a value read from YAML, or of its key; else 0.
static inline int node_line(const cJSON *node) {
    return node->valueint;
}

static inline void node_set_line(cJSON *node, int line) {
    node->valueint = line;
}

struct arena;
// Of a node with NODE_IN_ARENA.
static inline struct arena *node_arena(const cJSON *node) {
    struct arena *arena;
    _Static_assert(sizeof arena <= sizeof node->valuedouble, "a pointer fits into the place of a double");
    memcpy(&arena, &node->valuedouble, sizeof arena);
    return arena;
}

static inline void node_set_arena(cJSON *node, struct arena *arena) {
    node_mark(node, NODE_IN_ARENA);
    memcpy(&node->valuedouble, &arena, sizeof arena);
}

// Of a container, which has no text; NULL: none.
struct index;
static inline struct index *node_index(const cJSON *container) {
    return (struct index *)(void *)container->valuestring;
}

static inline void node_set_index(cJSON *container, struct index *index) {
    container->valuestring = (char *)index;
}

// Room for about `size` bytes of nodes. A full arena grows by `more`, then by twice that, and so on. A new arena has no
// holder. NULL when out of memory.
struct arena *arena_new(size_t size, size_t more);
void arena_give_back(struct arena *arena, const void *memory); // frees `memory` and later allocations, if in one block
void arena_hold(struct arena *arena);
void arena_drop(struct arena *arena);       // the last holder frees the arena
bool arena_is_sensitive(const cJSON *node); // the memory of the node is overwritten before it is freed
// Number of changes of nodes with NODE_KEYED.
size_t arena_version(const struct arena *arena);
void arena_note_change(struct arena *arena);
// Must be called for a node that leaves its container.
void node_hold_arena(cJSON *node);

// Must be called when `node` is added to `container`, or, with NULL, when `container` gets a separately allocated key.
void node_note_foreign(const cJSON *container, const cJSON *node);

// The memory that a node takes, rounded as an arena does.
static inline size_t node_size(size_t key_size, size_t text_size) {
    return (sizeof(cJSON) + key_size + text_size + 7) & ~(size_t)7;
}

// As node_new, in an arena (NULL: separately allocated).
cJSON *node_new_in(struct arena *arena, int type, size_t key_size, size_t text_size);

// A node with room for a key and a text of the given sizes, NUL included; 0 leaves `string` or `valuestring` NULL. The
// caller fills both. NULL when out of memory.
cJSON *node_new(int type, size_t key_size, size_t text_size);

// A string, or the Raw node if the text contains U+0000; without a key. `text` must be valid UTF-8.
cJSON *node_new_text(const char *text, size_t len);

// A number; `token` must be valid (RFC 8259 section 6).
cJSON *node_new_number(const char *token, size_t len);

// A deep copy, in no container, with or without the key. NULL when out of memory or for NULL.
cJSON *node_copy(const cJSON *value, bool with_key);
// As node_copy, in an arena, which may keep a partial copy when out of memory. A NULL arena is only for a node without
// children.
cJSON *node_copy_in(struct arena *arena, const cJSON *value, bool with_key);

// Frees a node that is in no container, and all descendants, without recursion.
void node_free(cJSON *node);

// Sets a separately allocated key (NULL: none). False when out of memory; nothing changed.
bool node_set_key(cJSON *node, const char *key);

void node_append(cJSON *container, cJSON *node);
void node_unlink(cJSON *container, cJSON *node);

// Replaces `old` with `node`; `old` is then in no container. Keys are not changed.
void node_swap(cJSON *container, cJSON *old, cJSON *node);
// Replaces and frees `old`, or appends the node if that is NULL.
void node_put(cJSON *container, cJSON *old, cJSON *node);

// The value of a hexadecimal digit; -1 if invalid.
int hex_value(char c);

// Scanning and decoding of a string literal.
struct literal {
    const char *text; // between the quotes
    size_t len;
    bool escaped; // has escapes, so decoding shortens the text
    bool has_nul; // contains \u0000
};

// Scans from the opening quote. Returns NULL on success, with *at after the closing quote; else a message for the error
// at *at.
const char *literal_scan(const char *text, size_t len, size_t *at, struct literal *out);

// Writes at most literal->len bytes, without NUL; returns the number written. Lone surrogates become U+FFFD, as in Go.
size_t literal_decode(const struct literal *literal, char *out);

// The length of the number token at the start; 0 if invalid, with *bad as the offset of the error.
size_t number_scan(const char *text, size_t len, size_t *bad);

// Writes the digits before `end`, up to 20; the first one.
char *number_digits(uint64_t value, char *end);
bool number_equal(const char *a, const char *b);
bool number_to_int64(const char *token, int64_t *value);

// The member with this key, the item at this position, or NULL. Repeated searches in a wide container create an index.
cJSON *node_member(const cJSON *object, const char *key, size_t len);
cJSON *node_member_named(const cJSON *object, const char *key); // which ends with a NUL
cJSON *node_item(const cJSON *array, size_t at);
size_t node_children(const cJSON *node); // how many

// Update a container's index: call one on every change. No effect without an index.
void index_added(cJSON *container, cJSON *child);
void index_removed(cJSON *container, const cJSON *child);
void index_replaced(cJSON *container, const cJSON *old, cJSON *child);
void index_drop(cJSON *container);
// Call after parsing: most containers are not searched again. The parsing thread, such as a cluster's, pays for the
// index of a wide container, rather than the engine.
void index_drop_narrow(cJSON *container);

// Looks up many keys in one object; keys in the object's own order are found at once. The node found may be removed or
// replaced before the next lookup, and members may be added.
struct finder {
    const cJSON *object;
    cJSON *hint; // the member after the last one found
};

void finder_init(struct finder *finder, const cJSON *object);
cJSON *finder_get(struct finder *finder, const char *key);

// Tracks the keys of an object under construction, to avoid a search for most new keys.
struct keys {
    uint64_t filter; // a bit for each key prefix seen
};

// The member with this key, or NULL. Records the key.
cJSON *keys_find(struct keys *keys, const cJSON *object, const char *key);
