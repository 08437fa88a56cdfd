// SPDX-License-Identifier: Apache-2.0
// The fields of a kind as data, for the code that treats all of them alike: copying a kind of another ABI version, the
// check of its memory, and the channel to an adapter's process. A new field of the ABI is a row here.
#pragma once

#include <wharf/adapter.h>

#include <stddef.h>

enum kind_field_type { FIELD_TEXT, FIELD_TEXTS, FIELD_U32, FIELD_LIST, FIELD_FUNCTION };

struct kind_field {
    const char *name; // NULL ends a table
    size_t at;        // in the struct
    enum kind_field_type type;
    const struct kind_list *list; // of FIELD_LIST
};

struct kind_list { // of structs
    const struct kind_field *fields;
    size_t size, size_first; // of an element, here and in the first version
    const char *first;       // that version, "1.0"
    const char *set_by;      // how an adapter says its own size
    size_t size_at;          // in wharf_kind: where the adapter says its own size of an element
    const char *end;         // the pointer that is NULL in the last element
    size_t end_at;
};

extern const struct kind_field kind_fields[]; // of wharf_kind

// The pointer at this place of a struct.
const void *kind_pointer_at(const void *memory, size_t at);
