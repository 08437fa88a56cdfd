// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/delta.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#define AHEAD 64 // how far a member is looked for
#define VALUE_BYTES ((size_t)64 << 20)

enum delta { DELTA_SAME, DELTA_WHOLE, DELTA_CHILDREN };

// The children, from the first one of the old container on. Those after EDIT_END go.
enum edit {
    EDIT_END,
    EDIT_KEEP,   // as many
    EDIT_DROP,   // as many
    EDIT_CHANGE, // this one, by a difference
    EDIT_ADD     // here: with a key in an object
};

// -- writing --

static void write_whole(struct buffer *out, const struct json *value) {
    size_t at = wire_put_later(out), begin = out->len;
    out->failed |= !json_print(value, out);
    wire_put_at(out, at, out->len - begin);
}

static bool is_same_text(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static bool is_same_scalar(const struct json *a, const struct json *b) {
    switch (json_type(a)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return json_bool(a, false) == json_bool(b, false);
    case JSON_NUMBER:
        return is_same_text(json_number_text(a), json_number_text(b));
    case JSON_STRING: // with U+0000 there is no text, and the value goes whole
        return is_same_text(json_string(a), json_string(b));
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return false;
}

struct walk {
    struct buffer *out;
    const struct json *old; // the next one of the old children
    size_t kept;            // children to keep that are not written yet
    bool same;              // so far
};

static void put_kept(struct walk *walk) {
    if (walk->kept > 0) {
        wire_put_u8(walk->out, EDIT_KEEP);
        wire_put_u32(walk->out, walk->kept);
    }
    walk->kept = 0;
    walk->same = false;
}

static bool has_key_of(const struct json *old, const struct json *child) {
    return text_equal(json_key(old), json_key(child));
}

// Drops the old children before the one with the child's key, if that is near.
static void skip_to(struct walk *walk, const struct json *child) {
    size_t count = 0;
    const struct json *at = walk->old;
    for (; at && count < AHEAD && !has_key_of(at, child); count++)
        at = json_next(at);
    if (!at || count == 0 || count == AHEAD)
        return;
    put_kept(walk);
    wire_put_u8(walk->out, EDIT_DROP);
    wire_put_u32(walk->out, count);
    walk->old = at;
}

static void walk_child(struct walk *walk, const struct json *child) {
    skip_to(walk, child);
    struct buffer *out = walk->out;
    size_t begin = out->len, kept = walk->kept;
    bool same = walk->same, paired = walk->old && has_key_of(walk->old, child);
    put_kept(walk);
    wire_put_u8(out, paired ? EDIT_CHANGE : EDIT_ADD);
    if (paired && delta_write(out, walk->old, child)) {
        buffer_truncate(out, begin);
        walk->kept = kept + 1;
        walk->same = same;
    } else if (!paired) {
        if (json_key(child))
            wire_put_text(out, json_key(child));
        write_whole(out, child);
    }
    walk->old = paired ? json_next(walk->old) : walk->old;
}

bool delta_write(struct buffer *out, const struct json *from, const struct json *to) {
    bool paired = from && json_type(from) == json_type(to);
    if (!paired || !json_is_container(to)) {
        bool same = paired && is_same_scalar(from, to);
        wire_put_u8(out, same ? DELTA_SAME : DELTA_WHOLE);
        if (!same)
            write_whole(out, to);
        return same;
    }
    size_t begin = out->len;
    struct walk walk = {.out = out, .old = json_first(from), .same = true};
    wire_put_u8(out, DELTA_CHILDREN);
    for (const struct json *child = json_first(to); child && !out->failed; child = json_next(child))
        walk_child(&walk, child);
    if (walk.same && !walk.old) {
        buffer_truncate(out, begin);
        wire_put_u8(out, DELTA_SAME);
        return true;
    }
    put_kept(&walk);
    wire_put_u8(out, EDIT_END);
    return false;
}

// -- applying --

struct applying {
    struct wire *wire;
    const struct delta_memory *memory;
};

static bool apply(const struct applying *to, struct json *parent, struct json **value);

static bool drop(const struct applying *to, struct json *value) {
    if (to->memory)
        return to->memory->drop(to->memory->ctx, value) || wire_fail(to->wire);
    json_free(value);
    return true;
}

static struct json *read_whole(struct wire *wire) {
    size_t len = 0;
    const char *text = wire_bytes(wire, &len);
    struct json *value = NULL;
    const struct json_limits limits = {.max_bytes = VALUE_BYTES};
    error_free(text ? json_parse_limited(text, len, &limits, &value) : NULL);
    if (!value)
        wire_fail(wire);
    return value;
}

static bool append(const struct applying *to, struct json *parent, const char *key, struct json *value) {
    return (key ? json_set(parent, key, value) : json_append(parent, value)) || wire_fail(to->wire);
}

// The old children that are not placed yet, once one was added before them.
struct rest {
    struct json **list;
    size_t at, count;
    bool apart;
};

static void rest_free(struct rest *rest) {
    for (; rest->apart && rest->at < rest->count; rest->at++)
        json_free(rest->list[rest->at]);
    free(rest->list);
}

// Takes the children from `first` on out of the parent.
static bool set_apart(struct json *parent, struct json *first, struct rest *rest) {
    size_t count = 0;
    for (struct json *at = first; at; at = json_next(at))
        count++;
    rest->list = calloc(count + 1, sizeof(struct json *));
    if (!rest->list)
        return false;
    for (struct json *at = first, *next = NULL; at; at = next) {
        next = json_next(at);
        json_unlink_child(parent, at);
        rest->list[rest->count++] = at;
    }
    return rest->apart = true;
}

// Puts the next one of the rest back, with its key.
static bool put_back(const struct applying *to, struct json *parent, struct rest *rest) {
    struct json *child = rest->list[rest->at++];
    return append(to, parent, json_key(child), child);
}

static bool keep(const struct applying *to, struct json *parent, struct json **at, struct rest *rest) {
    for (uint32_t count = wire_u32(to->wire); count > 0; count--) {
        if (rest->apart ? rest->at >= rest->count : !*at)
            return wire_fail(to->wire);
        if (rest->apart && !put_back(to, parent, rest))
            return false;
        *at = rest->apart ? NULL : json_next(*at);
    }
    return true;
}

static bool drop_next(const struct applying *to, struct json *parent, struct json **at, struct rest *rest) {
    struct json *child = rest->apart ? rest->list[rest->at++] : *at;
    if (rest->apart)
        return drop(to, child);
    *at = json_next(child);
    json_unlink_child(parent, child);
    return drop(to, child);
}

static bool drop_some(const struct applying *to, struct json *parent, struct json **at, struct rest *rest) {
    for (uint32_t count = wire_u32(to->wire); count > 0; count--)
        if ((rest->apart ? rest->at >= rest->count : !*at) || !drop_next(to, parent, at, rest))
            return wire_fail(to->wire);
    return true;
}

static bool change(const struct applying *to, struct json *parent, struct json **at, struct rest *rest) {
    if (rest->apart) { // put it back first, then change it in its place
        struct json *child = rest->at < rest->count ? rest->list[rest->at] : NULL;
        return (child && put_back(to, parent, rest) && apply(to, parent, &child)) || wire_fail(to->wire);
    }
    if (!*at || !apply(to, parent, at))
        return wire_fail(to->wire);
    *at = json_next(*at);
    return true;
}

static bool add(const struct applying *to, struct json *parent, struct json **at, struct rest *rest) {
    const char *key = json_is(parent, JSON_OBJECT) ? wire_text(to->wire) : NULL;
    AUTO_JSON value = !to->wire->failed ? read_whole(to->wire) : NULL;
    if (!value || (json_is(parent, JSON_OBJECT) && !key))
        return wire_fail(to->wire);
    if (!rest->apart && *at && !set_apart(parent, *at, rest))
        return wire_fail(to->wire);
    *at = NULL;
    return append(to, parent, key, TAKE(value));
}

static bool apply_children(const struct applying *to, struct json *parent) {
    __attribute__((cleanup(rest_free))) struct rest rest = {.apart = false};
    struct json *at = json_first(parent);
    for (;;) {
        bool ok = true;
        switch (wire_u8(to->wire)) {
        case EDIT_END:
            while (ok && (rest.apart ? rest.at < rest.count : (bool)at))
                ok = drop_next(to, parent, &at, &rest);
            return ok && !to->wire->failed;
        case EDIT_KEEP:
            ok = keep(to, parent, &at, &rest);
            break;
        case EDIT_DROP:
            ok = drop_some(to, parent, &at, &rest);
            break;
        case EDIT_CHANGE:
            ok = change(to, parent, &at, &rest);
            break;
        case EDIT_ADD:
            ok = add(to, parent, &at, &rest);
            break;
        default:
            return wire_fail(to->wire);
        }
        if (!ok)
            return false;
    }
}

// Applies a difference to *value, a child of `parent`; the new child replaces it.
static bool apply(const struct applying *to, struct json *parent, struct json **value) {
    unsigned how = wire_u8(to->wire);
    if (to->wire->failed || how > DELTA_CHILDREN)
        return wire_fail(to->wire);
    if (how == DELTA_SAME)
        return true;
    if (how == DELTA_CHILDREN)
        return json_is_container(*value) ? apply_children(to, *value) : wire_fail(to->wire);
    struct json *old = *value, *whole = read_whole(to->wire);
    if (!whole || !json_exchange(parent, old, whole))
        return wire_fail(to->wire);
    *value = whole;
    return drop(to, old);
}

static bool apply_root(const struct applying *to, struct json **value, bool root_stays) {
    AUTO_JSON whole = read_whole(to->wire);
    if (!whole)
        return false;
    if (!root_stays) {
        json_free(*value);
        *value = TAKE(whole);
        return true;
    }
    if (!json_is_container(*value) || json_type(*value) != json_type(whole))
        return wire_fail(to->wire);
    while (json_first(*value)) {
        struct json *child = json_first(*value);
        json_unlink_child(*value, child);
        if (!drop(to, child))
            return false;
    }
    return json_take_content(*value, whole) || wire_fail(to->wire);
}

bool delta_apply(struct wire *wire, struct json **value, bool root_stays, const struct delta_memory *memory) {
    const struct applying to = {wire, memory};
    unsigned how = wire_u8(wire);
    if (wire->failed || how > DELTA_CHILDREN)
        return wire_fail(wire);
    if (how == DELTA_WHOLE)
        return apply_root(&to, value, root_stays);
    if (!*value)
        return wire_fail(wire);
    if (how == DELTA_CHILDREN)
        return json_is_container(*value) ? apply_children(&to, *value) : wire_fail(wire);
    return true;
}
