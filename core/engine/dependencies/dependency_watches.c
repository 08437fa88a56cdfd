// SPDX-License-Identifier: Apache-2.0
// The watches that the host opens for the engine: of all objects of a resource, and of single ones.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"

struct dependency_watch *dependency_watch_of(struct dependency_resource *resource, size_t cluster) {
    bool ok = array_reserve(&resource->watches, &resource->n_watches, cluster + 1, sizeof *resource->watches);
    return ok ? &resource->watches[cluster] : NULL;
}

const struct dependency_watch *dependency_watch_in(const struct dependency_resource *resource, size_t cluster) {
    static const struct dependency_watch none;
    return cluster < resource->n_watches ? &resource->watches[cluster] : &none;
}

bool dependency_set_watch(struct engine *engine, const struct dependency_resource *resource,
                          const struct dependency *object, size_t cluster, bool on) {
    struct update *update = engine->update;
    struct dependency_wish wish = {.resource = resource->name,
                                   .version = resource->version,
                                   .namespace_ = object ? object->namespace_ : "",
                                   .name = object ? object->name : "",
                                   .cluster = cluster,
                                   .cluster_scoped = resource->cluster_scoped,
                                   .wanted = on};
    if (!update || !array_reserve(&update->wishes, &update->cap_wishes, update->n_wishes + 1, sizeof *update->wishes))
        return false;
    struct dependency_wish *copy = struct_copy_with_texts(&wish, sizeof wish, DEPENDENCY_WISH_TEXTS);
    if (copy)
        update->wishes[update->n_wishes++] = copy;
    return copy;
}

// The watch of all objects of the resource comes first, so that the host opens none for the object.
static bool watch_all(struct engine *engine, struct dependency_resource *resource, size_t cluster) {
    struct dependency_watch *watch = dependency_watch_of(resource, cluster);
    if (watch && !watch->requested && !engine->settings.dependencies.by_name)
        watch->requested = dependency_set_watch(engine, resource, NULL, cluster, true);
    return watch;
}

static void watch_one(struct engine *engine, const struct dependency *object, size_t cluster, bool *watched) {
    if (!*watched && watch_all(engine, object->resource, cluster))
        *watched = dependency_set_watch(engine, object->resource, object, cluster, true);
}

void dependency_watch_object(struct engine *engine, struct dependency *object) {
    const struct dependency_resource *resource = object->resource;
    if (object->users && (resource->use == DEPENDENCY_COPIED || resource->refers || resource->compares))
        watch_one(engine, object, ENGINE_MANAGEMENT, &object->watched);
    bool everywhere = dependency_is_checked(engine, object);
    // A former process may have left a copy in any worker, which single watches do not show.
    if (engine->settings.dependencies.by_name && object->users && !object->searched)
        everywhere |= engine->now.mono_ns < engine->dependencies->search_until_ns;
    object->searched = true;
    for (size_t c = 1; everywhere && c < engine->n_clusters; c++)
        (void)dependency_copy_make(engine, object, c);
    for (struct copy *copy = object->copies; copy; copy = copy->next)
        if (everywhere || dependency_is_kept(engine, object, copy))
            watch_one(engine, object, copy->cluster, &copy->watched);
}

void dependency_watch_copied(struct engine *engine) {
    AUTO_WORDS names = text_words(engine->settings.dependencies.copy, ',');
    for (char **name = names; name && *name; name++) {
        struct reference_resource of;
        struct dependency_resource *resource = reference_resource_find(engine->kinds, engine->n_kinds, *name, &of)
                                                   ? dependency_resource_make(engine, &of)
                                                   : NULL;
        for (size_t c = 1; resource && resource->use == DEPENDENCY_COPIED && c < engine->n_clusters; c++)
            if (!cluster_is_vacant(engine, c))
                (void)watch_all(engine, resource, c);
    }
}

void dependency_forget_watches(struct engine *engine, size_t cluster) {
    engine->dependencies->watches_due = true;
    size_t cursor = 0;
    for (struct dependency_resource *r; (r = map_next(&engine->dependencies->resources, &cursor));) {
        struct dependency_watch *watch = dependency_watch_of(r, cluster);
        if (watch)
            watch->requested = watch->seen = false;
    }
    cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        struct copy *copy = cluster ? dependency_copy(o, cluster) : NULL;
        if (copy) {
            copy->watched = false;
            copy->answered_ns = 0;
        } else if (!cluster) {
            o->watched = false;
        }
        dependency_touch(engine, o);
    }
}
