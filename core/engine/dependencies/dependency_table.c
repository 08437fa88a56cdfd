// SPDX-License-Identifier: Apache-2.0
// The tables of resources, objects and copies.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/base/sensitive.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/shard/shard.h"

#define KEY_MAX 1024

void dependency_set_problem(char **slot, const char *text) {
    free(*slot);
    *slot = text ? strdup(text) : NULL;
}

// Resources ------------------------------------------------------------------------------------------------------

static void set_use(struct engine *engine, struct dependency_resource *resource) {
    enum dependency_use use = dependency_use_of(&engine->settings.dependencies, resource->name);
    if (use == DEPENDENCY_COPIED && !dependency_may_copy(resource->name, resource->cluster_scoped))
        use = DEPENDENCY_CHECKED;
    resource->use = use;
    resource->refers = reference_resource_refers(engine->kinds, engine->n_kinds, resource->name);
}

static void free_resource(struct dependency_resource *resource) {
    for (size_t c = 0; c < resource->n_watches; c++)
        free(resource->watches[c].problem);
    free(resource->watches);
    free(resource->name);
    free(resource->version);
    free(resource->kind);
    free(resource);
}

struct dependency_resource *dependency_resource_make(struct engine *engine, const struct reference_resource *from) {
    struct dependency_part *all = engine->dependencies;
    struct dependency_resource *made = map_get(&all->resources, from->resource);
    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (made && text_set(&made->name, from->resource) && text_set(&made->version, from->version) &&
        text_set(&made->kind, from->kind) && map_put(&all->resources, made->name, made)) {
        made->cluster_scoped = from->cluster_scoped;
        made->sensitive = strcmp(made->name, "secrets") == 0;
        made->compares = strcmp(made->name, PRIORITIES) == 0;
        set_use(engine, made);
        return made;
    }
    if (made)
        free_resource(made);
    return NULL;
}

struct dependency_resource *dependency_resource_of(struct engine *engine, const struct reference *reference) {
    struct reference_resource of = {
        .version = reference->version, .kind = reference->kind, .cluster_scoped = reference->cluster_scoped};
    text_copy(of.resource, sizeof of.resource, reference->resource);
    return dependency_resource_make(engine, &of);
}

void dependency_resources_configure(struct engine *engine) {
    size_t cursor = 0;
    for (struct dependency_resource *r; (r = map_next(&engine->dependencies->resources, &cursor));)
        set_use(engine, r);
}

// Objects --------------------------------------------------------------------------------------------------------

static bool write_key(char out[KEY_MAX], const char *resource, const char *namespace_, const char *name) {
    int len = snprintf(out, KEY_MAX, "%s/%s/%s", resource, namespace_, name);
    return len > 0 && len < KEY_MAX;
}

struct dependency *dependency_find(const struct engine *engine, const char *resource, const char *namespace_,
                                   const char *name) {
    char key[KEY_MAX];
    return write_key(key, resource, namespace_, name) ? map_get(&engine->dependencies->objects, key) : NULL;
}

struct dependency *dependency_make(struct engine *engine, struct dependency_resource *resource, const char *namespace_,
                                   const char *name) {
    char key[KEY_MAX];
    if (!write_key(key, resource->name, namespace_, name))
        return NULL;
    struct dependency *object = map_get(&engine->dependencies->objects, key);
    if (object)
        return object;
    size_t size = strlen(key) + 1, space = strlen(namespace_) + 1;
    object = calloc(1, sizeof *object + size + space);
    if (!object)
        return NULL;
    timer_init(&object->timer);
    object->resource = resource;
    memcpy(object->key, key, size);
    object->namespace_ = memcpy(object->key + size, namespace_, space);
    object->name = object->key + strlen(resource->name) + 1 + space;
    if (!map_put(&engine->dependencies->objects, object->key, object)) {
        free(object);
        return NULL;
    }
    dependency_touch(engine, object);
    return object;
}

void dependency_drop_content(struct dependency *object) {
    (object->resource->sensitive ? sensitive_free : free)(object->content);
    object->content = NULL;
}

