// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#define SHORT ((size_t)1 << 10) // bytes of a kept text, and of a message after the cut
#define FIRST 64                // short members, kept longest; no kind has as many
#define NAMED 8                 // parts named in the reason

struct size {
    size_t bytes, values;
};

// In the order of omission.
enum rank { RANK_CONTAINER, RANK_LONG_TEXT, RANK_FURTHER, RANK_CONDITION, RANK_SHORT };

struct status_part { // a member of the status, or one of its conditions
    struct json *parent, *value;
    struct size size;
    enum rank rank;
};

struct status_parts {
    struct status_part *list;
    size_t count, shorts;
};

static void parts_cleanup(struct status_parts *parts) {
    free(parts->list);
}

#define AUTO_PARTS __attribute__((cleanup(parts_cleanup))) struct status_parts

static size_t count_values(const struct json *value) {
    size_t count = 1;
    if (json_is_container(value))
        for (const struct json *child = json_first(value); child; child = json_next(child))
            count += count_values(child);
    return count;
}

// With its key and a comma. False: out of memory.
static bool measure(const struct json *value, struct size *out) {
    const char *key = json_key(value);
    size_t len = 0;
    AUTO_TEXT text = json_text(value, &len);
    *out = (struct size){.bytes = len + (key ? strlen(key) + 4 : 1), .values = count_values(value)};
    return text;
}

static size_t weight(struct size size) {
    size_t counted = size.values * STATUS_VALUE_BYTES;
    return counted > size.bytes ? counted : size.bytes;
}

static int heaviest_first(const void *a, const void *b) {
    const struct status_part *one = a, *other = b;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    size_t first = weight(one->size), second = weight(other->size);
    return first == second ? 0 : first > second ? -1 : 1;
}

// Cuts the message of the status or of a condition at the end of a character.
static bool cut_message(struct json *object) {
    const char *text = json_string(json_get(object, "message"));
    if (!text || strlen(text) <= SHORT)
        return true;
    size_t len = 0, step;
    while ((step = text_utf8_sequence(text + len, strlen(text + len))) > 0 && len + step <= SHORT)
        len += step;
    AUTO_TEXT cut = text_format("%.*s...", (int)len, text);
    return cut && json_set(object, "message", json_new_string(cut));
}

static bool cut_messages(struct json *status) {
    bool ok = cut_message(status);
    struct json *conditions = json_get(status, "conditions");
    for (struct json *c = json_is(conditions, JSON_ARRAY) ? json_first(conditions) : NULL; c && ok; c = json_next(c))
        ok = !json_is(c, JSON_OBJECT) || cut_message(c);
    return ok;
}

static enum rank rank_of(struct status_parts *parts, const struct status_part *part) {
    if (json_is_container(part->value))
        return RANK_CONTAINER;
    if (part->size.bytes > SHORT)
        return RANK_LONG_TEXT;
    return parts->shorts++ < FIRST ? RANK_SHORT : RANK_FURTHER;
}

static bool add_part(struct status_parts *parts, struct json *parent, struct json *value, bool condition) {
    struct status_part part = {.parent = parent, .value = value};
    struct status_part *place = array_next(&parts->list, parts->count, sizeof *parts->list);
    if (!place || !measure(value, &part.size))
        return false;
    part.rank = condition ? RANK_CONDITION : rank_of(parts, &part);
    *place = part;
    parts->count++;
    return true;
}

static bool divide(struct json *status, struct status_parts *parts) {
    bool ok = true;
    for (struct json *m = json_first(status); m && ok; m = json_next(m)) {
        bool conditions = json_is(m, JSON_ARRAY) && strcmp(json_key(m), "conditions") == 0;
        if (!conditions)
            ok = add_part(parts, status, m, false);
        for (struct json *c = conditions ? json_first(m) : NULL; c && ok; c = json_next(c))
            ok = add_part(parts, m, c, true);
    }
    return ok;
}

static bool is_over(struct size size, size_t max) {
    return size.bytes > max || size.values > max / STATUS_VALUE_BYTES;
}

// Leaves out parts, the heaviest first, and names them.
static void leave_out(struct status_parts *parts, size_t max, struct size size, struct buffer *names) {
    size_t count = 0;
    if (parts->count > 1)
        qsort(parts->list, parts->count, sizeof *parts->list, heaviest_first);
    for (; count < parts->count && is_over(size, max); count++) {
        const struct status_part *part = &parts->list[count];
        const char *key = json_key(part->value);
        if (count < NAMED)
            buffer_printf(names, "%s%.64s", count > 0 ? ", " : "", key ? key : "a condition");
        size.bytes -= part->size.bytes;
        size.values -= part->size.values;
        json_remove_child(part->parent, part->value);
    }
    if (count > NAMED)
        buffer_printf(names, " and %zu more", count - NAMED);
    if (count == 0)
        buffer_text(names, "the ends of long messages");
}

static bool reduce(struct json *status, size_t max, struct buffer *names) {
    AUTO_PARTS parts = {.list = NULL};
    struct size size;
    if (!cut_messages(status) || !measure(status, &size) || !divide(status, &parts))
        return false;
    leave_out(&parts, max, size, names);
    return true;
}

// The tree was made for the whole text, and would keep that memory.
static struct error *print_again(struct object *object) {
    size_t len = 0;
    AUTO_TEXT text = json_text(object->value, &len);
    struct json *value = NULL;
    TRY(text ? json_parse(text, len, &value) : error_no_memory());
    json_free(object->value);
    free(object->text);
    object->value = value;
    object->text = TAKE(text);
    object->len = len;
    return NULL;
}

struct error *status_limit(struct object *object, size_t max) {
    if (max == 0 || object->len <= max / STATUS_VALUE_BYTES * 2) // a value has two bytes at least
        return NULL;
    struct json *status = json_get(object->value, "status");
    AUTO_BUFFER(names, 1024);
    struct size size;
    if (!json_is(status, JSON_OBJECT))
        return NULL;
    if (!measure(status, &size))
        return error_no_memory();
    if (!is_over(size, max))
        return NULL;
    if (!reduce(status, max, &names))
        return error_no_memory();
    object->reduced = text_format("its status has %zu bytes in %zu values, and maxStatusSize is %zu; left out: %s",
                                  size.bytes, size.values, max, names.data ? names.data : "");
    return object->reduced ? print_again(object) : error_no_memory();
}
