// SPDX-License-Identifier: Apache-2.0
// The fields of a kind on the wire. Both sides have the struct in their own layout, which is the same.
#include "core/adapter/process/hello_kind.h"

#include "core/adapter/kind/kind_check.h"
#include "core/base/memory.h"

enum field_type { FIELD_TEXT, FIELD_TEXTS, FIELD_U32, FIELD_LIST, FIELD_FUNCTION };

struct field {
    size_t at;
    enum field_type type;
    // Of FIELD_LIST: the element, a pointer of which is NULL in the last one.
    const struct field *fields;
    size_t n_fields, size, end_at;
};

#define ROW(owner, kind_of, member)                                                                                    \
    { .at = offsetof(owner, member), .type = (kind_of) }
#define LIST(member, elements, element, ending)                                                                        \
    {                                                                                                                  \
        .at = offsetof(wharf_kind, member), .type = FIELD_LIST, .fields = (elements),                                  \
        .n_fields = sizeof(elements) / sizeof *(elements), .size = sizeof(element),                                    \
        .end_at = offsetof(element, ending)                                                                            \
    }
#define TEXT(member) ROW(wharf_kind, FIELD_TEXT, member)
#define TEXTS(member) ROW(wharf_kind, FIELD_TEXTS, member)
#define FUNCTION(member) ROW(wharf_kind, FIELD_FUNCTION, member)

static const struct field carried[] = {ROW(wharf_carried, FIELD_TEXT, pointer), ROW(wharf_carried, FIELD_TEXT, key),
                                       ROW(wharf_carried, FIELD_U32, when)};
static const struct field pods[] = {ROW(wharf_pods, FIELD_TEXT, templates), ROW(wharf_pods, FIELD_TEXTS, counts),
                                    ROW(wharf_pods, FIELD_TEXT, fallback), ROW(wharf_pods, FIELD_U32, offset),
                                    ROW(wharf_pods, FIELD_U32, flags)};
static const struct field rules[] = {
    ROW(wharf_phase_rule, FIELD_TEXT, pointer), ROW(wharf_phase_rule, FIELD_TEXT, value),
    ROW(wharf_phase_rule, FIELD_TEXT, status),  ROW(wharf_phase_rule, FIELD_TEXT, reason),
    ROW(wharf_phase_rule, FIELD_U32, phase),    ROW(wharf_phase_rule, FIELD_U32, flags),
    ROW(wharf_phase_rule, FIELD_TEXTS, values), ROW(wharf_phase_rule, FIELD_TEXT, key)};
static const struct field changes[] = {
    ROW(wharf_status_change, FIELD_U32, change),  ROW(wharf_status_change, FIELD_U32, when),
    ROW(wharf_status_change, FIELD_TEXT, name),   ROW(wharf_status_change, FIELD_TEXT, value),
    ROW(wharf_status_change, FIELD_TEXT, reason), ROW(wharf_status_change, FIELD_TEXT, message)};

static const struct field kind_fields[] = {
    TEXT(group),
    TEXTS(versions),
    TEXT(kind),
    TEXT(plural),
    ROW(wharf_kind, FIELD_U32, flags),
    TEXT(managed_by),
    TEXT(managed_by_builtin),
    TEXTS(managed_by_allowed),
    TEXT(managed_by_default),
    TEXT(suspend),
    TEXT(suspend_value),
    LIST(carried, carried, wharf_carried, pointer),
    TEXTS(removed),
    LIST(pods, pods, wharf_pods, templates),
    TEXTS(status_removed),
    TEXT(observed_generation),
    TEXT(condition_time),
    LIST(suspended_status, changes, wharf_status_change, name),
    LIST(resumed_status, changes, wharf_status_change, name),
    LIST(phases, rules, wharf_phase_rule, pointer),
    TEXT(finished_at),
    FUNCTION(phase),
    FUNCTION(accept),
    FUNCTION(mirror),
    FUNCTION(update),
    FUNCTION(status),
    FUNCTION(pod_sets),
    LIST(gave_up_status, changes, wharf_status_change, name),
    TEXTS(suspend_values),
    TEXT(refused),
    ROW(wharf_kind, FIELD_U32, suspend_type),
};
#define N_FIELDS (sizeof kind_fields / sizeof *kind_fields)

// -- memory --

struct hello_memory {
    void **blocks;
    size_t count;
};

void hello_memory_free(struct hello_memory *memory) {
    for (size_t i = 0; memory && i < memory->count; i++)
        free(memory->blocks[i]);
    if (memory)
        free(memory->blocks);
    free(memory);
}

struct hello_memory *hello_memory_new(void) {
    return calloc(1, sizeof(struct hello_memory));
}