static void free_object(struct dependency *object) {
    dependency_drop_content(object);
    needs_drop_refers(object);
    for (struct copy *c = object->copies, *next; c; c = next) {
        next = c->next;
        free(c->problem);
        free(c->told);
        free(c);
    }
    free(object->problem);
    free(object);
}

void dependency_drop_if_unused(struct engine *engine, struct dependency *object) {
    if (object->users || object->copies || object->held || object->due || object->turn.object)
        return;
    if (object->watched)
        (void)dependency_set_watch(engine, object->resource, object, ENGINE_MANAGEMENT, false);
    heap_remove(&engine->dependencies->timers, &object->timer);
    map_remove(&engine->dependencies->objects, object->key);
    free_object(object);
}

void dependency_free_all(struct engine *engine) {
    struct dependency_part *all = engine->dependencies;
    size_t cursor = 0;
    needs_free_all(all);
    heap_free(&all->timers); // before the objects, which have the timers
    for (struct dependency *o; (o = map_next(&all->objects, &cursor));)
        free_object(o);
    cursor = 0;
    for (struct dependency_resource *r; (r = map_next(&all->resources, &cursor));)
        free_resource(r);
    map_free(&all->objects);
    map_free(&all->resources);
    map_free_values(&all->holds);
    free(all->requests);
    free(all->clusters);
    free(all);
    engine->dependencies = NULL;
}

struct copy *dependency_copy(const struct dependency *object, size_t cluster) {
    struct copy *copy = object->copies;
    while (copy && copy->cluster != cluster)
        copy = copy->next;
    return copy;
}

struct copy *dependency_copy_make(struct engine *engine, struct dependency *object, size_t cluster) {
    struct copy *copy = dependency_copy(object, cluster);
    if (copy || cluster_is_vacant(engine, cluster))
        return copy;
    copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->cluster = (uint32_t)cluster;
    copy->unused_ns = engine->now.mono_ns;
    copy->next = object->copies;
    object->copies = copy;
    dependency_touch(engine, object);
    return copy;
}

void dependency_copy_drop(struct engine *engine, struct dependency *object, struct copy *copy) {
    struct copy **at = &object->copies;
    while (*at != copy)
        at = &(*at)->next;
    *at = copy->next;
    dependency_turn_end(engine, copy->cluster, &copy->turn);
    if (copy->watched && !cluster_is_vacant(engine, copy->cluster))
        (void)dependency_set_watch(engine, object->resource, object, copy->cluster, false);
    free(copy->problem);
    free(copy->told);
    free(copy);
}

void dependency_touch(struct engine *engine, struct dependency *object) {
    struct dependency_part *all = engine->dependencies;
    if (object->due)
        return;
    object->due = true;
    object->next_due = NULL;
    *all->due_end = object;
    all->due_end = &object->next_due;
}

void dependency_touch_all(struct engine *engine) {
    size_t cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));)
        dependency_touch(engine, o);
}

void dependency_wake(struct engine *engine, struct dependency *object, int64_t at_ns) {
    if (object->timer.place != HEAP_NOT_IN && object->timer.at_ns <= at_ns)
        return;
    if (!heap_set(&engine->dependencies->timers, &object->timer, at_ns))
        dependency_touch(engine, object);
}

void dependency_changed(struct engine *engine, struct dependency *object) {
    dependency_touch(engine, object);
    for (const struct use *u = object->users; u; u = u->older)
        if (u->needs->entry->blocked || u->needs->stale)
            queue_entry(engine, u->needs->entry);
}

uint32_t dependency_shard(const struct engine *engine, const struct dependency *object) {
    const char *key = *object->namespace_ ? object->key + strlen(object->resource->name) + 1 : object->name;
    return shard_of_key(engine, object->resource->name, key);
}

bool dependency_is_held(const struct engine *engine, const struct dependency *object) {
    return shard_is_in(shard_mask(engine), dependency_shard(engine, object));
}

// States ---------------------------------------------------------------------------------------------------------

