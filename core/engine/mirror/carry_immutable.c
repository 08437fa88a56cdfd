// SPDX-License-Identifier: Apache-2.0
// The immutable fields of a workload are neither carried, nor removed, nor the host's own, and keep their values from
// the creation of the mirror.
#include "core/engine/mirror/mirror.h"

#include "core/base/memory.h"
#include "core/json/pointer.h"

#define FIELDS_MAX 400 // bytes of pointers in a message
#define FIRST 64       // patterns; enough for most kinds

// A stack of patterns. First the patterns of all other fields; then, for each level, the patterns that match down to
// the current value, each as the remaining part.
struct patterns {
    const char **list;
    size_t count, capacity;
    bool failed; // out of memory
};

static void patterns_cleanup(struct patterns *patterns) {
    free((void *)patterns->list);
}

#define AUTO_PATTERNS __attribute__((cleanup(patterns_cleanup))) struct patterns

static void add_pattern(struct patterns *patterns, const char *pattern) {
    size_t need = patterns->count < FIRST ? FIRST : patterns->count + 1;
    if (need > patterns->capacity && !array_reserve(&patterns->list, &patterns->capacity, need, sizeof *patterns->list))
        patterns->failed = true;
    else
        patterns->list[patterns->count++] = pattern;
}

static void add_patterns(struct patterns *patterns, const wharf_kind *kind) {
    static const char *const others[] = {"/apiVersion", "/kind", "/metadata", "/status"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        add_pattern(patterns, others[i]);
    add_pattern(patterns, kind->managed_by);
    for (const char *const *p = kind->removed; p && *p; p++)
        add_pattern(patterns, *p);
    for (const wharf_carried *c = kind->carried; c && c->pointer; c++)
        add_pattern(patterns, c->pointer);
}

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_fields(const struct json *value, struct patterns *patterns, size_t first);

// The hash of a member or item; 0 if a pattern excludes the child or all content of the child. The patterns of the
// parent are from `first` to `end`.
static uint64_t hash_child(const struct json *child, const char *key, struct patterns *patterns, size_t first,
                           size_t end) {
    bool excluded = false;
    for (size_t i = first; i < end && !excluded; i++) {
        const char *rest = pointer_step(patterns->list[i], key);
        excluded = rest && !*rest;
        if (rest)
            add_pattern(patterns, rest);
    }
    uint64_t inner = excluded ? 0 : hash_fields(child, patterns, end);
    patterns->count = end;
    return inner ? mix(text_hash(TEXT_HASH, key), inner) : 0;
}

static uint64_t hash_fields(const struct json *value, struct patterns *patterns, size_t first) {
    bool object = json_is(value, JSON_OBJECT);
    size_t end = patterns->count, at = 0;
    if (first == end || (!object && !json_is(value, JSON_ARRAY)))
        return json_hash(value);
    uint64_t hash = 0;
    for (const struct json *m = json_first(value); m; m = json_next(m), at++) {
        char index[24] = "";
        if (!object)
            snprintf(index, sizeof index, "%zu", at);
        uint64_t one = hash_child(m, object ? json_key(m) : index, patterns, first, end);
        hash = object ? hash + one : mix(hash, one); // members may come in any order
    }
    return hash;
}

uint64_t carry_immutable_hash(const wharf_kind *kind, const struct json *workload) {
    AUTO_PATTERNS patterns = {0};
    add_patterns(&patterns, kind);
    uint64_t hash = hash_fields(workload, &patterns, 0);
    return patterns.failed ? 0 : hash ? hash : 1;
}

static struct json *copy_immutable(const wharf_kind *kind, const struct json *object) {
    AUTO_PATTERNS patterns = {0};
    add_patterns(&patterns, kind);
    struct json *rest = patterns.failed ? NULL : json_copy(object);
    for (size_t i = 0; rest && i < patterns.count; i++)
        pointer_remove_all(rest, patterns.list[i]);
    return rest;
}

static bool note_field(struct buffer *out, const struct buffer *path) {
    if (out->len > FIELDS_MAX)
        return true;
    return buffer_printf(out, "%s%s", out->len ? ", " : "", out->len + path->len > FIELDS_MAX ? "..." : path->data);
}

// Values that only the mirror has may be defaults of the worker, and do not count.
static bool note_difference(const struct json *here, const struct json *there, struct buffer *path,
                            struct buffer *out) {
    bool empty = json_is_container(here) && json_size(here) == 0;
    if (json_equal(here, there) || (empty && !there)) // the host carried all content
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
