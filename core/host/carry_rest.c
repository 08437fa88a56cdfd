// SPDX-License-Identifier: Apache-2.0
// What is left of a workload without what is carried, removed, or the host's own: the part in which a mirror stays what
// it was made.
#include "core/host/carry.h"
#include "core/json/pointer.h"

#include <string.h>

#define FIELDS_MAX 400 // bytes of pointers in a sentence for people

static struct json *rest_of(const wharf_kind *kind, const struct json *object) {
    AUTO_JSON rest = json_copy(object);
    if (!rest)
        return NULL;
    static const char *const others[] = {"apiVersion", "kind", "metadata", "status"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        json_remove(rest, others[i]);
    pointer_remove(rest, kind->managed_by);
    for (const char *const *p = kind->removed; p && *p; p++)
        pointer_remove_all(rest, *p);
    for (const wharf_carried *c = kind->carried; c && c->pointer; c++)
        pointer_remove_all(rest, c->pointer);
    struct json *taken = rest;
    rest = NULL;
    return taken;
}

uint64_t carry_rest_hash(const wharf_kind *kind, const struct json *workload) {
    AUTO_JSON rest = rest_of(kind, workload);
    uint64_t hash = json_hash(rest);
    return rest && !hash ? 1 : hash;
}

static bool note(struct buffer *out, const struct buffer *path) {
    if (out->len > FIELDS_MAX)
        return true;
    return buffer_printf(out, "%s%s", out->len ? ", " : "", out->len + path->len > FIELDS_MAX ? "..." : path->data);
}

// What only the mirror has may be a default of its cluster: not noted.
static bool differ(const struct json *here, const struct json *there, struct buffer *path, struct buffer *out) {
    if (json_equal(here, there))
        return true;
    bool objects = json_is(here, JSON_OBJECT) && json_is(there, JSON_OBJECT);
    bool arrays = json_is(here, JSON_ARRAY) && json_is(there, JSON_ARRAY) && json_size(here) == json_size(there);
    if (!objects && !arrays)
        return note(out, path);
    size_t index = 0;
    for (const struct json *m = json_first(here); m; m = json_next(m), index++) {
        size_t len = path->len;
        bool ok = objects ? pointer_append(path, json_key(m)) : buffer_printf(path, "/%zu", index);
        const struct json *other = objects ? json_get(there, json_key(m)) : json_at(there, index);
        if (!ok || !differ(m, other, path, out))
            return false;
        buffer_truncate(path, len);
    }
    return true;
}

bool carry_rest_differs(const wharf_kind *kind, const struct json *workload, const struct json *mirror,
                        struct buffer *out) {
    AUTO_JSON here = rest_of(kind, workload);
    AUTO_JSON there = rest_of(kind, mirror);
    __attribute__((cleanup(buffer_cleanup))) struct buffer path;
    buffer_init(&path, 65536);
    return here && there && differ(here, there, &path, out);
}
