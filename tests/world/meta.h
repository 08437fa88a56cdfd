// SPDX-License-Identifier: Apache-2.0
// ObjectMeta: defaulting, immutability and validation.
#pragma once

#include "tests/world/answer.h"

// Completes the metadata of a new object: name from generateName, namespace, uid, times, generation; drops what a
// client may not set.
void meta_create(struct op *op, struct json *value);
void meta_check(const struct op *op, const struct json *value, struct field_problems *problems);

// Restores fields whose changes are ignored, and rejects changes of immutable fields.
void meta_update(const struct op *op, struct json *value, const struct json *old, struct field_problems *problems);

void meta_stamp_time(struct json *object, const char *key, int64_t now_ns);
bool meta_has_finalizer(const struct json *value, const char *name);
void meta_add_finalizer(struct json *value, const char *name);
void meta_remove_finalizer(struct json *value, const char *name);
bool meta_deleting(const struct json *value);

// Adds one entry for the writer, as server-side field management does. `old` NULL: the object is new.
void meta_managed_fields(const struct op *op, struct json *value, const struct json *old);
