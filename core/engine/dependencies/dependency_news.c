// SPDX-License-Identifier: Apache-2.0
// News of sources and of objects in workers, in metadata alone.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"

#define STALE_NS (10 * CLOCK_SECOND) // for so long after an answer, older versions are of the past

// Marks ----------------------------------------------------------------------------------------------------------

uint64_t copy_versions(const struct dependency *object, const struct copy *copy) {
    uint64_t hash = text_hash(text_hash(TEXT_HASH, copy->version), object->source);
    return hash ? hash : 1;
}

bool copy_is_compared(const struct dependency *object, const struct copy *copy) {
    return copy->compared == copy_versions(object, copy);
}

struct seal_subject copy_seal_subject(const struct engine *engine, const struct dependency *object, size_t cluster,
                                      const char *source_uid, char kind[COPY_KIND_MAX]) {
    snprintf(kind, COPY_KIND_MAX, "copy of %s", object->resource->name);
    return (struct seal_subject){.origin = engine->origin,
                                 .kind = kind,
                                 .namespace_ = object->namespace_,
                                 .name = object->name,
                                 .uid = source_uid,
                                 .cluster = engine->clusters[cluster].name};
}

// Rule D1. *unsealed: the seal has to be written, or written anew.
static enum copy_state owner_of(const struct engine *engine, const struct dependency *object, const struct copy *copy,
                                const struct json *metadata, bool *unsealed) {
    const char *origin = object_label(metadata, MARK_ORIGIN), *of = object_label(metadata, MARK_COPY_OF);
    *unsealed = false;
    if (!origin || !of || object_label(metadata, MARK_KIND) || object_controller(metadata))
        return COPY_OTHER;
    if (strcmp(origin, engine->origin) != 0)
        return COPY_ORIGIN;
    if (!seal_keys_any(engine->seals))
        return COPY_OWN;
    char kind[COPY_KIND_MAX];
    struct seal_subject subject = copy_seal_subject(engine, object, copy->cluster, of, kind);
    enum seal_verdict verdict = seal_check(engine->seals, &subject, object_annotation(metadata, MARK_SEAL));
    bool listed = dependency_watch_in(object->resource, copy->cluster)->seen;
    bool adopts = copy_is_there(copy) ? copy->state == COPY_OWN && copy->unsealed
                                      : !listed && engine->now.mono_ns < engine->dependencies->adopt_until_ns;
    *unsealed = verdict != SEAL_VALID;
    if (verdict == SEAL_VALID || verdict == SEAL_OLD_KEY || (verdict == SEAL_MISSING && adopts))
        return COPY_OWN;
    return verdict == SEAL_MISSING ? COPY_GIVEN : COPY_OTHER;
}

// Copies ---------------------------------------------------------------------------------------------------------

static bool is_same(const struct copy *copy, const char *uid) {
    return copy_is_there(copy) && strcmp(copy->uid, uid) == 0;
}

bool copy_is_newer(const struct copy *copy, const struct json *there) {
    return is_same(copy, object_uid(there)) && object_version_is_older(object_version(there), copy->version);
}

static bool is_stale(const struct engine *engine, const struct dependency_resource *resource, const struct copy *copy,
                     const struct json *metadata) {
    bool listing = copy->listing || dependency_watch_in(resource, copy->cluster)->listing;
    return copy->answered_ns && engine->now.mono_ns - copy->answered_ns < STALE_NS && !listing &&
           copy_is_newer(copy, metadata);
}

void dependency_see_copy(struct engine *engine, struct dependency *object, struct copy *copy,
                         const struct json *metadata) {
    if (strlen(object_uid(metadata)) >= STORE_UID_MAX || is_stale(engine, object->resource, copy, metadata))
        return;
    const char *also = object_annotation(metadata, MARK_ALSO_USED), *source = object_annotation(metadata, MARK_SOURCE);
    if (!is_same(copy, object_uid(metadata))) {
        copy->compared = 0;
        copy->recreate = copy->refused = false;
    }
    bool unsealed;
    char heir[COPY_ORIGIN_MAX];
    copy->state = owner_of(engine, object, copy, metadata, &unsealed);
    copy->unsealed = unsealed;
    text_copy(copy->uid, sizeof copy->uid, object_uid(metadata));
    text_copy(copy->version, sizeof copy->version, object_version(metadata));
    copy->marked = source ? text_hash(TEXT_HASH, source) : 0;
    copy->also_used = text_list_has(also, engine->origin);
    copy->shared = copy->state == COPY_OWN && copy_heir(also, engine->origin, heir);
    if (object_is_being_deleted(metadata)) // others wait for the end
        copy->state = COPY_UNKNOWN;
    dependency_changed(engine, object);
}

