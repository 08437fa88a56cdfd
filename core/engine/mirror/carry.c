// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/carry.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/kueue/kueue_labels.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#define POINTER_MAX ((size_t)1 << 20) // keys may be long
#define NEAR 64                       // items compared before an array is indexed

struct json *carry_member(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    if (json_is(member, JSON_OBJECT))
        return member;
    return json_set(object, key, json_new_object()) ? json_get(object, key) : NULL;
}

struct json *carry_metadata(struct json *object, const char *map) {
    return carry_member(carry_member(object, "metadata"), map);
}

struct json *carry_first(const struct json *object, const char *map) {
    const struct json *members = json_path(object, "metadata", map, NULL);
    return json_is(members, JSON_OBJECT) ? json_first(members) : NULL;
}

bool carry_rest(const struct json *from, struct json *to) {
    for (const struct json *m = json_first(from); m; m = json_next(m))
        if (strcmp(json_key(m), "metadata") != 0 && strcmp(json_key(m), "status") != 0 &&
            !json_set(to, json_key(m), json_copy(m)))
            return false;
    return true;
}

bool carry_is_removed(const wharf_kind *kind, const char *pointer) {
    if (text_equal(kind->managed_by, pointer))
        return true;
    for (const char *const *p = kind->removed; p && *p; p++)
        if (pointer_matches(*p, pointer))
            return true;
    return false;
}

// Labels for the management cluster's Kueue; a worker's Kueue would act on them too.
static bool is_of_kueue(const char *key) {
    return strcmp(key, KUEUE_QUEUE_NAME) == 0 || strcmp(key, KUEUE_PRIORITY_CLASS) == 0 ||
           strcmp(key, KUEUE_STOPPING) == 0;
}

static bool is_carried(const struct carrying *carrying, const char *key, const char *pointer) {
    return !mirror_key_is_private(key) && !(carrying->after->bare && is_of_kueue(key)) &&
           !carry_is_removed(carrying->kind, pointer);
}

// The pointer of a label or annotation, in a buffer that has "/metadata/<map>" in its first `len` bytes.
static const char *key_pointer(struct buffer *pointer, size_t len, const char *key) {
    buffer_truncate(pointer, len);
    return pointer_append(pointer, key) ? pointer->data : NULL;
}

static bool set_keys(struct carrying *carrying, const char *map, struct buffer *pointer) {
    struct json *to = carry_metadata(carrying->to, map);
    size_t len = pointer->len;
    for (const struct json *m = carry_first(carrying->from, map); m; m = json_next(m)) {
        const char *key = json_key(m), *at = key_pointer(pointer, len, key);
        if (!at)
            return false;
        if (is_carried(carrying, key, at) && !json_equal(json_get(to, key), m) && !json_set(to, key, json_copy(m)))
            return false;
    }
    buffer_truncate(pointer, len);
    return to;
}

// Removes keys that were carried earlier and that the workload no longer has.
static bool remove_keys(struct carrying *carrying, const char *map, struct buffer *pointer) {
    struct json *to = json_path(carrying->to, "metadata", map, NULL);
    const struct json *from = json_path(carrying->from, "metadata", map, NULL);
    size_t len = pointer->len;
    for (struct json *m = json_first(to), *next; m; m = next) {
        next = json_next(m);
        const char *key = json_key(m);
        if (json_get(from, key) || mirror_key_is_private(key))
            continue;
        const char *at = key_pointer(pointer, len, key);
        if (!at)
            return false;
        if (record_knows(carrying->before, record_pointer(at)))
            json_remove_child(to, m);
    }
    return true;
}

static bool record_keys(struct carrying *carrying, const char *map, struct buffer *pointer) {
    const struct json *to = json_path(carrying->to, "metadata", map, NULL);
    const struct json *theirs = json_path(carrying->mirror, "metadata", map, NULL);
    size_t len = pointer->len;
    for (const struct json *m = carry_first(carrying->from, map); m; m = json_next(m)) {
        const char *key = json_key(m), *at = key_pointer(pointer, len, key);
        if (!at)
            return false;
        if (!is_carried(carrying, key, at))
            continue;
        uint64_t where = record_pointer(at);
        const struct json *now = json_get(to, key);
        bool arrived = json_equal(now, m) || !json_equal(now, json_get(theirs, key));
        if ((arrived || record_knows(carrying->before, where)) && !record_add(&carrying->after->carried, where))
            return false;
    }
    return true;
}

