// SPDX-License-Identifier: Apache-2.0
// Notes what functions read of their documents, so that the host need not ask again about others with the same values
// (core/adapter/process/memo.h). A value below a document is reached by a pointer from the document, which is noted, or
// by listing the document's members, which counts as reading all.
#include "core/adapter/services.h"
#include "core/isolate/isolate.h"

#define KINDS 64 // further ones have no lists: the host asks each time

struct reads {
    struct call_reads of[CALL_WATCHED]; // with texts of its own
    size_t told[CALL_WATCHED];
    const char *given[CALL_WATCHED][CALL_POINTERS]; // the adapter's own texts, mostly constants
};

static struct { // services have no argument for it
    const struct json *roots[CALL_WATCHED];
    struct reads *reads; // of the present function; NULL: none
    struct reads *all[KINDS][ADAPTER_FUNCTIONS];
    uint32_t kind, function;
    const wharf_host *host; // the services themselves
} watch;

void isolate_watch(uint32_t kind, uint32_t function, const struct json *const roots[CALL_WATCHED]) {
    watch.kind = kind;
    watch.function = function;
    struct reads **place = kind < KINDS && function < ADAPTER_FUNCTIONS ? &watch.all[kind][function] : NULL;
    if (place && !*place)
        *place = calloc(1, sizeof **place);
    watch.reads = place ? *place : NULL;
    for (size_t i = 0; i < CALL_WATCHED; i++) {
        watch.roots[i] = roots[i];
        if (watch.reads && roots[i] && !json_is(roots[i], JSON_OBJECT))
            watch.reads->of[i].all = true;
    }
}

void isolate_tell_reads(struct call_answer *answer) {
    answer->kind = watch.kind;
    answer->function = watch.function;
    for (size_t i = 0; i < CALL_WATCHED; i++) {
        struct call_reads *told = &answer->reads[i];
        told->all = !watch.reads || watch.reads->of[i].all;
        for (size_t j = watch.reads ? watch.reads->told[i] : 0; watch.reads && j < watch.reads->of[i].count; j++)
            told->pointers[told->count++] = watch.reads->of[i].pointers[j];
        if (watch.reads)
            watch.reads->told[i] = watch.reads->of[i].count;
    }
}

static void note_all(const wharf_value *value) {
    for (size_t i = 0; value && watch.reads && i < CALL_WATCHED; i++)
        if ((const struct json *)value == watch.roots[i])
            watch.reads->of[i].all = true;
}

static bool is_noted(const struct reads *reads, size_t i, const char *pointer, size_t len) {
    const struct call_reads *of = &reads->of[i];
    for (size_t j = 0; j < of->count; j++)
        if (reads->given[i][j] == pointer && strlen(of->pointers[j]) == len &&
            memcmp(of->pointers[j], pointer, len) == 0)
            return true;
    for (size_t j = 0; j < of->count; j++)
        if (strlen(of->pointers[j]) == len && memcmp(of->pointers[j], pointer, len) == 0)
            return true;
    return false;
}

static void add(struct reads *reads, size_t i, const char *pointer) {
    struct call_reads *of = &reads->of[i];
    const char *star = strstr(pointer, "/*");
    size_t len = star ? (size_t)(star - pointer) : strlen(pointer);
    if (of->all || is_noted(reads, i, pointer, len))
        return;
    char *copy = len > 0 && len < CALL_POINTER_MAX && of->count < CALL_POINTERS ? strndup(pointer, len) : NULL;
    of->all |= !copy;
    if (!copy)
        return;
    reads->given[i][of->count] = pointer;
    of->pointers[of->count++] = copy;
}

// `pointer` may be a pattern: what is above the first star is read.
static void note(const wharf_value *value, const char *pointer) {
    for (size_t i = 0; value && watch.reads && pointer && pointer[0] != '\0' && i < CALL_WATCHED; i++)
        if ((const struct json *)value == watch.roots[i])
            add(watch.reads, i, pointer);
}

static bool is_member(const struct json *root, const struct json *item) {
    const struct json *member = json_first(root);
    for (unsigned i = 0; member && i < 16 && member != item; i++)
        member = json_next(member);
    return member; // it is, or there are too many to know
}

// Goes on to a sibling, which may be a member of a document.
static void note_next(const wharf_value *item) {
    for (size_t i = 0; watch.reads && i < CALL_WATCHED; i++)
        if (!watch.reads->of[i].all && json_is(watch.roots[i], JSON_OBJECT) &&
            is_member(watch.roots[i], (const struct json *)item))
            watch.reads->of[i].all = true;
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
    if (item)
        note_next(item);
    return watch.host->next(item);
}

static int equal(const wharf_value *a, const wharf_value *b) {
    note_all(a);
    note_all(b);
    return watch.host->equal(a, b);
}

static const wharf_value *condition(const wharf_value *object, const char *type, const char *status) {
    note(object, "/status/conditions");
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
    note((const wharf_value *)watch.roots[0], "/status/conditions");
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
