// SPDX-License-Identifier: Apache-2.0
// Objects come in: from watches and lists, and out of answers. What is kept of them is facts and text.
#ifndef WHARF_ENGINE_OBSERVE_H
#define WHARF_ENGINE_OBSERVE_H

#include "core/engine/engine_internal.h"

struct unsealed_log { // how often strangers with our marks are told of
    struct throttle throttle;
    int64_t next_ns;
};

// What an object in a worker is taken for a mirror by.
enum ownership {
    OWNERSHIP_NONE,  // it is none
    OWNERSHIP_UID,   // its uid: it was one, and its marks are not what they were
    OWNERSHIP_MARKS, // marks, which anybody may copy
    OWNERSHIP_SEAL   // marks, and a seal of theirs
};

void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_listed(struct engine *engine, size_t cluster, size_t kind);
// An object out of an answer; `object` is taken.
void observe_workload(struct engine *engine, struct entry *entry, struct object *object);
void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror, struct object *object,
                    enum ownership ownership);
// `mirror` may be NULL: what is known of the object of that name.
enum ownership observe_ownership(const struct engine *engine, size_t cluster, size_t kind, const struct mirror *mirror,
                                 const struct json *object);
void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *mirror, bool certain);

#endif
