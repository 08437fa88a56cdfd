// SPDX-License-Identifier: Apache-2.0
// Objects from watches, lists and answers become facts and compact text.
#pragma once

#include "core/engine/engine_internal.h"

// Why an object in a worker counts as a mirror.
enum ownership {
    OWNERSHIP_NONE,  // not a mirror
    OWNERSHIP_UID,   // by the uid of a former mirror with changed marks
    OWNERSHIP_MARKS, // by marks, which any writer may copy
    OWNERSHIP_SEAL   // by marks and a valid seal
};

void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_listed(struct engine *engine, size_t cluster, size_t kind);
// Handles an object from an answer; takes `object`.
void observe_workload(struct engine *engine, struct entry *entry, struct object *object);
void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror, struct object *object,
                    enum ownership ownership);
// `mirror`: the known object of that name, or NULL.
enum ownership observe_ownership(const struct engine *engine, size_t cluster, size_t kind, const struct mirror *mirror,
                                 const struct json *object);
void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *mirror, bool certain);