// Calls `visit` for the labels and for the annotations, with the pointer of the map.
static bool each_map(struct carrying *carrying, bool (*visit)(struct carrying *, const char *, struct buffer *)) {
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < 2; i++) {
        AUTO_BUFFER(pointer, POINTER_MAX);
        if (!buffer_printf(&pointer, "/metadata/%s", maps[i]) || !visit(carrying, maps[i], &pointer))
            return false;
    }
    return true;
}

bool carry_keys(struct carrying *carrying) {
    return each_map(carrying, set_keys) && each_map(carrying, remove_keys);
}

bool carry_record_keys(struct carrying *carrying) {
    return each_map(carrying, record_keys);
}

// By an index, for arrays with items in another order. The last few indexes are kept.
static const struct json_place *look_up(struct carrying *carrying, const struct json *array, const char *name) {
    struct carry_indexes *indexes = &carrying->indexes;
    for (size_t i = 0; i < CARRY_INDEXES; i++)
        if (indexes->of[i] == array)
            return json_index_find(&indexes->index[i], name);
    size_t place = indexes->next++ % CARRY_INDEXES;
    struct json_index *index = &indexes->index[place];
    json_index_free(index);
    *index = (struct json_index){0};
    indexes->of[place] = json_index_init(index, array, carrying->key) ? array : NULL;
    return indexes->of[place] ? json_index_find(index, name) : NULL;
}

static void forget_indexes(struct carrying *carrying) {
    if (carrying->indexes.next == 0)
        return;
    for (size_t i = 0; i < CARRY_INDEXES; i++)
        json_index_free(&carrying->indexes.index[i]);
    carrying->indexes = (struct carry_indexes){0};
}

// The index of the first item of this name. False if there is none.
static bool find_named(struct carrying *carrying, const struct json *array, const char *name, size_t *place) {
    *place = 0;
    for (const struct json *item = json_first(array); item && *place < NEAR; item = json_next(item), ++*place)
        if (text_equal(json_string(json_get(item, carrying->key)), name))
            return true;
    const struct json_place *found = *place == NEAR ? look_up(carrying, array, name) : NULL;
    *place = found ? found->at : 0;
    return found;
}

// The item of `to` that is the counterpart of item `index` of `from`: by member `key`, or without that member by the
// position in arrays of equal length. False if there is none. Of several items of one name the first one counts.
static bool find_counterpart(struct carrying *carrying, const struct json *from, const struct json *to, size_t index,
                             size_t *place) {
    const char *key = carrying->key, *name = json_string(json_get(json_at(from, index), key));
    *place = index;
    if (!name)
        return json_size(from) == json_size(to);
    size_t first = 0;
    if (!find_named(carrying, from, name, &first) || first != index)
        return false;
    if (text_equal(json_string(json_get(json_at(to, index), key)), name))
        return true; // usually both arrays have the same order
    return find_named(carrying, to, name, place);
}

