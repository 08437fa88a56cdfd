// SPDX-License-Identifier: Apache-2.0
// The immutable fields of a workload are neither carried, nor removed, nor the host's own, and keep their values from
// the creation of the mirror.
#include "core/engine/mirror/carry.h"

#include "core/base/memory.h"
#include "core/json/pointer.h"

#define FIELDS_MAX 400 // bytes of pointers in a message
#define ROOM 128       // enough for the patterns of most kinds

// The patterns of the other fields, and after them room for the lists of hash_child.
struct patterns {
    const char **list;
    size_t count, room, capacity;
};

static void patterns_cleanup(struct patterns *patterns) {
    free((void *)patterns->list);
}

#define AUTO_PATTERNS __attribute__((cleanup(patterns_cleanup))) struct patterns

// A pattern is in the list of each value above the pattern's own, so in at most one list for each segment.
static bool add_pattern(struct patterns *patterns, const char *pattern) {
    patterns->room++;
    for (const char *c = pattern; *c; c++)
        patterns->room += *c == '/';
    if (!array_reserve(&patterns->list, &patterns->capacity, patterns->room > ROOM ? patterns->room : ROOM,
                       sizeof *patterns->list))
        return false;
    patterns->list[patterns->count++] = pattern;
    return true;
}

static bool add_patterns(struct patterns *patterns, const wharf_kind *kind) {
    bool ok = add_pattern(patterns, "/apiVersion") && add_pattern(patterns, "/kind") &&
              add_pattern(patterns, "/metadata") && add_pattern(patterns, "/status") &&
              add_pattern(patterns, kind->managed_by);
    for (const char *const *p = kind->removed; ok && p && *p; p++)
        ok = add_pattern(patterns, *p);
    for (const wharf_carried *c = kind->carried; ok && c && c->pointer; c++)
        ok = add_pattern(patterns, c->pointer);
    return ok;
}

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_fields(const struct json *value, const char **live, size_t count);

// The hash of a member or item; 0 if a pattern excludes the child or all content of the child. `live`: the remaining
// parts of the patterns that match down to the parent; the list for the child follows in memory.
static uint64_t hash_child(const struct json *child, const char *key, const char **live, size_t count) {
    const char **below = live + count;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *rest = pointer_step(live[i], key);
        if (rest && !*rest)
            return 0;
        if (rest)
            below[n++] = rest;
    }
    uint64_t inner = hash_fields(child, below, n);
    return inner ? mix(text_hash(TEXT_HASH, key), inner) : 0;
}

static uint64_t hash_fields(const struct json *value, const char **live, size_t count) {
    bool object = json_is(value, JSON_OBJECT);
    if (count == 0 || (!object && !json_is(value, JSON_ARRAY)))
        return json_hash(value);
    uint64_t hash = 0;
    size_t at = 0;
    for (const struct json *m = json_first(value); m; m = json_next(m), at++) {
        char index[24] = "";
        if (!object)
            snprintf(index, sizeof index, "%zu", at);
        uint64_t one = hash_child(m, object ? json_key(m) : index, live, count);
        hash = object ? hash + one : mix(hash, one); // members may come in any order
    }
    return hash;
}

uint64_t carry_immutable_hash(const wharf_kind *kind, const struct json *workload) {
    AUTO_PATTERNS patterns = {0};
    if (!add_patterns(&patterns, kind))
        return 0;
    uint64_t hash = hash_fields(workload, patterns.list, patterns.count);
    return hash ? hash : 1;
}

static struct json *copy_immutable(const wharf_kind *kind, const struct json *object) {
    AUTO_PATTERNS patterns = {0};
    struct json *rest = add_patterns(&patterns, kind) ? json_copy(object) : NULL;
    for (size_t i = 0; rest && i < patterns.count; i++)
        pointer_remove_all(rest, patterns.list[i]);
    return rest;
}

static bool note_field(struct buffer *out, const struct buffer *path) {
    if (out->len > FIELDS_MAX)
        return true;
    return buffer_printf(out, "%s%s", out->len ? ", " : "", out->len + path->len > FIELDS_MAX ? "..." : path->data);
}

// Values that only the mirror has may be defaults of its cluster, and do not count.
static bool note_difference(const struct json *here, const struct json *there, struct buffer *path,
                            struct buffer *out) {
    bool empty = json_is_container(here) && json_size(here) == 0;
    if (json_equal(here, there) || (empty && !there)) // all of its content was carried
        return true;
    bool objects = json_is(here, JSON_OBJECT) && json_is(there, JSON_OBJECT);
    bool arrays = json_is(here, JSON_ARRAY) && json_is(there, JSON_ARRAY) && json_size(here) == json_size(there);
    if (!objects && !arrays)
        return note_field(out, path);
    size_t index = 0;
    for (const struct json *m = json_first(here); m; m = json_next(m), index++) {
        size_t len = path->len;
        bool ok = pointer_append_child(path, json_key(m), index);
        const struct json *other = objects ? json_get(there, json_key(m)) : json_at(there, index);
        if (!ok || !note_difference(m, other, path, out))
            return false;
        buffer_truncate(path, len);
    }
    return true;
}

bool carry_immutable_differs(const wharf_kind *kind, const struct json *workload, const struct json *mirror,
                             struct buffer *out) {
    AUTO_JSON here = copy_immutable(kind, workload);
    AUTO_JSON there = copy_immutable(kind, mirror);
    AUTO_BUFFER(path, 65536);
    return here && there && note_difference(here, there, &path, out);
}
