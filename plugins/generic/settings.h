// SPDX-License-Identifier: Apache-2.0
// Reading settings: values with their places, so that what is wrong is told with a pointer to it. Only the first
// problem is kept.
#ifndef WHARF_PLUGINS_SETTINGS_H
#define WHARF_PLUGINS_SETTINGS_H

#include <wharf/adapter.h>

#include <stdbool.h>

struct settings {
    const wharf_host *host;
    const char *problem; // NULL: none yet
    struct block *blocks;
};

// A value and the way to it from the root, on the stack.
struct place {
    struct settings *in;
    const struct place *up; // NULL: the root
    const char *name;       // of a member; NULL: item `index` of a list
    size_t index;
    const wharf_value *value; // NULL: absent; null counts as absent
};

enum rule {
    REQUIRED = 1,
    LIST = 2,     // const char **, ending with NULL, none twice; else const char *
    OTHER = 4,    // read by somebody else
    POINTER = 8,  // RFC 6901, to a field that is neither of metadata nor of the status
    PATTERN = 16, // with POINTER: "*" may stand for a segment
    LABELS = 32,  // with POINTER: to a label or an annotation too
    STATUS = 64,  // with POINTER: below /status instead
    EMPTY = 128,  // "" is fine
};

struct field {
    const char *name; // NULL ends a list
    int rules;
    size_t offset;
};

// Keeps "<pointer to the place><below>: <sentence>" as the problem, unless there is one.
void settings_tell(const struct place *at, const char *below, const char *sentence);
#define SETTINGS_TELL(at, below, ...) settings_tell(at, below, (at)->in->host->format(NULL, __VA_ARGS__))
void settings_wrong(const struct place *at, const char *expected); // "found ..., expected <expected>"

struct place settings_member(const struct place *at, const char *name);
// Reads a mapping that has these members and no others.
void settings_fields(const struct place *at, const struct field *fields, void *target);
bool settings_bool(const struct place *at, const char *name, bool fallback);
const char *settings_text(const struct place *at, int rules);
// Reads each item of a list that is not empty, if it is there. The elements, of `size` bytes, and two zeroed ones; or
// NULL and a problem.
typedef void settings_read(const struct place *item, void *element, int rules);
void *settings_each(const struct place *list, size_t size, settings_read *read, int rules);

void *settings_memory(struct settings *settings, size_t size); // zeroed; NULL and a problem when there is none
void settings_forget(struct settings *settings);               // frees all of it

// What is wrong with a kind as a whole, each part of which is well-formed. Those read earlier lie before it.
void check_kind(const struct place *at, const wharf_kind *kind);

#endif
