// SPDX-License-Identifier: Apache-2.0
// The services that change a value. A replaced or removed value moves to the call's memory, so that the adapter's so
// pointers stay valid until the call returns.
#include "core/adapter/services/services_memory.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#define STAR "/*"

// A container to change, and the counterpart in the source of take.
struct place {
    struct json *parent;
    const struct json *from;
};

// One change: a pattern in two parts, and the containers that the first part matches.
struct pattern_change {
    struct adapter_call *call;
    struct json *root;
    const struct json *from; // of take; else NULL
    struct json *value;      // of set, owned; else NULL
    const char *pattern;
    char *way;        // without the last segment
    const char *last; // the last segment, with the slash
    struct place *places;
    size_t count, capacity;
    // Most patterns are short, and match one container.
    char short_way[64];
    struct place first_place;
};

static void change_cleanup(struct pattern_change *change) {
    if (change->way != change->short_way)
        free(change->way);
    if (change->places != &change->first_place)
        free(change->places);
    json_free(change->value);
}

#define AUTO_CHANGE __attribute__((cleanup(change_cleanup))) struct pattern_change

static bool add_place(struct pattern_change *change, struct json *parent, const struct json *from) {
    struct place *grown = change->count > 1 ? change->places : NULL;
    if (change->count > 0 && !array_reserve(&grown, &change->capacity, change->count + 1, sizeof *grown))
        return false;
    if (change->count == 1)
        grown[0] = change->first_place;
    change->places = grown ? grown : &change->first_place;
    change->places[change->count++] = (struct place){parent, from};
    return true;
}

static bool collect(void *ctx, const char *pointer, struct json *value) {
    struct pattern_change *change = ctx;
    return add_place(change, value, change->from ? pointer_find(change->from, pointer) : NULL);
}

// `segment` begins with its slash.
static void refuse_below(const struct pattern_change *change, const struct json *parent, const char *segment) {
    if (json_is(parent, JSON_ARRAY))
        services_refuse(change->call, "%s: cannot be set: the array has no item \"%.*s\"", change->pattern,
                        (int)strcspn(segment + 1, "/"), segment + 1);
    else
        services_refuse(change->call, "%s: cannot be set below %s", change->pattern, services_type_name(parent));
}

// The value at `way`; creates missing objects. NULL and a failure if a value of another type prevents that.
static struct json *make_way(const struct pattern_change *change) {
    struct json *deepest = change->root;
    char *at = change->way;
    while (*at) {
        char *end = at + 1 + strcspn(at + 1, "/"), after = *end;
        *end = '\0';
        struct json *child = pointer_find(deepest, at);
        *end = after;
        if (!child)
            break;
        deepest = child;
        at = end;
    }
    if (!*at)
        return deepest;
    if (!json_is(deepest, JSON_OBJECT))
        refuse_below(change, deepest, at);
    else if (pointer_set(deepest, at, json_new_object()))
        return pointer_find(deepest, at);
    else
        services_no_memory(change->call);
    return NULL;
}

// False and a failure for a malformed pattern, or when out of memory.
static bool open_change(struct pattern_change *change, const wharf_call *call, wharf_value *root, const char *pattern) {
    *change = (struct pattern_change){.call = services_call(call), .root = (struct json *)root, .pattern = pattern};
    if (!change->call)
        return false;
    if (!pattern || !services_is_pointer(pattern, true))
        return services_refuse(change->call, "found %s%s%s, expected a JSON pointer or a pattern", pattern ? "\"" : "",
                               pattern ? pattern : "no pointer", pattern ? "\"" : "");
    const char *slash = strrchr(pattern, '/');
    if (!slash)
        return true;
    size_t len = (size_t)(slash - pattern);
    change->last = slash;
    change->way = len < sizeof change->short_way ? change->short_way : malloc(len + 1);
    if (!change->way)
        return services_no_memory(change->call);
    memcpy(change->way, pattern, len);
    change->way[len] = '\0';
    return true;
}

// Finds the containers; `make`: creates missing ones unless there is a star.
static bool find_places(struct pattern_change *change, bool make) {
    if (pointer_has_star(change->way))
        return pointer_each(change->root, change->way, collect, change) || services_no_memory(change->call);
    bool whole = make && !pointer_has_star(change->pattern);
    struct json *parent = whole ? make_way(change) : pointer_find(change->root, change->way);
    if (!parent)
        return !whole;
    return add_place(change, parent, change->from ? pointer_find(change->from, change->way) : NULL) ||
           services_no_memory(change->call);
}

