// SPDX-License-Identifier: Apache-2.0

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#define POINTER_MAX ((size_t)1 << 20) // keys may be long
#define NEAR 64                       // items compared before the host makes an index

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
    const struct json *members = json_get(json_get(object, "metadata"), map);
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

// The record has no values of labels and annotations.
static const wharf_carried keys[] = {
    {.pointer = "/metadata/labels/*"}, {.pointer = "/metadata/annotations/*"}, {.pointer = NULL}};

static bool is_private(const struct json *member) {
    return !json_key(member) || mirror_key_is_private(json_key(member));
}

static bool is_carried(const struct carrying *carrying, const char *pointer, const struct json *value) {
    return !carrying->keys || (!is_private(value) && !(carrying->after->bare && is_of_kueue(json_key(value))) &&
                               !carry_is_removed(carrying->kind, pointer));
}

// By an index, for arrays with items in another order. Keeps the last few indexes.
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

// Translates the pointer of a value in `from` to the pointer in `to`, which differs by the places in arrays only. ""
// if an item has no counterpart. The result is `pointer` or in `out`. NULL when out of memory.
static const char *translate(struct carrying *carrying, const struct json *from, const struct json *to,
                             const char *pointer, struct buffer *out) {
    if (carrying->keys || !strpbrk(pointer, "0123456789"))
        return pointer;
    while (*pointer) {
        size_t len = 1 + strcspn(pointer + 1, "/"), place = 0;
        AUTO_TEXT segment = strndup(pointer, len);
        int64_t index = 0;
        if (!segment)
            return NULL;
        if (!json_is(from, JSON_ARRAY) && !json_is(to, JSON_ARRAY)) {
            buffer_text(out, segment);
            to = pointer_find(to, segment);
        } else if (text_to_int64(segment + 1, &index) && find_counterpart(carrying, from, to, (size_t)index, &place)) {
            buffer_printf(out, "/%zu", place);
            to = json_at(to, place);
        } else {
            return "";
        }
        from = pointer_find(from, segment);
        pointer += len;
    }
    return out->failed ? NULL : out->data;
}

// The nearest parent of the missing value is neither an object, in which pointer_set creates the value, nor an array
// with that item.
static bool is_blocked(const struct json *to, const char *pointer) {
    AUTO_TEXT way = strdup(pointer);
    const struct json *parent = pointer_find(to, pointer);
    for (char *end; way && !parent && (end = strrchr(way, '/'));) {
        *end = '\0';
        parent = pointer_find(to, way);
    }
    return way && strlen(way) < strlen(pointer) && !json_is(parent, JSON_OBJECT);
}

// Drops the indexes if an item or a name changes, which an index refers to.
static void forget_if_named(struct carrying *carrying, const char *pointer) {
    const char *last = strrchr(pointer, '/') + 1;
    if (strcmp(last, carrying->key) == 0 || strspn(last, "0123456789") == strlen(last))
        forget_indexes(carrying);
}

static bool put_value(struct carrying *carrying, const char *pointer, struct json *value) {
    AUTO_BUFFER(text, POINTER_MAX);
    struct json *map = carrying->map;
    if (map) // the same in fewer steps
        return json_equal(json_get(map, json_key(value)), value) || json_set(map, json_key(value), json_copy(value));
    const char *there = translate(carrying, carrying->from, carrying->to, pointer, &text);
    if (!there || !*there || json_equal(pointer_find(carrying->to, there), value))
        return there;
    forget_if_named(carrying, pointer);
    // If a value of another type is in the way in the mirror, the adapter's update has to set the value.
    return pointer_set(carrying->to, there, json_copy(value)) || is_blocked(carrying->to, there);
}

static bool is_suspend(const wharf_kind *kind, const char *pointer) {
    return kind->suspend && strcmp(kind->suspend, pointer) == 0;
}

// The host wrote this value, and the worker may have replaced the value since.
static bool is_left(const struct carrying *carrying, const char *pointer, const struct json *value) {
    return is_suspend(carrying->kind, pointer)
               ? carrying->held
               : carrying->before->shared && record_has_value(carrying->before, record_value(pointer, value));
}

