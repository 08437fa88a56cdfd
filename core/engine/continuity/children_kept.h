// SPDX-License-Identifier: Apache-2.0
// What was kept of the children of a former mirror, in the workload's annotation wharf.dev/progress:
//
//   {"uid":"<of the workload>","children":{"jobs":{"a-w-0":{"status":{"completedIndexes":"0-2","succeeded":3}}}}}
//
// The uid keeps a copy of the workload, such as one restored from a backup, from going on where the original was.
#pragma once

#include "core/json/json.h"

#define KEPT_MAX ((size_t)64 << 10) // bytes of the annotation

// The member "children"; NULL: nothing, another workload's, malformed, or out of memory.
struct json *kept_read(const char *annotation, const char *uid);
// What was kept of one child, an object; NULL: nothing.
const struct json *kept_of(const struct json *kept, const char *plural, const char *name);
// Takes `what`. False: out of memory.
bool kept_add(struct json *kept, const char *plural, const char *name, struct json *what);
// The annotation, at most `max` bytes: without the largest children, which *dropped counts. Removes these from `kept`.
// NULL: out of memory.
char *kept_print(struct json *kept, const char *uid, size_t max, size_t *dropped);