// Moves `child` from `parent` to the call's memory.
static bool retire(struct adapter_call *call, struct json *parent, struct json *child) {
    if (!services_reserve(call))
        return false;
    json_unlink_child(parent, child);
    return services_keep_value(call, child);
}

static bool replace(struct adapter_call *call, struct json *parent, struct json *old, struct json *value) {
    if (!services_reserve(call)) {
        json_free(value);
        return false;
    }
    if (!json_exchange(parent, old, value))
        return services_no_memory(call);
    return services_keep_value(call, old);
}

bool services_put_member(struct adapter_call *call, struct json *object, const char *key, struct json *value) {
    struct json *old = json_get(object, key);
    if (old && value)
        return replace(call, object, old, value);
    return json_set(object, key, value) || services_no_memory(call);
}

// Sets the last segment below `parent` to `value`, and takes `value`.
static void put(const struct pattern_change *change, struct json *parent, struct json *value) {
    struct json *old = json_is_container(parent) ? pointer_find(parent, change->last) : NULL;
    if (!value) {
        services_no_memory(change->call);
    } else if (old) {
        replace(change->call, parent, old, value);
    } else if (json_is(parent, JSON_OBJECT) || (json_is(parent, JSON_ARRAY) && strcmp(change->last, "/-") == 0)) {
        if (!pointer_set(parent, change->last, value))
            services_no_memory(change->call);
    } else {
        refuse_below(change, parent, change->last);
        json_free(value);
    }
}

// The replacement of a child of the place, or with `child` NULL of the place's field: the value of set, or the
// counterpart of take. NULL: the child is removed.
static const struct json *find_replacement(const struct pattern_change *change, const struct place *place,
                                           const struct json *child, size_t index) {
    if (change->value)
        return change->value;
    if (!child)
        return place->from ? pointer_find(place->from, change->last) : NULL;
    return json_key(child) ? json_get(place->from, json_key(child)) : json_at(place->from, index);
}

// The number of children that were replaced by copies or removed.
static size_t change_children(const struct pattern_change *change, const struct place *place) {
    struct adapter_call *call = change->call;
    struct json *parent = place->parent;
    size_t index = 0;
    for (struct json *child = json_is_container(parent) ? json_first(parent) : NULL; child; index++) {
        struct json *next = json_next(child);
        const struct json *value = find_replacement(change, place, child, index);
        struct json *copy = value ? services_copy(call, value) : NULL;
        if (value ? !copy || !replace(call, parent, child, copy) : !retire(call, parent, child))
            return index;
        child = next;
    }
    return index;
}

// 1 if the field was removed, else 0.
static size_t change_field(const struct pattern_change *change, const struct place *place) {
    const struct json *value = find_replacement(change, place, NULL, 0);
    if (value) {
        put(change, place->parent, services_copy(change->call, value));
        return 0;
    }
    struct json *child = json_is_container(place->parent) ? pointer_find(place->parent, change->last) : NULL;
    return child && retire(change->call, place->parent, child);
}

// The number of removed values, unless some are set.
static size_t change_places(struct pattern_change *change) {
    bool star = strcmp(change->last, STAR) == 0;
    size_t count = 0;
    for (size_t i = 0; i < change->count; i++)
        if (star)
            count += change_children(change, &change->places[i]);
        else if (change->value && i + 1 == change->count) // gets the value itself
            put(change, change->places[i].parent, TAKE(change->value));
        else
            count += change_field(change, &change->places[i]);
    return count;
}

// For "" as the pointer. Takes `value`.
static void replace_content(const struct pattern_change *change, struct json *value) {
    AUTO_JSON taken = value;
    struct json *root = change->root;
    if (!json_is_container(root) || json_type(root) != json_type(value)) {
        services_refuse(change->call, "\"\": the content of %s cannot be replaced by that of %s",
                        services_type_name(root), services_type_name(value));
        return;
    }
    struct json *old = json_is(root, JSON_ARRAY) ? json_new_array() : json_new_object();
    if (!services_keep_value(change->call, old))
        return;
    json_take_content(old, root);
    json_take_content(root, taken);
}

bool services_is_too_deep(const struct json *value, size_t around) {
    if (!json_is_container(value))
        return around > JSON_MAX_DEPTH;
    if (around >= JSON_MAX_DEPTH)
        return true;
    for (const struct json *child = json_first(value); child; child = json_next(child))
        if (services_is_too_deep(child, around + 1))
            return true;
    return false;
}

