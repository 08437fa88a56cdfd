// SPDX-License-Identifier: Apache-2.0
#include "core/json/pointer.h"

#include "core/base/text.h"
#include "core/json/node.h"

// One reference token (RFC 6901 section 3), still escaped: the text between two slashes.
struct segment {
    const char *text;
    size_t len;
    bool plain; // certainly without escapes
};

// *at is at a slash; advances to the next one or the end.
static struct segment take_segment(const char **at) {
    const char *start = *at + 1;
    *at = strchrnul(start, '/');
    return (struct segment){.text = start, .len = (size_t)(*at - start)};
}

static bool is_star(const struct segment *segment) {
    return segment->len == 1 && segment->text[0] == '*';
}

struct error *pointer_check(const char *pointer, bool pattern) {
    if (pointer[0] != '\0' && pointer[0] != '/')
        return error_new(ERROR_INVALID, "\"%s\" is not a JSON pointer: it must be empty or begin with '/'", pointer);
    if (text_utf8_valid(pointer, strlen(pointer)) < strlen(pointer))
        return error_new(ERROR_INVALID, "a JSON pointer is not UTF-8");
    for (const char *c = strchr(pointer, '~'); c; c = strchr(c + 1, '~'))
        if (c[1] == '\0' || !strchr(pattern ? "012" : "01", c[1]))
            return error_new(ERROR_INVALID, "\"%s\" is not a JSON pointer: after '~' only %s may follow", pointer,
                             pattern ? "0, 1 or 2" : "0 or 1");
    return NULL;
}

// The next character of a segment, unescaped. pointer_check accepts ~2 only in patterns.
static char take_char(const struct segment *segment, size_t *at) {
    char c = segment->text[(*at)++];
    if (c != '~' || *at == segment->len)
        return c;
    char code = segment->text[(*at)++];
    return code == '1' ? '/' : code == '2' ? '*' : '~';
}

static bool matches_key(const struct segment *segment, const char *key) {
    size_t at = 0;
    while (at < segment->len)
        if (*key == '\0' || take_char(segment, &at) != *key++)
            return false;
    return *key == '\0';
}

// `key` has room for the segment and a NUL.
static void unescape_into(const struct segment *segment, char *key) {
    for (size_t at = 0; at < segment->len;) {
        const char *rest = segment->text + at, *tilde = memchr(rest, '~', segment->len - at);
        size_t plain = tilde ? (size_t)(tilde - rest) : segment->len - at;
        key = mempcpy(key, rest, plain);
        at += plain;
        if (tilde)
            *key++ = take_char(segment, &at);
    }
    *key = '\0';
}

// RFC 6901 section 4: no leading zeros, no sign.
static bool read_index(const struct segment *segment, size_t *index) {
    if (segment->len == 0 || segment->len > 9 || (segment->len > 1 && segment->text[0] == '0'))
        return false;
    *index = 0;
    for (size_t i = 0; i < segment->len; i++) {
        if (segment->text[i] < '0' || segment->text[i] > '9')
            return false;
        *index = *index * 10 + (size_t)(segment->text[i] - '0');
    }
    return true;
}

// The member for a segment with escapes; needs no memory.
static struct json *find_escaped(const struct json *object, const struct segment *segment) {
    char key[512];
    if (segment->len < sizeof key) {
        unescape_into(segment, key);
        return json_get(object, key);
    }
    struct json *member = json_first(object);
    while (member && !matches_key(segment, json_key(member)))
        member = json_next(member);
    return member;
}

static struct json *child_at(const struct json *value, const struct segment *segment) {
    size_t index;
    int type = value ? node_type(node_of_const(value)) : cJSON_Invalid;
    if (type == cJSON_Array)
        return read_index(segment, &index) ? json_at(value, index) : NULL;
    if (type != cJSON_Object)
        return NULL;
    if (segment->plain || !memchr(segment->text, '~', segment->len))
        return node_json(node_member(node_of_const(value), segment->text, segment->len));
    return find_escaped(value, segment);
}

struct json *pointer_find(const struct json *root, const char *pointer) {
    if (pointer[0] != '\0' && pointer[0] != '/')
        return NULL;
    struct json *value = node_unconst(root);
    bool plain = !strchr(pointer, '~');
    while (value && *pointer) {
        struct segment segment = take_segment(&pointer);
        segment.plain = plain;
        value = child_at(value, &segment);
    }
    return value;
}

// Takes the value, as json_set does.
static bool set_member(struct json *object, const struct segment *segment, struct json *value) {
    AUTO_TEXT key = malloc(segment->len + 1);
    if (key)
        unescape_into(segment, key);
    return json_set(object, key, value);
}

// The container of the last segment, or NULL; with `make`, missing objects on the path are created.
static struct json *find_parent(struct json *root, const char *pointer, struct segment *last, bool make) {
    if (pointer[0] != '/')
        return NULL;
    struct json *value = root;
    for (;;) {
        *last = take_segment(&pointer);
        if (!*pointer)
            return value;
        struct json *child = child_at(value, last);
        if (!child && make && json_is(value, JSON_OBJECT) && set_member(value, last, json_new_object()))
            child = child_at(value, last);
        if (!child)
            return NULL;
        value = child;
    }
}