enum dependency_use dependency_use(const struct engine *engine, const struct dependency *object) {
    const struct dependency_resource *r = object->resource;
    bool root = strcmp(r->name, "configmaps") == 0 && strcmp(object->name, "kube-root-ca.crt") == 0;
    bool may = !root && !object->denied &&
               (!r->sensitive || object->labelled || engine->settings.dependencies.secrets == SECRETS_ALL);
    return r->use == DEPENDENCY_COPIED && !may ? DEPENDENCY_CHECKED : r->use;
}

// Another placement of a user may choose any worker.
bool dependency_is_checked(const struct engine *engine, const struct dependency *object) {
    return object->users && dependency_use(engine, object) == DEPENDENCY_CHECKED;
}

// A workload without a placement may come to the worker, unless that is drained.
bool dependency_is_kept(const struct engine *engine, const struct dependency *object, const struct copy *copy) {
    return copy->users > 0 ||
           (object->unplaced > 0 && engine->clusters[copy->cluster].settings.policy < WORKER_DRAIN_FINISH);
}

static const char *watch_problem(const struct dependency *object, size_t cluster) {
    return dependency_watch_in(object->resource, cluster)->problem;
}

enum dependency_state dependency_source_state(const struct dependency *object) {
    if (object->presence == PRESENCE_UNKNOWN)
        return object->problem || watch_problem(object, ENGINE_MANAGEMENT) ? DEPENDENCY_REFUSED : DEPENDENCY_UNKNOWN;
    if (object->presence == PRESENCE_ABSENT)
        return DEPENDENCY_MISSING;
    return object->problem ? DEPENDENCY_REFUSED : DEPENDENCY_NEEDED;
}

static enum dependency_state checked_state(const struct dependency *object, const struct copy *copy, size_t cluster) {
    if (!copy || copy->state == COPY_UNKNOWN)
        return (copy && copy->problem) || watch_problem(object, cluster) ? DEPENDENCY_REFUSED : DEPENDENCY_UNKNOWN;
    return copy_is_there(copy) ? DEPENDENCY_FOUND : DEPENDENCY_MISSING;
}

static enum dependency_state copied_state(const struct dependency *object, const struct copy *copy, size_t cluster) {
    if (copy && copy->deleting)
        return DEPENDENCY_NEEDED;
    if (!copy || copy->state == COPY_UNKNOWN)
        return (copy && copy->problem) || watch_problem(object, cluster) ? DEPENDENCY_REFUSED : DEPENDENCY_NEEDED;
    if (copy->state == COPY_OWN && copy->marked == object->mark)
        return DEPENDENCY_CURRENT;
    bool other = copy_is_there(copy) && copy->state != COPY_OWN;
    if (other && copy_is_compared(object, copy))
        return copy->equal ? DEPENDENCY_FOUND : DEPENDENCY_CONFLICT;
    return copy->refused ? DEPENDENCY_REFUSED : DEPENDENCY_NEEDED;
}

enum dependency_state dependency_state_in(const struct engine *engine, const struct dependency *object,
                                          size_t cluster) {
    const struct copy *copy = dependency_copy(object, cluster);
    if (object->resource->use == DEPENDENCY_COPIED) {
        enum dependency_state source = dependency_source_state(object);
        if (source != DEPENDENCY_NEEDED || cluster == ENGINE_MANAGEMENT)
            return source;
        if (dependency_use(engine, object) == DEPENDENCY_COPIED)
            return copied_state(object, copy, cluster);
    }
    return cluster == ENGINE_MANAGEMENT ? DEPENDENCY_NEEDED : checked_state(object, copy, cluster);
}

const char *dependency_problem_in(const struct dependency *object, size_t cluster) {
    const struct copy *copy = dependency_copy(object, cluster);
    const char *there = cluster && copy && copy->problem ? copy->problem
                        : cluster                        ? watch_problem(object, cluster)
                                                         : NULL;
    return object->problem ? object->problem : there ? there : watch_problem(object, ENGINE_MANAGEMENT);
}
