// SPDX-License-Identifier: Apache-2.0
// The uses of objects: those that an entry refers to, with the references of references.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"

// References of an object -----------------------------------------------------------------------------------------

void needs_drop_refers(struct dependency *object) {
    for (size_t i = 0; i < object->n_refers; i++) {
        free(object->refers[i].namespace_);
        free(object->refers[i].name);
    }
    free(TAKE(object->refers));
    object->n_refers = 0;
}

void needs_read_object(struct engine *engine, struct dependency *object, const struct json *content) {
    __attribute__((cleanup(references_clear))) struct references found = {.count = 0};
    needs_drop_refers(object);
    object->refers_known =
        references_of_object(engine->kinds, engine->n_kinds, object->resource->name, content, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *r = found.list[i];
        struct dependency_resource *resource = r->is_made ? NULL : dependency_resource_of(engine, r);
        struct reference_to *to = resource ? array_next(&object->refers, object->n_refers, sizeof *to) : NULL;
        if (!to)
            continue;
        to->resource = resource;
        to->optional = r->optional;
        if (text_set(&to->namespace_, r->namespace_) && text_set(&to->name, r->name))
            object->n_refers++;
        else
            free(TAKE(to->namespace_));
    }
}

// Lists of uses ---------------------------------------------------------------------------------------------------

struct use *needs_find_use(const struct uses *uses, const struct dependency *object) {
    for (size_t i = 0; i < uses->count; i++)
        if (uses->list[i].object == object)
            return &uses->list[i];
    return NULL;
}

enum put_use needs_put_use(struct uses *uses, const struct use *use) {
    struct use *known = needs_find_use(uses, use->object);
    if (known) {
        bool stronger = (known->optional && !use->optional) || (!known->wanted && use->wanted);
        known->optional &= use->optional;
        known->wanted |= use->wanted;
        return stronger ? PUT_STRONGER : PUT_NOTHING;
    }
    struct use *made = array_next(&uses->list, uses->count, sizeof *made);
    if (!made)
        return PUT_FAILED;
    *made = *use;
    uses->count++;
    return PUT_NEW;
}

static void link_use(struct use *use) {
    struct dependency *object = use->object;
    use->newer = NULL;
    use->older = object->users;
    if (object->users)
        object->users->newer = use;
    object->users = use;
}

static void unlink_use(struct use *use) {
    *(use->newer ? &use->newer->older : &use->object->users) = use->older;
    if (use->older)
        use->older->newer = use->newer;
}

void needs_drop_uses(struct engine *engine, struct uses *uses) {
    for (size_t i = 0; i < uses->count; i++) {
        unlink_use(&uses->list[i]);
        dependency_touch(engine, uses->list[i].object);
    }
    free(uses->list);
    *uses = (struct uses){.count = 0};
}

// References of references ----------------------------------------------------------------------------------------

const char *needs_namespace(const struct entry *entry, bool cluster_scoped, const char *named, char space[254]) {
    if (cluster_scoped || *named)
        return cluster_scoped ? "" : named;
    entry_namespace(entry, space);
    return space;
}

struct closing {
    struct engine *engine;
    struct needs *needs;
    struct uses uses;
    bool open, ok;
};

static void close_over(struct closing *c, const struct use *use, unsigned depth);

static void close_refers(struct closing *c, const struct use *use, unsigned depth) {
    const struct dependency *object = use->object;
    char space[254];
    bool denied = object->problem || dependency_source_state(object) == DEPENDENCY_REFUSED;
    bool needless = object->resource->use == DEPENDENCY_CHECKED && (denied || object->presence == PRESENCE_ABSENT);
    c->open |= !object->refers_known && !needless;
    for (size_t i = 0; i < object->n_refers; i++) {
        const struct reference_to *to = &object->refers[i];
        const char *in = needs_namespace(c->needs->entry, to->resource->cluster_scoped, to->namespace_, space);
        struct dependency *next =
            to->resource->use == DEPENDENCY_IGNORED ? NULL : dependency_make(c->engine, to->resource, in, to->name);
        struct use further = {.object = next, .optional = use->optional || to->optional, .wanted = use->wanted};
        if (next)
            close_over(c, &further, depth + 1);
    }
}

// D10: to the depth and the number; a circle ends where it began. Direct references all count: a mirror has needs
// beside those of the workload.
static void close_over(struct closing *c, const struct use *use, unsigned depth) {
    if (c->uses.count > REFERENCES_MAX && depth > 1)
        return;
    enum put_use put = needs_put_use(&c->uses, use);
    c->ok &= put != PUT_FAILED;
    if ((put == PUT_NEW || put == PUT_STRONGER) && depth < REFERENCES_DEPTH && use->object->resource->refers)
        close_refers(c, use, depth);
}

static void check_limits(struct needs *needs) {
    size_t wanted = 0, bytes = 0;
    for (size_t i = 0; i < needs->uses.count; i++) {
        const struct use *use = &needs->uses.list[i];
        wanted += use->wanted;
        bytes += use->wanted ? use->object->size : 0;
    }
    *needs->excess = '\0';
    if (wanted > REFERENCES_MAX)
        snprintf(needs->excess, sizeof needs->excess,
                 "the workload refers to more than %d objects, directly or through others", REFERENCES_MAX);
    else if (bytes > REFERENCES_BYTES)
        snprintf(needs->excess, sizeof needs->excess,
                 "the objects that the workload refers to have more than %zu bytes together", REFERENCES_BYTES);
}

void needs_close(struct engine *engine, struct needs *needs, bool keep) {
    struct closing c = {.engine = engine, .needs = needs, .ok = true};
    for (size_t i = 0; i < needs->direct.count; i++)
        close_over(&c, &needs->direct.list[i], 1);
    for (size_t i = 0; i < needs->uses.count && keep; i++) {
        struct use former = {.object = needs->uses.list[i].object, .optional = needs->uses.list[i].optional};
        if (!needs_find_use(&c.uses, former.object))
            c.ok &= needs_put_use(&c.uses, &former) != PUT_FAILED;
    }
    if (!c.ok) { // without memory the former needs count
        free(c.uses.list);
        return;
    }
    struct needs former = *needs;
    needs->uses = c.uses;
    needs->stale = false;
    needs->open = c.open;
    check_limits(needs);
    for (size_t i = 0; i < needs->uses.count; i++) {
        needs->uses.list[i].needs = needs;
        link_use(&needs->uses.list[i]);
    }
    needs_count_users(engine, needs, true); // first, so that no copy is without a user meanwhile
    needs_count_users(engine, &former, false);
    needs_drop_uses(engine, &former.uses);
}
