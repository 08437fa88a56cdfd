// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/children.h"

bool children_need(struct engine *engine, struct entry *entry, const struct mirror_context *context) {
    (void)engine;
    (void)entry;
    (void)context;
    return false;
}

enum children_step children_step(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                 const struct mirror_context *context) {
    (void)engine;
    (void)entry;
    (void)mirror;
    (void)context;
    return CHILDREN_DONE;
}

bool children_are_saved(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    (void)engine;
    (void)entry;
    (void)mirror;
    return true;
}