static bool is_empty(const struct json *value) {
    return !json_bool(value, !json_is(value, JSON_NULL) && !(json_is_container(value) && json_size(value) == 0));
}

// Differs only by members that are empty on one side and missing on the other, as after an update by a controller that
// reads and writes the whole object.
static bool is_rewritten(const struct json *theirs, const struct json *value) {
    if (json_equal(theirs, value))
        return true;
    bool arrays = json_is(theirs, JSON_ARRAY) && json_is(value, JSON_ARRAY) && json_size(theirs) == json_size(value);
    if (!arrays && !(json_is(theirs, JSON_OBJECT) && json_is(value, JSON_OBJECT)))
        return false;
    const struct json *item = arrays ? json_first(theirs) : NULL;
    for (const struct json *m = json_first(value); m; m = json_next(m), item = arrays ? json_next(item) : NULL) {
        const struct json *other = arrays ? item : json_get(theirs, json_key(m));
        if (other ? !is_rewritten(other, m) : !is_empty(m))
            return false;
    }
    for (const struct json *m = arrays ? NULL : json_first(theirs); m; m = json_next(m))
        if (!json_get(value, json_key(m)) && !is_empty(m))
            return false;
    return true;
}

// The mirror has the value already, in the words of the worker's controller: writing the value again would only lead to
// another write of the controller.
static bool is_there(const struct carrying *carrying, const char *pointer, const struct json *value) {
    if (carrying->keys || !json_is_container(value) || strpbrk(pointer, "0123456789"))
        return false;
    const struct json *theirs = pointer_find(carrying->mirror, pointer);
    return theirs && !json_equal(theirs, value) && is_rewritten(theirs, value) &&
           record_has_value(carrying->before, record_value(pointer, value));
}

static bool carry_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    return !is_carried(carrying, pointer, value) || is_left(carrying, pointer, value) ||
           is_there(carrying, pointer, value) || put_value(carrying, pointer, value);
}

// 0: the values of labels, annotations and `suspend` are not recorded.
static uint64_t hash_value(const struct carrying *carrying, const char *pointer, const struct json *value) {
    return carrying->keys || is_suspend(carrying->kind, pointer) ? 0 : record_value(pointer, value);
}

// `arrived`: the mirror has the value, or gets the value. Other fields stay on record for later.
static bool record_field(struct carrying *carrying, uint64_t where, uint64_t what, bool arrived) {
    bool keeps = arrived || record_knows(carrying->before, where);
    bool keeps_value = what && (arrived || record_has_value(carrying->before, what));
    return (!keeps || record_add(&carrying->after->carried, where)) &&
           (!keeps_value || record_add(&carrying->after->values, what));
}

static bool record_copied(void *ctx, const char *pointer, struct json *value) {
    return record_field(ctx, record_pointer(pointer), hash_value(ctx, pointer, value), true);
}

static void begin_pattern(struct carrying *carrying, const wharf_carried *carried) {
    forget_indexes(carrying); // the key differs, and items may be gone
    carrying->key = carried->key ? carried->key : "name";
}

static bool is_below(const char *pattern, const char *carried) {
    size_t len = strlen(carried);
    return strncmp(pattern, carried, len) == 0 && pattern[len] == '/';
}

// A carried field may contain fields that a mirror must not have.
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

// Removes from the mirror a carried value that the workload no longer has.
static bool remove_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    if ((carrying->keys && is_private(value)) || (carrying->held && is_suspend(carrying->kind, pointer)))
        return true;
    AUTO_BUFFER(text, POINTER_MAX);
    AUTO_BUFFER(more, POINTER_MAX);
    const char *here = translate(carrying, carrying->mirror, carrying->from, pointer, &text);
    // Without a counterpart the item is gone from the workload: items are not carried.
    if (!here || !*here || pointer_find(carrying->from, here) || !record_knows(carrying->before, record_pointer(here)))
        return here;
    const char *there = translate(carrying, carrying->from, carrying->to, here, &more);
    forget_if_named(carrying, pointer);
    if (there && *there)
        pointer_remove(carrying->to, there);
    return there;
}

