// SPDX-License-Identifier: Apache-2.0
#include "core/engine/view.h"

#include "core/engine/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"

static struct entry *find_entry(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                const char *name) {
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (engine->kinds[k] == kind)
            return store_get(&engine->store, k, namespace_, name);
    return NULL;
}

enum view_mirror view_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                             const char *name, struct mirror_view *out) {
    const struct entry *entry = find_entry(engine, kind, namespace_, name);
    if (!entry || !entry->facts.exists)
        return VIEW_MIRROR_NOT_OURS;
    const struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror)
        return VIEW_MIRROR_NONE;
    const char *version = cluster_watch(engine, mirror->facts.cluster, entry->kind)->version;
    *out = (struct mirror_view){.cluster = mirror->facts.cluster,
                                .cluster_name = engine->names[mirror->facts.cluster],
                                .uid = mirror->uid,
                                .version = version ? version : "",
                                .attempt = mirror->facts.attempt};
    return VIEW_MIRROR_FOUND;
}
