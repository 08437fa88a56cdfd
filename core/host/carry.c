// SPDX-License-Identifier: Apache-2.0
#include "core/host/carry.h"

#include "core/base/text.h"
#include "core/host/mirror.h"
#include "core/host/phase.h"
#include "core/json/pointer.h"
#include "core/kube/object.h"

#include <stdlib.h>
#include <string.h>

struct json *carry_member(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    if (json_is(member, JSON_OBJECT))
        return member;
    return json_set(object, key, json_new_object()) ? json_get(object, key) : NULL;
}

static bool record(struct carrying *carrying, const char *pointer) {
    if (carrying->record->len > 0 && !buffer_char(carrying->record, ' '))
        return false;
    return buffer_text(carrying->record, pointer);
}

// What is taken out of every mirror is not carried either.
static bool is_removed(const wharf_kind *kind, const char *pointer) {
    if (strcmp(kind->managed_by, pointer) == 0)
        return true;
    for (const char *const *p = kind->removed; p && *p; p++) {
        if (pointer_matches(*p, pointer))
            return true;
    }
    return false;
}

bool carry_keys(struct carrying *carrying, const char *map) {
    const struct json *from = json_path(carrying->from, "metadata", map, NULL);
    struct json *metadata = carry_member(carrying->to, "metadata");
    struct json *to = metadata ? carry_member(metadata, map) : NULL;
    if (!to)
        return false;
    for (const struct json *m = json_is(from, JSON_OBJECT) ? json_first(from) : NULL; m; m = json_next(m)) {
        if (mirror_key_is_private(json_key(m)))
            continue;
        __attribute__((cleanup(buffer_cleanup))) struct buffer pointer;
        buffer_init(&pointer, 4096);
        buffer_printf(&pointer, "/metadata/%s", map);
        if (!pointer_append(&pointer, json_key(m)))
            return false;
        if (is_removed(carrying->kind, pointer.data))
            continue;
        if (!record(carrying, pointer.data) ||
            (!json_equal(json_get(to, json_key(m)), m) && !json_set(to, json_key(m), json_copy(m))))
            return false;
    }
    return true;
}

// The item of `to` that is the counterpart of item `index` of `from`: by its member `key`, or in the same place if
// items have none and there are as many. False if there is none.
static bool counterpart(const struct json *from, const struct json *to, const char *key, size_t index, size_t *place) {
    const char *name = json_string(json_get(json_at(from, index), key));
    *place = index;
    if (!name)
        return json_size(from) == json_size(to);
    *place = 0;
    for (const struct json *item = json_first(to); item; item = json_next(item), ++*place) {
        if (text_equal(json_string(json_get(item, key)), name))
            return true;
    }
    return false;
}

// Where in `to` the value belongs that `pointer` points to in `from`: the same pointer, but for the places in arrays.
// An empty buffer if it belongs nowhere. False when out of memory.
static bool translate(const struct json *from, const struct json *to, const char *key, const char *pointer,
                      struct buffer *out) {
    if (!strpbrk(pointer, "0123456789"))
        return buffer_text(out, pointer);
    while (*pointer) {
        size_t len = 1 + strcspn(pointer + 1, "/"), place = 0;
        AUTO_TEXT segment = strndup(pointer, len);
        int64_t index = 0;
        if (!segment)
            return false;
        if (!json_is(from, JSON_ARRAY) && !json_is(to, JSON_ARRAY)) {
            buffer_text(out, segment);
            to = pointer_find(to, segment);
        } else if (text_to_int64(segment + 1, &index) && counterpart(from, to, key, (size_t)index, &place)) {
            buffer_printf(out, "/%zu", place);
            to = json_at(to, place);
        } else {
            buffer_reset(out);
            return true;
        }
        from = pointer_find(from, segment);
        pointer += len;
    }
    return !out->failed;
}

