// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/dropped.h"

#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placement_rules.h"
#include "core/engine/request/call.h"
#include "core/json/items.h"
#include "core/json/pointer.h"

#include <string.h>

#define POINTER_MAX ((size_t)4096)
#define DEPTH_MAX 64

struct dropped_search {
    const struct kind *kind; // whose removed fields do not count; NULL: all count
    struct buffer *out;      // NULL: only whether there are some
    size_t found;
};

// Where it is, from the top: its pointer is only made for what is missing.
struct dropped_at {
    const struct dropped_at *above;
    const char *key; // NULL: an item
    size_t index;
    int depth;
};

// Servers leave out what is empty.
static bool is_empty(const struct json *value, int depth) {
    switch (json_type(value)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !json_bool(value, false);
    case JSON_NUMBER:
        return json_double(value, 1) == 0;
    case JSON_STRING:
        return text_equal(json_string(value), "");
    case JSON_ARRAY:
    case JSON_OBJECT:
        for (const struct json *member = json_first(value); member; member = json_next(member))
            if (depth == DEPTH_MAX || !is_empty(member, depth + 1))
                return false;
        return true;
    }
    return true;
}

// A mirror never has it.
static bool is_removed(const struct dropped_search *search, const char *pointer) {
    const wharf_kind *abi = search->kind ? &search->kind->abi : NULL;
    if (!abi)
        return false;
    if (abi->managed_by && strcmp(abi->managed_by, pointer) == 0)
        return true;
    for (const char *const *pattern = abi->removed; pattern && *pattern; pattern++)
        if (pointer_matches(*pattern, pointer))
            return true;
    return false;
}

static void write_pointer(const struct dropped_at *place, struct buffer *out) {
    if (place->above) {
        write_pointer(place->above, out);
        pointer_append_child(out, place->key, place->index);
    } else {
        buffer_text(out, "/spec");
    }
}

static void note(struct dropped_search *search, const struct dropped_at *place) {
    AUTO_BUFFER(pointer, POINTER_MAX);
    write_pointer(place, &pointer);
    if (pointer.failed || is_removed(search, pointer.data))
        return;
    search->found++;
    if (search->out && search->found <= DROPPED_NAMED && search->out->len + pointer.len + 32 < DROPPED_TEXT_MAX)
        buffer_printf(search->out, "%s%s", search->found > 1 ? ", " : "", pointer.data);
}

static void compare(struct dropped_search *search, const struct json *sent, const struct json *stored,
                    const struct dropped_at *place);

static void compare_items(struct dropped_search *search, const struct json *sent, const struct json *stored,
                          struct dropped_at *place) {
    bool as_many = json_size(sent) == json_size(stored);
    const struct json *beside = json_first(stored);
    for (const struct json *item = json_first(sent); item; item = json_next(item), place->index++) {
        const char *name = json_string(json_get(item, "name"));
        const struct json *other = name ? json_find_item(stored, "name", name) : as_many ? beside : NULL;
        if (other)
            compare(search, item, other, place);
        beside = as_many ? json_next(beside) : NULL;
    }
}

static void compare_members(struct dropped_search *search, const struct json *sent, const struct json *stored,
                            struct dropped_at *place) {
    for (const struct json *member = json_first(sent); member; member = json_next(member)) {
        place->key = json_key(member);
        const struct json *other = json_get(stored, place->key);
        if (other)
            compare(search, member, other, place);
        else if (!is_empty(member, 0))
            note(search, place);
    }
}

// A value of another type was converted, not dropped.
static void compare(struct dropped_search *search, const struct json *sent, const struct json *stored,
                    const struct dropped_at *place) {
    struct dropped_at below = {.above = place, .depth = place->depth + 1};
    if (below.depth > DEPTH_MAX || json_type(sent) != json_type(stored))
        return;
    if (json_is(sent, JSON_ARRAY))
        compare_items(search, sent, stored, &below);
    else if (json_is(sent, JSON_OBJECT))
        compare_members(search, sent, stored, &below);
}

static size_t find(const struct kind *kind, const struct json *sent, const struct json *stored, struct buffer *out) {
    struct dropped_search search = {.kind = kind, .out = out};
    const struct json *spec = json_get(sent, "spec"), *kept = json_get(stored, "spec");
    if (spec && kept)
        compare(&search, spec, kept, &(struct dropped_at){.above = NULL});
    if (out && search.found > DROPPED_NAMED)
        buffer_printf(out, ", and %zu more", search.found - DROPPED_NAMED);
    return search.found;
}

size_t dropped_find(const struct json *sent, const struct json *stored, struct buffer *out) {
    return find(NULL, sent, stored, out);
}

bool dropped_are_refused(const struct engine *engine, const struct entry *entry) {
    return placement_rule_of(engine, entry, NULL, NULL)->require_fields;
}

size_t dropped_of(struct engine *engine, struct entry *entry, const struct json *stored, struct buffer *out) {
    const struct kind *kind = engine->kinds[entry->kind];
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    if (!workload || find(kind, workload, stored, NULL) == 0)
        return 0;
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    AUTO_JSON sent = NULL;
    wharf_result result = context.workload ? mirror_make(&context, &sent) : WHARF_RETRY;
    adapter_call_end(&call);
    return result == WHARF_OK ? find(NULL, sent, stored, out) : 0;
}