bool carry_fields(struct carrying *carrying, bool of_keys) {
    bool ok = true;
    carrying->keys = of_keys;
    for (const wharf_carried *c = of_keys ? keys : carrying->kind->carried; ok && c && c->pointer; c++) {
        if (!carried_now(carrying, c))
            continue;
        begin_pattern(carrying, c);
        carrying->map = of_keys ? carry_metadata(carrying->to, c == keys ? "labels" : "annotations") : NULL;
        ok = pointer_each(carrying->from, c->pointer, carry_value, carrying) &&
             pointer_each(carrying->mirror, c->pointer, remove_value, carrying);
        remove_below(carrying->kind, c->pointer, carrying->to);
    }
    forget_indexes(carrying);
    return ok;
}

// Calls `visit` for each value of the workload, with carrying->applies as the rule of the pattern is.
static bool each_carried(struct carrying *carrying, bool of_keys, bool (*visit)(void *, const char *, struct json *)) {
    bool ok = true;
    carrying->keys = of_keys;
    for (const wharf_carried *c = of_keys ? keys : carrying->kind->carried; ok && c && c->pointer; c++) {
        carrying->applies = carried_now(carrying, c);
        begin_pattern(carrying, c);
        ok = pointer_each(carrying->from, c->pointer, visit, carrying);
    }
    forget_indexes(carrying);
    return ok;
}

static const struct json *value_at(const struct json *object, const char *place) {
    return *place ? pointer_find(object, place) : NULL;
}

static bool restore_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    if (!carrying->applies || !is_left(carrying, pointer, value))
        return true;
    AUTO_BUFFER(text, POINTER_MAX);
    AUTO_BUFFER(more, POINTER_MAX);
    const char *there = translate(carrying, carrying->from, carrying->mirror, pointer, &text);
    const char *here = there ? translate(carrying, carrying->from, carrying->to, pointer, &more) : NULL;
    if (!here || !*here)
        return here;
    const struct json *theirs = value_at(carrying->mirror, there);
    forget_if_named(carrying, pointer);
    if (!theirs)
        pointer_remove(carrying->to, here);
    else if (!json_equal(pointer_find(carrying->to, here), theirs))
        return pointer_set(carrying->to, here, json_copy(theirs)) || is_blocked(carrying->to, here);
    return true;
}

bool carry_give_back(struct carrying *carrying) {
    const wharf_kind *kind = carrying->kind;
    if (carrying->before->shared && !each_carried(carrying, false, restore_value))
        return false;
    const struct json *theirs = carrying->held && kind->suspend ? pointer_find(carrying->mirror, kind->suspend) : NULL;
    return !theirs || pointer_set(carrying->to, kind->suspend, json_copy(theirs));
}

// Whether the mirror has the value, or gets the value with this patch: the adapter may keep the mirror's value for now.
static bool record_carried(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    if (!is_carried(carrying, pointer, value))
        return true;
    uint64_t where = record_pointer(pointer), what = hash_value(carrying, pointer, value);
    bool arrived = what ? record_has_value(carrying->before, what) : record_knows(carrying->before, where);
    if (!carrying->applies || arrived)
        return record_field(carrying, where, what, carrying->applies);
    AUTO_BUFFER(text, POINTER_MAX);
    AUTO_BUFFER(more, POINTER_MAX);
    const char *there = translate(carrying, carrying->from, carrying->mirror, pointer, &text);
    const char *here = there ? translate(carrying, carrying->from, carrying->to, pointer, &more) : NULL;
    if (!here)
        return false;
    const struct json *desired = value_at(carrying->to, here);
    arrived = json_equal(desired, value) || !json_equal(desired, value_at(carrying->mirror, there));
    return record_field(carrying, where, what, arrived);
}

bool carry_record(struct carrying *carrying) {
    return each_carried(carrying, false, record_copied);
}

bool carry_record_changes(struct carrying *carrying, bool of_keys) {
    return each_carried(carrying, of_keys, record_carried);
}
