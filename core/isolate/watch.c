// SPDX-License-Identifier: Apache-2.0
// Notes what a function reads of its object, so that the host need not ask again about another version with the same
// (core/adapter/process/memo.h). A value below the object is reached by a pointer from the object, which is noted, or
// by listing the object's members, which counts as reading all.
#include "core/adapter/services.h"
#include "core/isolate/isolate.h"

static struct { // services have no argument for it
    const struct json *root;
    unsigned seen;
    const wharf_host *host; // the services themselves
} watch;

void isolate_watch(const struct json *root) {
    watch.root = root;
    watch.seen = CALL_SECTIONS_SEEN | (root && !json_is(root, JSON_OBJECT) ? CALL_SECTIONS_ALL : 0);
}

unsigned isolate_seen(void) {
    return watch.seen;
}

static bool is_root(const wharf_value *value) {
    return value && (const struct json *)value == watch.root;
}

static void note_all(const wharf_value *value) {
    if (is_root(value))
        watch.seen = CALL_SECTIONS_ALL;
}

// `pointer` may be a pattern.
static void note(const wharf_value *value, const char *pointer) {
    if (!is_root(value) || !pointer || pointer[0] == '\0')
        return;
    size_t len = strcspn(pointer + 1, "/");
    unsigned i = 0;
    while (i < CALL_SECTIONS &&
           (strlen(call_section_names[i]) != len || strncmp(call_section_names[i], pointer + 1, len) != 0))
        i++;
    watch.seen = i < CALL_SECTIONS ? watch.seen | 1U << i : CALL_SECTIONS_ALL;
}

// The sibling of a member of the object.
static void note_next(const wharf_value *item) {
    const struct json *member = json_first(watch.root);
    for (unsigned i = 0; member && i < 2 * CALL_SECTIONS && member != (const struct json *)item; i++)
        member = json_next(member);
    if (member) // it is, or there are too many to know
        watch.seen = CALL_SECTIONS_ALL;
}

static const wharf_value *find(const wharf_value *value, const char *pointer) {
    note(value, pointer);
    return watch.host->find(value, pointer);
}

static const wharf_value *find_where(const wharf_value *value, const char *pointer, const char *key, const char *text) {
    note(value, pointer);
    return watch.host->find_where(value, pointer, key, text);
}

static int is(const wharf_value *value, const char *pointer, const char *text) {
    note(value, pointer);
    return watch.host->is(value, pointer, text);
}

static size_t count(const wharf_value *value) {
    note_all(value);
    return watch.host->count(value);
}

static const wharf_value *first(const wharf_value *value) {
    note_all(value);
    return watch.host->first(value);
}

static const wharf_value *next(const wharf_value *item) {
    if (item && watch.root && watch.seen != CALL_SECTIONS_ALL)
        note_next(item);
    return watch.host->next(item);
}

static int equal(const wharf_value *a, const wharf_value *b) {
    note_all(a);
    note_all(b);
    return watch.host->equal(a, b);
}

static const wharf_value *condition(const wharf_value *object, const char *type, const char *status) {
    note(object, "/status");
    return watch.host->condition(object, type, status);
}

static wharf_value *copy(const wharf_call *call, const wharf_value *value) {
    note_all(value);
    return watch.host->copy(call, value);
}

static const char *print(const wharf_call *call, const wharf_value *value, size_t *len) {
    note_all(value);
    return watch.host->print(call, value, len);
}

static void set(const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value) {
    note_all(value);
    watch.host->set(call, root, pattern, value);
}

static void take(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern) {
    if (pattern && pattern[0] == '\0')
        note_all(from);
    note(from, pattern);
    watch.host->take(call, root, from, pattern);
}

// Its times are those of the object's condition.
static wharf_value *set_condition(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                  const char *reason, const char *message) {
    note((const wharf_value *)watch.root, "/status");
    return watch.host->set_condition(call, object, type, status, reason, message);
}

void isolate_watch_reads(wharf_host *table) {
    watch.host = services_table();
    table->find = find;
    table->find_where = find_where;
    table->is = is;
    table->count = count;
    table->first = first;
    table->next = next;
    table->equal = equal;
    table->condition = condition;
    table->copy = copy;
    table->print = print;
    table->set = set;
    table->take = take;
    table->set_condition = set_condition;
}