// Something on the way to `pointer` is neither an object nor an array that has the item.
static bool blocked(const struct json *to, const char *pointer) {
    char way[4097];
    text_copy(way, sizeof way, pointer);
    for (char *end = strchr(way, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        const struct json *on_the_way = pointer_find(to, way);
        *end = '/';
        if (!on_the_way)
            return false; // made, or there is no such item: then its array was looked at before
        size_t len = strcspn(end + 1, "/");
        char after = end[1 + len];
        end[1 + len] = '\0';
        bool item = json_is(on_the_way, JSON_ARRAY) && !pointer_find(to, way);
        end[1 + len] = after;
        if (item || (!json_is(on_the_way, JSON_OBJECT) && !json_is(on_the_way, JSON_ARRAY)))
            return true;
    }
    return false;
}

static bool carry_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    __attribute__((cleanup(buffer_cleanup))) struct buffer there;
    buffer_init(&there, 4096);
    if (!record(carrying, pointer) || !translate(carrying->from, carrying->to, carrying->key, pointer, &there))
        return false;
    if (there.len == 0 || json_equal(pointer_find(carrying->to, there.data), value))
        return true;
    // Where the mirror has something that cannot hold it, the adapter's update may know better.
    return pointer_set(carrying->to, there.data, json_copy(value)) || blocked(carrying->to, there.data);
}

// A new mirror is a copy: what is carried is there already.
static bool record_value(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    return record(ctx, pointer);
}

bool carry_record(struct carrying *carrying) {
    for (const wharf_carried *c = carrying->kind->carried; c && c->pointer; c++) {
        if (!pointer_each(carrying->from, c->pointer, record_value, carrying))
            return false;
    }
    return true;
}

static const char *item_key(const wharf_carried *carried) {
    return carried && carried->key ? carried->key : "name";
}

static bool is_below(const char *pattern, const char *carried) {
    size_t len = strlen(carried);
    return strncmp(pattern, carried, len) == 0 && pattern[len] == '/';
}

// A field that is carried whole may have something in it that a mirror must not have.
static void clean(const wharf_kind *kind, const char *carried, struct json *to) {
    if (is_below(kind->managed_by, carried))
        pointer_remove(to, kind->managed_by);
    for (const char *const *p = kind->removed; p && *p; p++) {
        if (is_below(*p, carried))
            pointer_remove_all(to, *p);
    }
}

static bool carried_now(const struct carrying *carrying, const wharf_carried *carried) {
    return carried->when == WHARF_CARRY_ALWAYS || phase_suspend_asked(carrying->kind, carrying->mirror);
}

bool carry_spec(struct carrying *carrying) {
    for (const wharf_carried *c = carrying->kind->carried; c && c->pointer; c++) {
        if (!carried_now(carrying, c))
            continue;
        carrying->key = item_key(c);
        if (!pointer_each(carrying->from, c->pointer, carry_value, carrying))
            return false;
        clean(carrying->kind, c->pointer, carrying->to);
    }
    return true;
}

// What was carried earlier and may be taken away now: labels, annotations, and spec fields that are carried at present.
static bool may_take_away(struct carrying *carrying, const char *pointer) {
    carrying->key = item_key(NULL);
    if (text_has_prefix(pointer, "/metadata/labels/") || text_has_prefix(pointer, "/metadata/annotations/"))
        return true;
    for (const wharf_carried *c = carrying->kind->carried; c && c->pointer; c++) {
        if (!pointer_matches(c->pointer, pointer))
            continue;
        carrying->key = item_key(c);
        return carried_now(carrying, c);
    }
    return false;
}

static bool take_out(struct carrying *carrying, const char *pointer) {
    __attribute__((cleanup(buffer_cleanup))) struct buffer there;
    buffer_init(&there, 4096);
    if (!translate(carrying->from, carrying->to, carrying->key, pointer, &there))
        return false;
    if (there.len > 0) // else its item is gone, and with it what was carried there
        pointer_remove(carrying->to, there.data);
    return true;
}

bool carry_away(struct carrying *carrying) {
    const char *text = object_annotation(carrying->mirror, MARK_CARRIED);
    while (text && *text) {
        size_t len = strcspn(text, " ");
        AUTO_TEXT pointer = strndup(text, len);
        if (!pointer)
            return false;
        text += len + strspn(text + len, " ");
        bool may = may_take_away(carrying, pointer);
        if (may && pointer_find(carrying->from, pointer))
            continue; // on record where it is carried
        // It stays on record: what is not carried at present, for when it is; and what is taken away, since a patch of
        // ours that brought it may still be on its way, and arrive after this one.
        if (!record(carrying, pointer) || (may && !take_out(carrying, pointer)))
            return false;
    }
    return true;
}
