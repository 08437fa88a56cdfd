// SPDX-License-Identifier: Apache-2.0
// What people may ask about workloads. Reads the engine's state on its thread and changes nothing; strings are valid
// until the next step.
#ifndef WHARF_ENGINE_VIEW_H
#define WHARF_ENGINE_VIEW_H

#include "core/engine/engine.h"

// The mirror whose status is followed.
struct mirror_view {
    size_t cluster;
    const char *cluster_name, *uid;
    const char *version; // the API version of its kind there; "" if not known
    uint32_t attempt;
};
enum view_mirror { VIEW_MIRROR_FOUND, VIEW_MIRROR_NONE, VIEW_MIRROR_NOT_OURS };
enum view_mirror view_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                             const char *name, struct mirror_view *out);

#endif
