// SPDX-License-Identifier: Apache-2.0
// ObjectMeta: what the server fills in, keeps and refuses.
#ifndef WHARF_WORLD_META_H
#define WHARF_WORLD_META_H

#include "tests/world/answer.h"

// Completes the metadata of a new object: name from generateName, namespace, uid, times, generation; takes away what a
// client may not set.
void meta_create(struct op *op, struct json *value);
void meta_check(const struct op *op, const struct json *value, struct problems *problems);

// Puts back what an update may not change silently, and finds what it may not change at all.
void meta_update(const struct op *op, struct json *value, const struct json *old, struct problems *problems);

void meta_stamp_time(struct json *object, const char *key, int64_t now_ns);
bool meta_has_finalizer(const struct json *value, const char *name);
void meta_add_finalizer(struct json *value, const char *name);
void meta_remove_finalizer(struct json *value, const char *name);
bool meta_deleting(const struct json *value);

// One entry for whoever wrote, as server-side field management leaves it.
void meta_managed_fields(const struct op *op, struct json *value);

#endif
