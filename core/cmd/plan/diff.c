// SPDX-License-Identifier: Apache-2.0
// The differences of two documents, field by field.

#include "core/cmd/plan/plan.h"
#include "core/json/pointer.h"

#define LOOK_AHEAD 64 // items of an array that are searched for the counterpart of one

struct diff_walk {
    struct buffer pointer;
    bool (*on_change)(void *ctx, const struct plan_change *change);
    void *ctx;
};

static bool compare(struct diff_walk *walk, const struct json *from, const struct json *to);

static bool is_absent(const struct json *value) {
    return !value || json_is(value, JSON_NULL);
}

// Descends into the member `key`, or the item `index`.
static bool step(struct diff_walk *walk, const char *key, size_t index, const struct json *from,
                 const struct json *to) {
    size_t len = walk->pointer.len;
    bool ok = pointer_append_child(&walk->pointer, key, index) && compare(walk, from, to);
    buffer_truncate(&walk->pointer, len);
    return ok;
}

static bool compare_objects(struct diff_walk *walk, const struct json *from, const struct json *to) {
    for (const struct json *member = json_first(from); member; member = json_next(member))
        if (!step(walk, json_key(member), 0, member, json_get(to, json_key(member))))
            return false;
    for (const struct json *member = json_first(to); member; member = json_next(member))
        if (!json_get(from, json_key(member)) && !step(walk, json_key(member), 0, NULL, member))
            return false;
    return true;
}

// The name of an item; NULL without one.
static const char *name_of(const struct json *item) {
    static const char *const keys[] = {"name", "type", "groupName"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *name = json_string(json_get(item, keys[i]));
        if (name)
            return name;
    }
    return NULL;
}

static bool correspond(const struct json *a, const struct json *b) {
    const char *a_name = name_of(a), *b_name = name_of(b);
    return a_name && b_name ? strcmp(a_name, b_name) == 0 : json_equal(a, b);
}

static bool comes_later(const struct json *item, const struct json *list) {
    for (size_t i = 0; list && i < LOOK_AHEAD; i++, list = json_next(list))
        if (correspond(item, list))
            return true;
    return false;
}

static bool all_scalar(const struct json *array) {
    for (const struct json *item = json_first(array); item; item = json_next(item))
        if (json_is_container(item))
            return false;
    return true;
}

static bool compare_arrays(struct diff_walk *walk, const struct json *from, const struct json *to) {
    const struct json *a = json_first(from), *b = json_first(to);
    size_t a_index = 0, b_index = 0;
    while (a || b) {
        bool both = a && b;
        bool same = both && correspond(a, b);
        bool added = both && !same && comes_later(a, json_next(b)) && !comes_later(b, json_next(a));
        // Items with different names are two items, not one that changed.
        bool removed = both && !same && !added && (comes_later(b, json_next(a)) || (name_of(a) && name_of(b)));
        bool take_a = a && !added, take_b = b && !removed;
        if (!step(walk, NULL, take_a ? a_index : b_index, take_a ? a : NULL, take_b ? b : NULL))
            return false;
        a_index += take_a;
        b_index += take_b;
        a = take_a ? json_next(a) : a;
        b = take_b ? json_next(b) : b;
    }
    return true;
}

static bool compare(struct diff_walk *walk, const struct json *from, const struct json *to) {
    from = is_absent(from) ? NULL : from;
    to = is_absent(to) ? NULL : to;
    if (from && to) {
        if (json_is(from, JSON_OBJECT) && json_is(to, JSON_OBJECT))
            return compare_objects(walk, from, to);
        if (json_equal(from, to))
            return true;
        if (json_is(from, JSON_ARRAY) && json_is(to, JSON_ARRAY) && !(all_scalar(from) && all_scalar(to)))
            return compare_arrays(walk, from, to);
    } else if (!from && !to) {
        return true;
    }
    const struct plan_change change = {walk->pointer.data, from, to};
    return walk->on_change(walk->ctx, &change);
}

bool plan_diff(const struct json *from, const struct json *to, const char *prefix,
               bool (*on_change)(void *ctx, const struct plan_change *change), void *ctx) {
    struct diff_walk walk = {.on_change = on_change, .ctx = ctx};
    buffer_init(&walk.pointer, (size_t)1 << 20);
    bool ok = buffer_text(&walk.pointer, prefix) && compare(&walk, from, to);
    buffer_free(&walk.pointer);
    return ok;
}