// Translates the pointer of a value in `from` to the pointer in `to`, which differs by the places in arrays only. An
// empty buffer if an item has no counterpart. False when out of memory.
static bool translate(struct carrying *carrying, const struct json *from, const struct json *to, const char *pointer,
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
        } else if (text_to_int64(segment + 1, &index) && find_counterpart(carrying, from, to, (size_t)index, &place)) {
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

// A parent of `pointer` is neither an object nor an array with that item.
static bool is_blocked(const struct json *to, const char *pointer) {
    AUTO_TEXT way = strdup(pointer);
    for (char *end = way ? strchr(way, '/') : NULL; end; end = strchr(end + 1, '/')) {
        *end = '\0';
        const struct json *on_the_way = pointer_find(to, way);
        *end = '/';
        if (!on_the_way)
            return false; // missing: can be created, or the array was checked before
        size_t len = strcspn(end + 1, "/");
        char after = end[1 + len];
        end[1 + len] = '\0';
        bool item = json_is(on_the_way, JSON_ARRAY) && !pointer_find(to, way);
        end[1 + len] = after;
        if (item || !json_is_container(on_the_way))
            return true;
    }
    return false;
}

// An index refers to items and names, and is rebuilt after one of these is replaced.
static void forget_if_named(struct carrying *carrying, const char *pointer) {
    const char *last = strrchr(pointer, '/') + 1;
    if (strcmp(last, carrying->key) == 0 || strspn(last, "0123456789") == strlen(last))
        forget_indexes(carrying);
}

static bool put_value(struct carrying *carrying, const char *pointer, struct json *value) {
    AUTO_BUFFER(there, POINTER_MAX);
    if (!translate(carrying, carrying->from, carrying->to, pointer, &there))
        return false;
    if (there.len == 0 || json_equal(pointer_find(carrying->to, there.data), value))
        return true;
    forget_if_named(carrying, pointer);
    // If a value of another type is in the way in the mirror, the adapter's update has to set the value.
    return pointer_set(carrying->to, there.data, json_copy(value)) || is_blocked(carrying->to, there.data);
}

static bool is_suspend(const wharf_kind *kind, const char *pointer) {
    return kind->suspend && strcmp(kind->suspend, pointer) == 0;
}

// `where` and `what` are record_pointer() and record_value() of the value at `pointer`.
static bool add_to_record(struct carrying *carrying, const char *pointer, uint64_t where, uint64_t what) {
    return record_add(&carrying->after->carried, where) &&
           (is_suspend(carrying->kind, pointer) || record_add(&carrying->after->values, what));
}

// A field that is not carried now stays on record until it is.
static bool keep_on_record(struct carrying *carrying, uint64_t where, uint64_t what) {
    return (!record_knows(carrying->before, where) || record_add(&carrying->after->carried, where)) &&
           (!record_has_value(carrying->before, what) || record_add(&carrying->after->values, what));
}

// The host wrote this value, and the worker may have replaced the value since.
static bool is_left(const struct carrying *carrying, const char *pointer, const struct json *value) {
    return is_suspend(carrying->kind, pointer)
               ? carrying->held
               : carrying->before->shared && record_has_value(carrying->before, record_value(pointer, value));
}

static bool carry_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    return is_left(carrying, pointer, value) || put_value(carrying, pointer, value);
}

static bool record_copied(void *ctx, const char *pointer, struct json *value) {
    return add_to_record(ctx, pointer, record_pointer(pointer), record_value(pointer, value));
}

static bool keep_value(void *ctx, const char *pointer, struct json *value) {
    return keep_on_record(ctx, record_pointer(pointer), record_value(pointer, value));
}

static void begin_pattern(struct carrying *carrying, const wharf_carried *carried) {
    forget_indexes(carrying); // the key differs, and items may have been removed
    carrying->key = carried->key ? carried->key : "name";
}

static bool is_below(const char *pattern, const char *carried) {
    size_t len = strlen(carried);
    return strncmp(pattern, carried, len) == 0 && pattern[len] == '/';
}

// A field that is carried whole may contain fields that a mirror must not have.
static void remove_below(const wharf_kind *kind, const char *carried, struct json *to) {
    if (is_below(kind->managed_by, carried))
        pointer_remove(to, kind->managed_by);
    for (const char *const *p = kind->removed; p && *p; p++)
        if (is_below(*p, carried))
            pointer_remove_all(to, *p);
}

static bool carried_now(const struct carrying *carrying, const wharf_carried *carried) {
    return carried->when == WHARF_CARRY_ALWAYS || phase_suspend_asked(carrying->kind, carrying->mirror);
}

// Removes from the mirror a value that was carried earlier and that the workload no longer has.
static bool remove_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    (void)value;
    AUTO_BUFFER(here, POINTER_MAX);
    AUTO_BUFFER(there, POINTER_MAX);
    if (!translate(carrying, carrying->mirror, carrying->from, pointer, &here))
        return false;
    // Without a counterpart the item is gone from the workload: items are not carried.
    if (here.len == 0 || pointer_find(carrying->from, here.data) ||
        !record_knows(carrying->before, record_pointer(here.data)))
        return true;
    if (!translate(carrying, carrying->from, carrying->to, here.data, &there))
        return false;
    forget_if_named(carrying, pointer);
    if (there.len > 0)
        pointer_remove(carrying->to, there.data);
    return true;
}

