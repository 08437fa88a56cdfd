// SPDX-License-Identifier: Apache-2.0
// Statistics and the API's view of needs.
#include "core/engine/dependencies/dependency.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/request/command.h"

static const char *const states[DEPENDENCY_STATES] = {
    [DEPENDENCY_UNKNOWN] = "unknown", [DEPENDENCY_NEEDED] = "needed", [DEPENDENCY_MISSING] = "missing",
    [DEPENDENCY_CURRENT] = "copied",  [DEPENDENCY_FOUND] = "found",   [DEPENDENCY_CONFLICT] = "conflict",
    [DEPENDENCY_REFUSED] = "refused", [DEPENDENCY_MADE] = "made",
};

const char *dependency_state_name(enum dependency_state state) {
    return states[state];
}

const char *copy_result_name(enum copy_result result) {
    static const char *const names[COPY_RESULTS] = {[COPIES_CREATED] = "created",
                                                    [COPIES_CHANGED] = "changed",
                                                    [COPIES_DELETED] = "deleted",
                                                    [COPIES_FAILED] = "failed"};
    return names[result];
}

// The worker's side alone.
static enum dependency_state count_as(const struct engine *engine, const struct dependency *object,
                                      const struct copy *copy) {
    if (object->resource->use != DEPENDENCY_COPIED || dependency_source_state(object) == DEPENDENCY_NEEDED)
        return dependency_state_in(engine, object, copy->cluster);
    if (copy_is_there(copy))
        return copy->state == COPY_OWN ? DEPENDENCY_CURRENT : DEPENDENCY_FOUND;
    return copy->state == COPY_ABSENT ? DEPENDENCY_MISSING : DEPENDENCY_UNKNOWN;
}

void dependencies_count(struct engine *engine) {
    if (!engine->dependencies)
        return;
    for (size_t c = 0; c < engine->n_clusters; c++)
        memset(engine->stats.clusters[c].dependencies, 0, sizeof engine->stats.clusters[c].dependencies);
    size_t cursor = 0;
    for (const struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        if (o->users)
            engine->stats.clusters[0].dependencies[dependency_state_in(engine, o, ENGINE_MANAGEMENT)]++;
        for (const struct copy *c = o->copies; c; c = c->next)
            engine->stats.clusters[c->cluster].dependencies[count_as(engine, o, c)]++;
    }
}

// NULL: another object refers to it, or a mirror.
static const char *place_of(const struct references *found, const struct entry *entry,
                            const struct dependency *object) {
    char space[254];
    for (size_t i = 0; i < found->count; i++) {
        const struct reference *r = found->list[i];
        if (strcmp(r->resource, object->resource->name) == 0 && strcmp(r->name, object->name) == 0 &&
            strcmp(needs_namespace(entry, r->cluster_scoped, r->namespace_, space), object->namespace_) == 0)
            return r->where;
    }
    return NULL;
}

void dependencies_visit(struct engine *engine, struct entry *entry,
                        void (*visit)(void *ctx, const struct dependency_view *view), void *ctx) {
    const struct needs *needs = entry->needs;
    if (!engine->dependencies || !needs)
        return;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    __attribute__((cleanup(references_clear))) struct references found = {.count = 0};
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    if (workload)
        (void)references_of(&call, workload, &found);
    uint32_t cluster = facts_placed_cluster(entry);
    for (size_t i = 0; i < needs->uses.count; i++) {
        const struct use *use = &needs->uses.list[i];
        const struct dependency *object = use->object;
        visit(ctx, &(struct dependency_view){.resource = object->resource->name,
                                             .namespace_ = object->namespace_,
                                             .name = object->name,
                                             .where = place_of(&found, entry, object),
                                             .cluster = cluster ? engine->clusters[cluster].name : NULL,
                                             .state = dependency_state_in(engine, object, cluster),
                                             .optional = use->optional,
                                             .problem = dependency_problem_in(object, cluster)});
    }
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *r = found.list[i];
        if (r->is_made)
            visit(ctx, &(struct dependency_view){.resource = r->resource,
                                                 .namespace_ = r->namespace_,
                                                 .name = r->name,
                                                 .where = r->where,
                                                 .state = DEPENDENCY_MADE,
                                                 .optional = r->optional});
    }
}

bool dependencies_classes(const struct engine *engine, const struct entry *entry, const char *resource,
                          const char *name, void (*visit)(void *ctx, const char *name), void *ctx) {
    char space[254];
    entry_namespace(entry, space);
    const struct dependency *claim = engine->dependencies ? dependency_find(engine, resource, space, name) : NULL;
    for (size_t i = 0; claim && i < claim->n_refers; i++)
        if (strcmp(claim->refers[i].resource->name, "deviceclasses.resource.k8s.io") == 0)
            visit(ctx, claim->refers[i].name);
    return claim && claim->refers_known;
}
