// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of observe.h.
#pragma once

#include "core/engine/observe/observe.h"

uint32_t observe_annotated_cluster(const struct engine *engine, const struct json *object);
// The annotations record where the mirror is; changing them does not move it (rule 2).
void observe_check_annotations(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                               uint32_t attempt);
void observe_read_unknown(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown);
// The annotations name another worker, or none, while a mirror may run in a removed one: keeps the former facts.
void observe_keep_unknown(const struct engine *engine, struct entry *entry, uint32_t cluster, uint32_t attempt);
// True if `object` is not newer than the stored one: the watch may lag behind an answer. `stub`: the stored one is a
// stub or has a reduced status; then the whole object of the same version counts as newer (maxObjectSize or
// maxStatusSize was raised).
bool observe_is_stale(struct engine *engine, struct doc *doc, bool stub, const struct object *object);
void observe_seen_mirror(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_set_of_workload(const struct entry *entry, struct mirror *m);
