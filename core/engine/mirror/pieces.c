// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/carry.h"

#include "core/base/memory.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"

// Other reasons would be the answer to any piece: no rights, no namespace.
static bool is_about_content(enum reason reason) {
    return reason == REASON_INVALID || reason == REASON_FORBIDDEN || reason == REASON_BAD_REQUEST;
}

void rejections_hold(struct rejections *refused, uint64_t hash) {
    refused->hashes[refused->n++ % REJECTIONS_MAX] = hash;
}

bool rejections_add(struct rejections **refused, uint64_t hash, const struct response *response, int64_t until_ns) {
    if (!*refused)
        *refused = calloc(1, sizeof **refused);
    struct rejections *r = *refused;
    if (!r)
        return false;
    r->until_ns = until_ns;
    r->reason = response->reason;
    r->whole = !is_about_content(response->reason);
    r->reported = false;
    free(r->message);
    r->message = strdup(response->message);
    rejections_hold(r, hash);
    return true;
}

bool rejections_has(const struct rejections *refused, uint64_t hash) {
    uint32_t n = !refused ? 0 : refused->n < REJECTIONS_MAX ? refused->n : REJECTIONS_MAX;
    for (uint32_t i = 0; i < n; i++)
        if (refused->hashes[i] == hash)
            return true;
    return false;
}

void rejections_end(struct rejections **refused) {
    if (*refused)
        free((*refused)->message);
    free(*refused);
    *refused = NULL;
}

bool rejections_may_send(struct rejections *refused, const wharf_kind *kind, uint64_t source) {
    if (refused->source != source)
        refused->sent = 0;
    refused->source = source;
    return refused->sent++ < 2 * pieces_count(kind);
}

static size_t count_fields(const wharf_kind *kind) {
    size_t count = 0;
    while (kind->carried && kind->carried[count].pointer)
        count++;
    return count;
}

size_t pieces_count(const wharf_kind *kind) {
    return PIECE_FIELD - PIECE_SUSPEND + count_fields(kind);
}

enum piece pieces_at(const wharf_kind *kind, size_t i, bool resumes) {
    size_t first = resumes ? PIECE_SPEC - PIECE_SUSPEND : 0;
    return (enum piece)(PIECE_SUSPEND + (first + i) % pieces_count(kind));
}

// If a value of another type is in the way, the piece does not have the value.
static void take_at(struct json *part, const struct json *desired, const char *pointer) {
    const struct json *value = pointer ? pointer_find(desired, pointer) : NULL;
    if (value && !json_equal(pointer_find(part, pointer), value))
        (void)pointer_set(part, pointer, json_copy(value));
    else if (!value && pointer)
        pointer_remove(part, pointer);
}

// Without the record: the record of the piece follows.
static bool is_taken(const char *key, bool private_only) {
    return strcmp(key, MARK_CARRIED) != 0 && (!private_only || mirror_key_is_private(key));
}

static bool take_map(struct json *part, const struct json *desired, const char *name, bool private_only) {
    struct json *map = carry_metadata(part, name);
    const struct json *from = json_path(desired, "metadata", name, NULL);
    for (struct json *m = map ? json_first(map) : NULL, *next; m; m = next) {
        next = json_next(m);
        if (!json_get(from, json_key(m)) && is_taken(json_key(m), private_only))
            json_remove_child(map, m);
    }
    for (const struct json *m = carry_first(desired, name); map && m; m = json_next(m))
        if (is_taken(json_key(m), private_only) && !json_equal(json_get(map, json_key(m)), m) &&
            !json_set(map, json_key(m), json_copy(m)))
            return false;
    return map;
}

struct piece_fields {
    struct json *part;
    const struct json *desired;
};

static bool take_value(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    const struct piece_fields *taking = ctx;
    take_at(taking->part, taking->desired, pointer);
    return true;
}

// Values of the desired mirror, and values to remove.
static bool take_field(struct json *part, const struct json *mirror, const struct json *desired, const char *pattern) {
    struct piece_fields taking = {part, desired};
    return pointer_each(desired, pattern, take_value, &taking) && pointer_each(mirror, pattern, take_value, &taking);
}

struct json *piece_cut(const wharf_kind *kind, const struct json *mirror, const struct json *desired,
                       enum piece piece) {
    AUTO_JSON part = json_copy(mirror);
    if (!part)
        return NULL;
    bool ok = true;
    if (piece == PIECE_SUSPEND)
        take_at(part, desired, kind->suspend);
    else if (piece_has_record(piece))
        ok = take_map(part, desired, "labels", piece == PIECE_RECORD) &&
             take_map(part, desired, "annotations", piece == PIECE_RECORD);
    else
        ok = piece == PIECE_SPEC ? carry_rest(desired, part)
                                 : take_field(part, mirror, desired, kind->carried[piece - PIECE_FIELD].pointer);
    if (piece >= PIECE_SPEC)
        take_at(part, mirror, kind->suspend);
    return ok ? TAKE(part) : NULL;
}

bool piece_has_record(enum piece piece) {
    return piece == PIECE_WHOLE || piece == PIECE_RECORD || piece == PIECE_KEYS;
}

void piece_name(const wharf_kind *kind, enum piece piece, struct buffer *out) {
    const char *name = piece == PIECE_SUSPEND  ? kind->suspend
                       : piece == PIECE_RECORD ? "the host's own annotations"
                       : piece == PIECE_KEYS   ? "labels and annotations"
                       : piece == PIECE_WHOLE  ? "all of it"
                       : piece >= PIECE_FIELD  ? kind->carried[piece - PIECE_FIELD].pointer
                                               : NULL; // by its fields
    if (name)
        buffer_printf(out, "%s%s", out->len > 0 ? ", " : "", name);
}