void services_refuse_depth(struct adapter_call *call, const char *what) {
    services_refuse(call, "%s nested deeper than %d levels", what, JSON_MAX_DEPTH);
}

struct json *services_copy(struct adapter_call *call, const struct json *value) {
    struct json *copy = json_copy(value);
    if (copy)
        return copy;
    if (services_is_too_deep(value, 0))
        services_refuse_depth(call, "a value cannot be copied: it is");
    else
        services_no_memory(call);
    return NULL;
}

static size_t segments(const char *pointer) {
    size_t count = 0;
    for (; *pointer; pointer++)
        count += *pointer == '/';
    return count;
}

// Whether there is a value to change, and `value` can be set.
static bool is_possible(const struct pattern_change *change, const struct json *value) {
    const char *problem = NULL;
    if (!change->root)
        problem = "the value to be changed is absent";
    else if (!value)
        problem = "the value to be set is absent";
    else if (services_is_too_deep(value, segments(change->pattern)))
        problem = "it would be nested too deep";
    if (problem)
        services_refuse(change->call, "%s: cannot be set: %s", *change->pattern ? change->pattern : "\"\"", problem);
    return !problem;
}

// change->value is NULL for an absent one, which is refused.
static void set(struct pattern_change *change) {
    if (!is_possible(change, change->value))
        return;
    if (!change->last)
        replace_content(change, TAKE(change->value));
    else if (find_places(change, true))
        change_places(change);
}

void services_set(const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value) {
    AUTO_CHANGE change;
    if (!open_change(&change, call, root, pattern))
        return;
    change.value = value ? services_copy(change.call, (const struct json *)value) : NULL;
    if (change.value || !value)
        set(&change);
}

// Sets and takes a value that a shorthand created. NULL means out of memory.
static void set_new(const wharf_call *call, wharf_value *root, const char *pattern, struct json *value) {
    AUTO_JSON taken = value;
    AUTO_CHANGE change;
    if (!open_change(&change, call, root, pattern))
        return;
    change.value = TAKE(taken);
    if (change.value)
        set(&change);
    else
        services_no_memory(change.call);
}

void services_set_string(const wharf_call *call, wharf_value *root, const char *pattern, const char *text) {
    struct adapter_call *owner = services_call(call);
    if (!text)
        services_refuse(owner, "%s: cannot be set: the text is absent", pattern ? pattern : "");
    else if (text_utf8_valid(text, strlen(text)) < strlen(text))
        services_refuse(owner, "%s: cannot be set: the text is not UTF-8", pattern ? pattern : "");
    else
        set_new(call, root, pattern, json_new_string(text));
}

void services_set_integer(const wharf_call *call, wharf_value *root, const char *pattern, int64_t value) {
    set_new(call, root, pattern, json_new_int64(value));
}

void services_set_boolean(const wharf_call *call, wharf_value *root, const char *pattern, int value) {
    set_new(call, root, pattern, json_new_bool(value != 0));
}

size_t services_remove(const wharf_call *call, wharf_value *root, const char *pattern) {
    AUTO_CHANGE change;
    if (!open_change(&change, call, root, pattern))
        return 0;
    if (!change.last)
        return services_refuse(change.call, "\"\": a value cannot be removed from itself");
    return root && find_places(&change, false) ? change_places(&change) : 0;
}

void services_take(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern) {
    AUTO_CHANGE change;
    if (!open_change(&change, call, root, pattern))
        return;
    change.from = (const struct json *)from;
    const struct json *value = change.from && !pointer_has_star(pattern) ? pointer_find(change.from, pattern) : NULL;
    if (value ? !is_possible(&change, value) : !root)
        return;
    if (!change.last) {
        struct json *copy = value ? services_copy(change.call, value) : NULL;
        if (copy)
            replace_content(&change, copy);
        else if (!value)
            services_refuse(change.call, "\"\": a value cannot be removed from itself");
        return;
    }
    if (find_places(&change, value))
        change_places(&change);
}

wharf_value *services_edit(const wharf_call *call, wharf_value *root, const char *pointer) {
    struct adapter_call *owner = services_call(call);
    if (!pointer || !services_is_pointer(pointer, false)) {
        services_refuse(owner, "found \"%s\", expected a JSON pointer", pointer ? pointer : "");
        return NULL;
    }
    struct json *part = root && owner ? pointer_find((struct json *)root, pointer) : NULL;
    if (part && *pointer)
        owner->part_given = true;
    return (wharf_value *)part;
}