void dependency_lose_copy(struct engine *engine, struct dependency *object, struct copy *copy) {
    if (copy->state == COPY_ABSENT)
        return;
    bool was = copy_is_there(copy);
    copy->state = COPY_ABSENT;
    copy->marked = copy->compared = 0;
    copy->recreate = copy->shared = copy->also_used = copy->refused = false;
    *copy->uid = '\0';
    copy->failures = 0;
    copy->not_before_ns = was && copy->users ? throttle_next(&copy->repeats, engine->now.mono_ns, 3) : 0;
    dependency_set_problem(&copy->problem, NULL);
    dependency_changed(engine, object);
}

// Sources --------------------------------------------------------------------------------------------------------

static void source_changed(struct engine *engine, struct dependency *object) {
    for (struct copy *c = object->copies; c; c = c->next) {
        c->recreate = false;
        if (c->refused)
            c->not_before_ns = 0; // the worker may accept the changed object
    }
    dependency_touch(engine, object);
    for (const struct use *u = object->users; u; u = u->older)
        queue_entry(engine, u->needs->entry);
}

void dependency_see_source(struct engine *engine, struct dependency *object, const struct json *metadata) {
    char mark[DEPENDENCY_MARK_MAX];
    bool labelled = text_equal(object_label(metadata, MARK_COPY), "true");
    int len = snprintf(mark, sizeof mark, "%s/%s", object_uid(metadata), object_version(metadata));
    if (len < 0 || (size_t)len >= sizeof mark ||
        (object->presence == PRESENCE_THERE && strcmp(mark, object->source) == 0 && !object->problem))
        return;
    size_t uid = strcspn(mark, "/") + 1;
    bool same = strncmp(mark, object->source, uid) == 0;
    object->presence = PRESENCE_THERE;
    object->labelled = labelled;
    memcpy(object->source, mark, sizeof mark);
    if (object->mark != text_hash(TEXT_HASH, mark))
        dependency_drop_content(object);
    object->mark = text_hash(TEXT_HASH, mark);
    object->denied &= same; // the type of one object does not change
    object->failures = 0;
    object->not_before_ns = 0;
    dependency_set_problem(&object->problem, NULL);
    source_changed(engine, object);
}

static void lose_source(struct engine *engine, struct dependency *object) {
    if (object->presence == PRESENCE_ABSENT)
        return;
    object->presence = PRESENCE_ABSENT;
    dependency_set_problem(&object->problem, NULL);
    dependency_drop_content(object);
    source_changed(engine, object);
}

// Events ---------------------------------------------------------------------------------------------------------

struct news { // an event
    const struct engine_event *event;
    struct dependency_resource *resource;
    struct dependency_watch *watch;
    const struct json *metadata; // NULL: of a name, or of all objects
    const char *namespace_, *name;
    struct dependency *object; // of the name; NULL: none is known
    struct copy *copy;         // in a worker; NULL: none is known
};

static bool read_news(struct engine *engine, const struct engine_event *event, struct news *news) {
    const char *resource = event->dependency.resource;
    *news = (struct news){.event = event,
                          .resource = resource ? map_get(&engine->dependencies->resources, resource) : NULL,
                          .metadata = event->dependency.metadata ? event->dependency.metadata->value : NULL};
    news->watch = news->resource ? dependency_watch_of(news->resource, event->cluster) : NULL;
    if (!news->watch)
        return false;
    const char *space = news->metadata ? object_namespace(news->metadata) : event->dependency.namespace_;
    news->name = news->metadata ? object_name(news->metadata) : event->dependency.name;
    news->namespace_ = news->resource->cluster_scoped || !space ? "" : space;
    news->object = news->name ? dependency_find(engine, resource, news->namespace_, news->name) : NULL;
    news->copy = news->object && event->cluster ? dependency_copy(news->object, event->cluster) : NULL;
    return true;
}

