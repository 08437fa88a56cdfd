// SPDX-License-Identifier: Apache-2.0
// Carries what may change after creation from a workload to its mirror: labels, annotations, and the spec fields that
// the kind names. Functions return false when out of memory.
#pragma once

#include "core/base/buffer.h"
#include "core/engine/mirror/record.h"
#include "core/json/items.h"
#include "core/json/json.h"

#include <wharf/adapter.h>

#define CARRY_INDEXES 4

struct carry_indexes { // internal: of the arrays used last
    const struct json *of[CARRY_INDEXES];
    struct json_index index[CARRY_INDEXES];
    size_t next;
};

// Writes what is carried into `to`, and puts it on record.
struct carrying {
    const wharf_kind *kind;
    const struct json *from;     // the workload
    const struct json *mirror;   // as it is; NULL while it is being made
    struct json *to;             // the desired mirror
    const struct record *before; // what is known of the mirror
    struct record *after;
    bool held;       // suspended in the worker: `suspend` is not changed
    const char *key; // internal: the member that matches array items
    struct carry_indexes indexes;
};

bool carry_keys(struct carrying *carrying, const char *map); // "labels" or "annotations"
// Records what of it is in `to`.
bool carry_record_keys(struct carrying *carrying, const char *map);
bool carry_spec(struct carrying *carrying);
// Records what carry_spec carries, where `to` is a copy and has it already.
bool carry_record(struct carrying *carrying);
// Restores fields that belong to the worker, where the adapter's update changed them.
bool carry_give_back(struct carrying *carrying);
// Records what carry_spec carried and the adapter's update left in `to`.
bool carry_record_changes(struct carrying *carrying);

// Member `key` of `object`, created if it is missing or not an object.
struct json *carry_member(struct json *object, const char *key);

// A hash of the immutable fields, which are neither carried nor removed: a change there cannot reach an existing
// mirror. It is an annotation of the mirror. 0 when out of memory.
uint64_t carry_immutable_hash(const wharf_kind *kind, const struct json *workload);
// The immutable fields that differ between workload and mirror: a few pointers, separated by ", ".
bool carry_immutable_differs(const wharf_kind *kind, const struct json *workload, const struct json *mirror,
                             struct buffer *out);
