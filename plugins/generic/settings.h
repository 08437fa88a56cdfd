// SPDX-License-Identifier: Apache-2.0
// Reads settings into structs by tables. Reports the first problem with the pointer.
#pragma once

#include <wharf/adapter.h>

extern const wharf_host *host;

// A value and the path from the root, on the stack.
struct place {
    const char **problem;   // "<pointer>: <sentence>"; NULL: none yet
    const struct place *up; // NULL: the root
    const char *name;       // of a member; NULL: item `index` of a list
    size_t index;
    const wharf_value *value; // NULL: absent; null counts as absent
};

enum type {
    TEXT,     // const char *
    SCALAR,   // const char *, the text of a string, a boolean or a number
    TEXTS,    // const char **, ends with NULL
    SCALARS,  // the same of strings, booleans and numbers
    INTEGER,  // int32_t
    FLAG,     // uint32_t: sets `bit` if the value is true
    NOT_FLAG, // ... if the value is false
    WORD,     // uint32_t: the index of the text in `words`
    PART,     // a mapping, into the enclosing struct
    LIST,     // an array of structs, ends with a zeroed one
};

enum rule {
    REQUIRED = 1,
    EMPTY = 2,   // "" is fine
    POINTER = 4, // a JSON pointer: only the message differs, the host checks the target
};

struct field {
    const char *name; // NULL ends a list
    enum type type;
    int rules;
    size_t offset;
    uint32_t bit;             // FLAG
    const char *const *words; // WORD, ends with NULL
    const struct shape *of;   // PART, LIST
};

struct shape {
    const struct field *fields;
    size_t size;
    int is_short;                                          // a value that is no mapping is that of the first field
    void (*finish)(const struct place *at, void *element); // checks the element as a whole, if not NULL
};

void settings_read(const struct place *at, const struct shape *shape, void *target);
struct place settings_member(const struct place *at, const char *name);
// The items of a list as settings_read reads one each, and what is wrong with each; NULL: none.
void *settings_read_list(const struct place *list, const struct shape *shape, const char ***problems);
// Keeps the first problem: of the place, or of the member `name` unless NULL.
void settings_report(const struct place *at, const char *name, const char *sentence);
