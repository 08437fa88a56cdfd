// SPDX-License-Identifier: Apache-2.0
// The fields of a kind on the wire. Both sides have the struct in their own layout, which is the same.
#include "core/adapter/process/hello_kind.h"

#include "core/adapter/kind/kind_check.h"
#include "core/adapter/kind/kind_fields.h"
#include "core/base/memory.h"

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

static void write_fields(struct buffer *out, const char *from, const struct kind_field *fields);

static void write_list(struct buffer *out, const char *elements, const struct kind_list *list) {
    size_t count = 0;
    while (elements && kind_pointer_at(elements + count * list->size, list->end_at))
        count++;
    wire_put_u8(out, elements ? 1 : 0);
    wire_put_u32(out, count);
    for (size_t i = 0; i < count; i++)
        write_fields(out, elements + i * list->size, list->fields);
}

static void write_fields(struct buffer *out, const char *from, const struct kind_field *fields) {
    for (const struct kind_field *field = fields; field->name; field++) {
        const void *pointer = field->type == FIELD_U32 ? NULL : kind_pointer_at(from, field->at);
        uint32_t number = 0;
        memcpy(&number, from + field->at, sizeof number);
        switch (field->type) {
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
            write_list(out, pointer, field->list);
            break;
        case FIELD_FUNCTION:
            wire_put_u8(out, pointer ? 1 : 0);
            break;
        }
    }
}

void hello_write_kind(struct buffer *out, const wharf_kind *kind) {
    write_fields(out, (const char *)kind, kind_fields);
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

static void read_fields(struct wire *wire, struct hello_memory *memory, char *to, const struct kind_field *fields);

static void *read_list(struct wire *wire, struct hello_memory *memory, const struct kind_list *list) {
    bool given = wire_u8(wire);
    size_t count = wire_u32(wire);
    if (count > KIND_LIST_MAX)
        wire_fail(wire);
    if (wire->failed || !given)
        return NULL;
    char *elements = hello_memory_take(memory, wire, count + 1, list->size);
    for (size_t i = 0; elements && i < count && !wire->failed; i++) {
        read_fields(wire, memory, elements + i * list->size, list->fields);
        if (!kind_pointer_at(elements + i * list->size, list->end_at))
            wire_fail(wire);
    }
    return elements;
}

static void read_fields(struct wire *wire, struct hello_memory *memory, char *to, const struct kind_field *fields) {
    static const char present;
    for (const struct kind_field *field = fields; field->name; field++) {
        const void *pointer = NULL;
        uint32_t number = 0;
        switch (field->type) {
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
            pointer = read_list(wire, memory, field->list);
            break;
        case FIELD_FUNCTION:
            pointer = wire_u8(wire) ? &present : NULL;
            break;
        }
        if (field->type == FIELD_U32)
            memcpy(to + field->at, &number, sizeof number);
        else
            memcpy(to + field->at, &pointer, sizeof pointer);
    }
}

void hello_read_kind(struct wire *wire, struct hello_memory *memory, wharf_kind *out) {
    *out = (wharf_kind){WHARF_KIND_SIZES, WHARF_REFERENCES(NULL), WHARF_CHILDREN(NULL), WHARF_CONTINUITY(NULL)};
    read_fields(wire, memory, (char *)out, kind_fields);
}