static bool carry_patterns(struct carrying *carrying) {
    for (const wharf_carried *c = carrying->kind->carried; c && c->pointer; c++) {
        if (!carried_now(carrying, c))
            continue;
        begin_pattern(carrying, c);
        if (!pointer_each(carrying->from, c->pointer, carry_value, carrying))
            return false;
        if (!(carrying->held && is_suspend(carrying->kind, c->pointer)) &&
            !pointer_each(carrying->mirror, c->pointer, remove_value, carrying))
            return false;
        remove_below(carrying->kind, c->pointer, carrying->to);
    }
    return true;
}

bool carry_spec(struct carrying *carrying) {
    bool ok = carry_patterns(carrying);
    forget_indexes(carrying);
    return ok;
}

// The pointers, in the mirror and in the desired mirror, of the value at `pointer` in the workload: see translate().
static bool find_places(struct carrying *carrying, const char *pointer, struct buffer *there, struct buffer *here) {
    return translate(carrying, carrying->from, carrying->mirror, pointer, there) &&
           translate(carrying, carrying->from, carrying->to, pointer, here);
}

static const struct json *value_at(const struct json *object, const struct buffer *place) {
    return place->len > 0 ? pointer_find(object, place->data) : NULL;
}

// Calls `now` for each value of the workload with a rule that applies now, and `later`, unless NULL, for the others.
static bool each_carried(struct carrying *carrying, bool (*now)(void *, const char *, struct json *),
                         bool (*later)(void *, const char *, struct json *)) {
    bool ok = true;
    for (const wharf_carried *c = carrying->kind->carried; ok && c && c->pointer; c++) {
        bool (*visit)(void *, const char *, struct json *) = carried_now(carrying, c) ? now : later;
        begin_pattern(carrying, c);
        ok = !visit || pointer_each(carrying->from, c->pointer, visit, carrying);
    }
    forget_indexes(carrying);
    return ok;
}

// A new mirror is a copy that has the carried fields already.
bool carry_record(struct carrying *carrying) {
    return each_carried(carrying, record_copied, record_copied);
}

static bool restore_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    if (!is_left(carrying, pointer, value))
        return true;
    AUTO_BUFFER(there, POINTER_MAX);
    AUTO_BUFFER(back, POINTER_MAX);
    if (!find_places(carrying, pointer, &there, &back))
        return false;
    if (back.len == 0)
        return true;
    const struct json *theirs = value_at(carrying->mirror, &there);
    forget_if_named(carrying, pointer);
    if (!theirs)
        pointer_remove(carrying->to, back.data);
    else if (!json_equal(pointer_find(carrying->to, back.data), theirs))
        return pointer_set(carrying->to, back.data, json_copy(theirs)) || is_blocked(carrying->to, back.data);
    return true;
}

bool carry_give_back(struct carrying *carrying) {
    const char *suspend = carrying->kind->suspend;
    if (carrying->before->shared && !each_carried(carrying, restore_value, NULL))
        return false;
    if (!carrying->held || !suspend)
        return true;
    const struct json *theirs = pointer_find(carrying->mirror, suspend);
    return !theirs || pointer_set(carrying->to, suspend, json_copy(theirs));
}

// Whether the mirror has the value, or gets the value with this patch: the adapter may keep the mirror's value for now.
// *out is not set when out of memory.
static bool find_arrived(struct carrying *carrying, const char *pointer, const struct json *value, bool *out) {
    AUTO_BUFFER(there, POINTER_MAX);
    AUTO_BUFFER(here, POINTER_MAX);
    if (!find_places(carrying, pointer, &there, &here))
        return false;
    const struct json *desired = value_at(carrying->to, &here);
    *out = json_equal(desired, value) || !json_equal(desired, value_at(carrying->mirror, &there));
    return true;
}

static bool record_carried(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    uint64_t where = record_pointer(pointer), what = record_value(pointer, value);
    bool arrived = is_suspend(carrying->kind, pointer) ? record_knows(carrying->before, where)
                                                       : record_has_value(carrying->before, what);
    if (!arrived && !find_arrived(carrying, pointer, value, &arrived))
        return false;
    return arrived ? add_to_record(carrying, pointer, where, what) : keep_on_record(carrying, where, what);
}

bool carry_record_changes(struct carrying *carrying) {
    return each_carried(carrying, record_carried, keep_value);
}
