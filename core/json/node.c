// SPDX-License-Identifier: Apache-2.0
#include "core/json/node.h"

#include <string.h>

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
        if (node->child && !node_goes_with_arena(node)) {
            node->child->prev->next = node->next;
            node->next = node->child;
        }
        cJSON *next = node->next;
        if (node_is_container(node))
            index_drop(node);
        free_key(node);
        if (!node_has(node, NODE_IN_ARENA)) {
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
    char *copy = NULL;
    if (key) {
        size_t size = strlen(key) + 1;
        copy = cJSON_malloc(size);
        if (!copy)
            return false;
        memcpy(copy, key, size);
    }
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

bool node_add(cJSON *object, const char *key, cJSON *node) {
    if (!node_set_key(node, key)) {
        node_free(node);
        return false;
    }
    node_append(object, node);
    return true;
}

void node_append(cJSON *container, cJSON *node) {
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