bool pointer_set(struct json *root, const char *pointer, struct json *value) {
    struct segment last = {.text = ""};
    struct json *parent = value ? find_parent(root, pointer, &last, true) : NULL;
    if (json_is(parent, JSON_OBJECT))
        return set_member(parent, &last, value);
    if (json_is(parent, JSON_ARRAY)) {
        if (last.len == 1 && last.text[0] == '-')
            return json_append(parent, value);
        return json_replace(parent, child_at(parent, &last), value);
    }
    json_free(value);
    return false;
}

bool pointer_remove(struct json *root, const char *pointer) {
    struct segment last = {.text = ""};
    struct json *parent = find_parent(root, pointer, &last, false);
    struct json *child = parent ? child_at(parent, &last) : NULL;
    if (!child)
        return false;
    json_remove_child(parent, child);
    return true;
}

bool pointer_append(struct buffer *out, const char *key) {
    buffer_char(out, '/');
    for (;;) {
        size_t plain = strcspn(key, "~/");
        buffer_append(out, key, plain);
        key += plain;
        if (!*key)
            return !out->failed;
        buffer_text(out, *key++ == '~' ? "~0" : "~1");
    }
}

bool pointer_append_child(struct buffer *out, const char *key, size_t index) {
    return key ? pointer_append(out, key) : buffer_printf(out, "/%zu", index);
}

struct pointer_walk {
    bool (*visit)(void *ctx, const char *pointer, struct json *value); // NULL: the walk removes the values
    void *ctx;
    struct buffer at; // the concrete pointer of the current value, with `visit`
    size_t removed;
};

static bool walk_from(struct pointer_walk *walk, struct json *value, const char *pattern, size_t depth);

static bool walk_child(struct pointer_walk *walk, struct json *parent, struct json *child, size_t index,
                       const char *rest, size_t depth) {
    if (!walk->visit && !*rest) {
        json_remove_child(parent, child);
        walk->removed++;
        return true;
    }
    size_t len = walk->at.len;
    bool ok = !walk->visit || pointer_append_child(&walk->at, json_key(child), index);
    ok = ok && walk_from(walk, child, rest, depth + 1);
    buffer_truncate(&walk->at, len);
    return ok;
}

static bool walk_from(struct pointer_walk *walk, struct json *value, const char *pattern, size_t depth) {
    if (!*pattern)
        return walk->visit(walk->ctx, walk->at.data, value);
    struct segment segment = take_segment(&pattern);
    if (depth >= JSON_MAX_DEPTH)
        return true; // no value is that deep
    size_t index = 0;
    if (!is_star(&segment)) {
        struct json *child = child_at(value, &segment);
        read_index(&segment, &index);
        return !child || walk_child(walk, value, child, index, pattern, depth);
    }
    for (struct json *child = json_first(value), *next; child; child = next) {
        next = json_next(child);
        if (!walk_child(walk, value, child, index++, pattern, depth))
            return false;
    }
    return true;
}

bool pointer_each(const struct json *root, const char *pattern,
                  bool (*visit)(void *ctx, const char *pointer, struct json *value), void *ctx) {
    if (!root || (pattern[0] != '\0' && pattern[0] != '/'))
        return true;
    if (!strpbrk(pattern, "*~")) { // not a pattern: a single value
        struct json *value = pointer_find(root, pattern);
        return !value || visit(ctx, pattern, value);
    }
    struct pointer_walk walk = {.visit = visit, .ctx = ctx};
    buffer_init(&walk.at, SIZE_MAX / 4);
    bool ok = buffer_append(&walk.at, "", 0) && walk_from(&walk, node_unconst(root), pattern, 0);
    buffer_free(&walk.at);
    return ok;
}

size_t pointer_remove_all(struct json *root, const char *pattern) {
    struct pointer_walk walk = {.visit = NULL};
    if (root && pattern[0] == '/')
        walk_from(&walk, root, pattern, 0);
    return walk.removed;
}

const char *pointer_step(const char *pattern, const char *key) {
    struct segment segment = take_segment(&pattern);
    return is_star(&segment) || matches_key(&segment, key) ? pattern : NULL;
}

bool pointer_matches(const char *pattern, const char *pointer) {
    while (*pattern && *pointer) {
        struct segment wanted = take_segment(&pattern), found = take_segment(&pointer);
        if (!is_star(&wanted) && (wanted.len != found.len || memcmp(wanted.text, found.text, found.len) != 0))
            return false;
    }
    return *pattern == *pointer;
}

bool pointer_pair(const char *pattern, const char *found, struct buffer *out) {
    while (*pattern) {
        struct segment segment = take_segment(&pattern), there = {.text = found, .len = 0};
        if (*found)
            there = take_segment(&found);
        const struct segment *taken = is_star(&segment) ? &there : &segment;
        buffer_char(out, '/');
        buffer_append(out, taken->text, taken->len);
    }
    return !out->failed;
}

bool pointer_has_star(const char *pattern) {
    bool star = false;
    while (*pattern && !star) {
        struct segment segment = take_segment(&pattern);
        star = is_star(&segment);
    }
    return star;
}