static void seen(struct engine *engine, struct news *news) {
    const struct json *metadata = news->metadata;
    size_t cluster = news->event->cluster;
    if (!metadata)
        return;
    if (cluster == ENGINE_MANAGEMENT) {
        if (news->object)
            dependency_see_source(engine, news->object, metadata);
        return;
    }
    bool ours = text_equal(object_label(metadata, MARK_ORIGIN), engine->origin) && object_label(metadata, MARK_COPY_OF);
    if (ours && !news->object)
        news->object = dependency_make(engine, news->resource, news->namespace_, news->name);
    if (ours && news->object)
        news->copy = dependency_copy_make(engine, news->object, cluster);
    if (!news->copy)
        return;
    news->copy->epoch = news->watch->epoch;
    dependency_see_copy(engine, news->object, news->copy, metadata);
}

// The end of the object, or with metadata of one version: not of a later object of the name.
static void gone(struct engine *engine, const struct news *news) {
    const char *uid = news->metadata ? object_uid(news->metadata) : NULL;
    struct dependency *object = news->object;
    struct copy *copy = news->copy;
    if (copy && (!uid || !copy_is_there(copy) || is_same(copy, uid)))
        dependency_lose_copy(engine, object, copy);
    if (!object || news->event->cluster)
        return;
    char mark[DEPENDENCY_MARK_MAX];
    snprintf(mark, sizeof mark, "%s/", uid ? uid : "");
    if (!uid || object->presence != PRESENCE_THERE || text_has_prefix(object->source, mark))
        lose_source(engine, object);
}

// Copies without a watch of their own that the list lacks.
static void drop_unseen(struct engine *engine, const struct news *news) {
    size_t cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        struct copy *copy = o->resource == news->resource ? dependency_copy(o, news->event->cluster) : NULL;
        if (copy && !copy->watched && copy_is_there(copy) && copy->epoch != news->watch->epoch)
            dependency_lose_copy(engine, o, copy);
    }
}

// A list of all objects, or of one, begins or is complete. After a restoration from a backup, a list has older versions
// than the answers before.
static void set_listing(struct engine *engine, const struct news *news, bool listing) {
    if (news->copy)
        news->copy->listing = listing;
    if (news->name)
        return;
    if (listing)
        news->watch->epoch++;
    else if (news->watch->listing)
        drop_unseen(engine, news);
    news->watch->listing = listing;
    news->watch->seen |= !listing;
}

// Of one object, or of the resource. NULL: the watch works.
static void set_problem(struct engine *engine, const struct news *news, const char *problem) {
    struct dependency *object = news->object;
    if (object) {
        if (news->copy && (problem || news->copy->state == COPY_UNKNOWN))
            dependency_set_problem(&news->copy->problem, problem);
        else if (!news->event->cluster)
            dependency_set_problem(&object->problem, problem);
        source_changed(engine, object);
    }
    if (news->name || text_equal(news->watch->problem, problem))
        return;
    dependency_set_problem(&news->watch->problem, problem);
    size_t cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));)
        if (o->resource == news->resource)
            source_changed(engine, o);
}

void dependency_on_event(struct engine *engine, struct engine_event *event) {
    struct news news;
    if (event->dependency.news == DEPENDENCIES_FORGOTTEN) {
        dependency_forget_watches(engine, event->cluster);
        return;
    }
    if (!read_news(engine, event, &news))
        return;
    switch (event->dependency.news) {
    case DEPENDENCIES_LISTING:
        set_listing(engine, &news, true);
        break;
    case DEPENDENCIES_LISTED:
        set_listing(engine, &news, false);
        set_problem(engine, &news, NULL);
        break;
    case DEPENDENCY_SEEN:
        seen(engine, &news);
        break;
    case DEPENDENCY_GONE:
        gone(engine, &news);
        break;
    case DEPENDENCIES_REFUSED:
        set_problem(engine, &news, event->dependency.problem ? event->dependency.problem : "access is denied");
        break;
    default: // lost: the state is that of before
        break;
    }
}
