// SPDX-License-Identifier: Apache-2.0
// The immutable fields of a workload: those that are neither carried, removed, nor the host's own, and keep the value
// that the mirror was created with.
#include "core/base/memory.h"
#include "core/engine/mirror/carry.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 400 // bytes of pointers in a message

static const char *const others[] = {"/apiVersion", "/kind", "/metadata", "/status"};

static struct json *immutable_of(const wharf_kind *kind, const struct json *object) {
    AUTO_JSON rest = json_copy(object);
    if (!rest)
        return NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        pointer_remove(rest, others[i]);
    pointer_remove(rest, kind->managed_by);
    for (const char *const *p = kind->removed; p && *p; p++)
        pointer_remove_all(rest, *p);
    for (const wharf_carried *c = kind->carried; c && c->pointer; c++)
        pointer_remove_all(rest, c->pointer);
    return TAKE(rest);
}

// Patterns that match down to the current value; each points to its remaining part.
struct live {
    const char **rest;
    size_t count, capacity;
    const char *few[32];
};

static void live_init(struct live *live) {
    live->rest = live->few;
    live->count = 0;
    live->capacity = sizeof live->few / sizeof live->few[0];
}

static void live_cleanup(struct live *live) {
    if (live->rest != live->few)
        free((void *)live->rest);
}

#define AUTO_LIVE __attribute__((cleanup(live_cleanup))) struct live

static bool live_add(struct live *live, const char *rest) {
    if (live->count == live->capacity) {
        const char **grown = malloc(2 * live->capacity * sizeof *grown);
        if (!grown)
            return false;
        memcpy((void *)grown, (const void *)live->rest, live->count * sizeof *grown);
        live_cleanup(live);
        live->rest = grown;
        live->capacity *= 2;
    }
    live->rest[live->count++] = rest;
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static bool hash_fields(const struct json *value, const struct live *live, uint64_t *hash);

// The hash of a member or item; 0 if a pattern excludes it or all of its content.
static bool hash_child(const struct json *child, const char *key, const struct live *live, uint64_t *hash) {
    AUTO_LIVE below;
    live_init(&below);
    for (size_t i = 0; i < live->count; i++) {
        const char *rest = pointer_step(live->rest[i], key);
        if (rest && !*rest) {
            *hash = 0;
            return true;
        }
        if (rest && !live_add(&below, rest))
            return false;
    }
    uint64_t inner = 0;
    if (!hash_fields(child, &below, &inner))
        return false;
    *hash = inner ? mix(text_hash(TEXT_HASH, key), inner) : 0;
    return true;
}

static bool hash_fields(const struct json *value, const struct live *live, uint64_t *hash) {
    bool object = json_is(value, JSON_OBJECT);
    if (live->count == 0 || (!object && !json_is(value, JSON_ARRAY))) {
        *hash = json_hash(value);
        return true;
    }
    *hash = 0;
    size_t at = 0;
    for (const struct json *m = json_first(value); m; m = json_next(m), at++) {
        uint64_t one = 0;
        char index[24] = "";
        if (!object)
            snprintf(index, sizeof index, "%zu", at);
        if (!hash_child(m, object ? json_key(m) : index, live, &one))
            return false;
        *hash = object ? *hash + one : mix(*hash, one); // members may come in any order
    }
    return true;
}

uint64_t carry_immutable_hash(const wharf_kind *kind, const struct json *workload) {
    AUTO_LIVE live;
    live_init(&live);
    bool ok = live_add(&live, kind->managed_by);
    for (size_t i = 0; ok && i < sizeof others / sizeof others[0]; i++)
        ok = live_add(&live, others[i]);
    for (const char *const *p = kind->removed; ok && p && *p; p++)
        ok = live_add(&live, *p);
    for (const wharf_carried *c = kind->carried; ok && c && c->pointer; c++)
        ok = live_add(&live, c->pointer);
    uint64_t hash = 0;
    if (!ok || !hash_fields(workload, &live, &hash))
        return 0;
    return hash ? hash : 1;
}

static bool note(struct buffer *out, const struct buffer *path) {
    if (out->len > FIELDS_MAX)
        return true;
    return buffer_printf(out, "%s%s", out->len ? ", " : "", out->len + path->len > FIELDS_MAX ? "..." : path->data);
}

// Values that only the mirror has may be defaults of its cluster, and do not count.
static bool differ(const struct json *here, const struct json *there, struct buffer *path, struct buffer *out) {
    bool empty = json_is_container(here) && json_size(here) == 0;
    if (json_equal(here, there) || (empty && !there)) // all of its content was carried
        return true;
    bool objects = json_is(here, JSON_OBJECT) && json_is(there, JSON_OBJECT);
    bool arrays = json_is(here, JSON_ARRAY) && json_is(there, JSON_ARRAY) && json_size(here) == json_size(there);
    if (!objects && !arrays)
        return note(out, path);
    size_t index = 0;
    for (const struct json *m = json_first(here); m; m = json_next(m), index++) {
        size_t len = path->len;
        bool ok = pointer_append_child(path, json_key(m), index);
        const struct json *other = objects ? json_get(there, json_key(m)) : json_at(there, index);
        if (!ok || !differ(m, other, path, out))
            return false;
        buffer_truncate(path, len);
    }
    return true;
}

bool carry_immutable_differs(const wharf_kind *kind, const struct json *workload, const struct json *mirror,
                             struct buffer *out) {
    AUTO_JSON here = immutable_of(kind, workload);
    AUTO_JSON there = immutable_of(kind, mirror);
    AUTO_BUFFER(path, 65536);
    return here && there && differ(here, there, &path, out);
}
