// SPDX-License-Identifier: Apache-2.0
// The record of a mirror: what was carried to it, and who controls `suspend`. It is kept in the annotation
// wharf.dev/carried and in the host's memory, as hashes of pointers (48 bits each, 8 characters), since an object may
// have tens of thousands of labels:
//
//   v2:<flags>:<carried now>:<values of spec fields, as last carried>:<carried earlier and removed since>
//
// Flags: r or s, the host last resumed or suspended it; w, it was suspended in the worker; h, that happened before; k,
// it was created without Kueue's labels. Records of version 0.1 are a list of pointers, and still read.
// docs/lifecycle.md describes the consequences.
#pragma once

#include "core/base/buffer.h"
#include "core/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_GONE_MAX 256 // how many removed pointers are remembered

enum record_word { RECORD_UNKNOWN, RECORD_RUNS, RECORD_SUSPENDED, RECORD_WORKER };

struct record_set {
    uint64_t *items;
    size_t count, capacity;
};

struct record {
    enum record_word word; // who last suspended or resumed the mirror
    bool shared;           // RECORD_WORKER once: fields are left to the worker until the workload's own value changes
    bool bare;             // made without Kueue's labels
    bool old;              // read from a list of pointers
    struct record_set carried, values, gone;
};

void record_cleanup(struct record *record);
#define AUTO_RECORD __attribute__((cleanup(record_cleanup))) struct record

uint64_t record_pointer(const char *pointer);
uint64_t record_value(const char *pointer, const struct json *value);

// False when out of memory.
bool record_add(struct record_set *set, uint64_t hash);

// Merges the record that the host knows (NULL: none) and the annotation (NULL: none): carried pointers and a past
// suspension from both, the rest from the first that exists. A host's patch that arrives late brings its own record
// along. `unsure`: the outcome of the host's last patch is unknown, and the annotation decides. False when out of
// memory.
bool record_read(struct record *record, const char *known, const char *annotation, bool unsure);

// Whether it is or was carried. For a record that was read.
bool record_knows(const struct record *record, uint64_t pointer);
bool record_has_value(const struct record *record, uint64_t value);

// Whether all of `some` are among `set`, which is sorted.
bool record_has_all(const struct record_set *set, const struct record_set *some);
// Whether `record`, which was read, contains everything of `other` but its values.
bool record_covers(const struct record *record, const struct record *other);

// Writes `record`, the successor of `before`: what only `before` carried counts as removed.
bool record_print(struct record *record, const struct record *before, struct buffer *out);