void *hello_memory_take(struct hello_memory *memory, struct wire *wire, size_t count, size_t size) {
    void **place = array_next(&memory->blocks, memory->count, sizeof *memory->blocks);
    void *block = place ? calloc(count, size) : NULL;
    if (!block) {
        wire_fail(wire);
        return NULL;
    }
    memory->count++;
    return *place = block;
}

// -- writing --

void hello_write_texts(struct buffer *out, const char *const *list) {
    size_t count = 0;
    while (list && list[count])
        count++;
    wire_put_u8(out, list ? 1 : 0);
    wire_put_u32(out, count);
    for (size_t i = 0; i < count; i++)
        wire_put_text(out, list[i]);
}

static void write_fields(struct buffer *out, const char *from, const struct field *fields, size_t n_fields);

static void write_list(struct buffer *out, const char *list, const struct field *field) {
    size_t count = 0;
    const void *end = NULL;
    for (; list; count++) {
        memcpy(&end, list + count * field->size + field->end_at, sizeof end);
        if (!end)
            break;
    }
    wire_put_u8(out, list ? 1 : 0);
    wire_put_u32(out, count);
    for (size_t i = 0; i < count; i++)
        write_fields(out, list + i * field->size, field->fields, field->n_fields);
}

static void write_fields(struct buffer *out, const char *from, const struct field *fields, size_t n_fields) {
    for (size_t i = 0; i < n_fields; i++) {
        const char *at = from + fields[i].at;
        const void *pointer = NULL;
        uint32_t number = 0;
        memcpy(&number, at, sizeof number);
        if (fields[i].type != FIELD_U32)
            memcpy(&pointer, at, sizeof pointer);
        switch (fields[i].type) {
        case FIELD_TEXT:
            wire_put_text(out, pointer);
            break;
        case FIELD_TEXTS:
            hello_write_texts(out, pointer);
            break;
        case FIELD_U32:
            wire_put_u32(out, number);
            break;
        case FIELD_LIST:
            write_list(out, pointer, &fields[i]);
            break;
        case FIELD_FUNCTION:
            wire_put_u8(out, pointer ? 1 : 0);
            break;
        }
    }
}

void hello_write_kind(struct buffer *out, const wharf_kind *kind) {
    write_fields(out, (const char *)kind, kind_fields, N_FIELDS);
}

// -- reading --

const char **hello_read_texts(struct wire *wire, struct hello_memory *memory) {
    bool given = wire_u8(wire);
    size_t count = wire_u32(wire);
    if (count > KIND_LIST_MAX) // the host's checks refuse longer ones
        wire_fail(wire);
    if (wire->failed || !given)
        return NULL;
    const char **list = hello_memory_take(memory, wire, count + 1, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        if (!(list[i] = wire_text(wire)))
            wire_fail(wire);
    return list;
}

static void read_fields(struct wire *wire, struct hello_memory *memory, char *to, const struct field *fields,
                        size_t n_fields);

static void *read_list(struct wire *wire, struct hello_memory *memory, const struct field *field) {
    bool given = wire_u8(wire);
    size_t count = wire_u32(wire);
    if (count > KIND_LIST_MAX)
        wire_fail(wire);
    if (wire->failed || !given)
        return NULL;
    char *list = hello_memory_take(memory, wire, count + 1, field->size);
    for (size_t i = 0; list && i < count && !wire->failed; i++) {
        const void *end = NULL;
        read_fields(wire, memory, list + i * field->size, field->fields, field->n_fields);
        memcpy(&end, list + i * field->size + field->end_at, sizeof end);
        if (!end)
            wire_fail(wire);
    }
    return list;
}

static void read_fields(struct wire *wire, struct hello_memory *memory, char *to, const struct field *fields,
                        size_t n_fields) {
    static const char present;
    for (size_t i = 0; i < n_fields; i++) {
        const void *pointer = NULL;
        uint32_t number = 0;
        switch (fields[i].type) {
        case FIELD_TEXT:
            pointer = wire_text(wire);
            break;
        case FIELD_TEXTS:
            pointer = hello_read_texts(wire, memory);
            break;
        case FIELD_U32:
            number = wire_u32(wire);
            break;
        case FIELD_LIST:
            pointer = read_list(wire, memory, &fields[i]);
            break;
        case FIELD_FUNCTION:
            pointer = wire_u8(wire) ? &present : NULL;
            break;
        }
        if (fields[i].type == FIELD_U32)
            memcpy(to + fields[i].at, &number, sizeof number);
        else
            memcpy(to + fields[i].at, &pointer, sizeof pointer);
    }
}

void hello_read_kind(struct wire *wire, struct hello_memory *memory, wharf_kind *out) {
    *out = (wharf_kind){WHARF_KIND_SIZES};
    read_fields(wire, memory, (char *)out, kind_fields, N_FIELDS);
}
