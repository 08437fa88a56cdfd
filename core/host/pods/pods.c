// SPDX-License-Identifier: Apache-2.0
// Follows owner references from pods upwards. Each kind between a pod and the topmost owner is unknown beforehand and
// may have a thousand objects, so one list reads all objects of a kind.
#include "core/host/pods/pods.h"

#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/pods/owner.h"
#include "core/kube/api/requests.h"

#include <malloc.h>

#define SINGLE 32                    // up to so many pods are read one by one; else all of the namespace
#define PAGE 500                     // of metadata,
#define PAGE_OF_PODS 100             // of whole pods
#define BYTES_MAX ((size_t)16 << 20) // of all kept objects
#define DEPTH 8                      // of owners
#define KINDS 24                     // different kinds of owners to list
#define REFERENCES 4                 // of one object
#define TEXTS ((size_t)(1 + REFERENCES) * 5)

struct owned_object {                          // one block, see struct_copy_with_texts
    struct owner_ref self, owners[REFERENCES]; // without a uid: none
    bool is_pod;
    bool found;                                         // a pod of the mirror, to be read
    enum { NOT_VISITED, DOES_NOT_LEAD, LEADS } verdict; // for leads_to
};

struct search {
    const struct pods_source *source;
    const char *namespace_, *uid;
    struct owned_object **seen;
    size_t n_seen;
    size_t bytes;
    struct map by_uid;
    struct owner_kinds listed;
    bool pods_listed;
    bool whole; // reads whole pods: the `n_found` ones
    size_t n_found;
    struct pods *out;
};

// Lists ------------------------------------------------------------------------------------------------------------

static bool is_full(const struct search *search) {
    if (search->whole)
        return search->out->count >= search->n_found;
    return search->n_seen >= PODS_SEEN || search->bytes >= BYTES_MAX;
}

static struct error *read_object(const struct search *search, const char *path, bool metadata, struct json **out) {
    return path ? search->source->get(search->source->ctx, path, metadata, out) : error_no_memory();
}

// All pages of a list.
static struct error *read_pages(struct search *search, const char *collection, const char *select,
                                struct error *(*each)(struct search *search, const struct json *object)) {
    AUTO_BUFFER(more, 16384);
    do {
        AUTO_JSON page = NULL;
        AUTO_TEXT path =
            text_format("%s?limit=%d%s%s%s", collection, search->whole ? PAGE_OF_PODS : PAGE, select ? select : "",
                        more.len > 0 ? "&continue=" : "", more.len > 0 ? more.data : "");
        TRY(read_object(search, path, !search->whole, &page));
        for (const struct json *item = json_first(json_get(page, "items")); item; item = json_next(item))
            TRY(each(search, item));
        buffer_reset(&more);
        text_percent_encode(&more, json_string_or(json_path(page, "metadata", "continue", NULL), ""));
        if (more.failed)
            return error_no_memory();
    } while (more.len > 0 && !is_full(search));
    search->out->truncated |= !search->whole && more.len > 0;
    return NULL;
}

static struct error *see_object(struct search *search, const struct json *object) {
    if (map_get(&search->by_uid, object_uid(object)) || is_full(search)) {
        search->out->truncated |= is_full(search);
        return NULL;
    }
    const struct json *reference = json_first(json_path(object, "metadata", "ownerReferences", NULL));
    struct owned_object wanted = {.self = {"", "", "", object_name(object), object_uid(object)},
                                  .is_pod = !search->pods_listed};
    for (size_t i = 0; i < REFERENCES; i++) {
        wanted.owners[i] = owner_ref_read(reference, "");
        reference = reference ? json_next(reference) : NULL;
    }
    struct owned_object **place = array_next(&search->seen, search->n_seen, sizeof *place);
    struct owned_object *seen = place ? struct_copy_with_texts(&wanted, sizeof wanted, TEXTS) : NULL;
    if (!seen)
        return error_no_memory();
    *place = seen;
    search->n_seen++;
    search->bytes += malloc_usable_size(seen);
    return map_put(&search->by_uid, seen->self.uid, seen) ? NULL : error_no_memory();
}

// Owners -----------------------------------------------------------------------------------------------------------

// Lists the objects of an owner's kind, unless the worker does not serve the kind.
static struct error *list_kind(struct search *search, const struct owner_ref *owner) {
    AUTO_TEXT root = api_resources_version_path(owner->api_version);
    AUTO_JSON resources = NULL;
    if (!root)
        return NULL;
    TRY(read_object(search, root, false, &resources));
    const char *plural = api_resources_plural(resources, owner->kind);
    if (!plural)
        return NULL;
    AUTO_TEXT collection = text_format("%s/namespaces/%s/%s", root, search->namespace_, plural);
    return collection ? read_pages(search, collection, NULL, see_object) : error_no_memory();
}

// Lists the kinds of owners that were not listed yet. A kind that cannot be read is left out, and remembered.
static struct error *list_owners(struct search *search, bool *found) {
    size_t count = search->n_seen; // the loop adds objects
    *found = false;
    for (size_t i = 0; i < count * REFERENCES; i++) {
        const struct owner_ref *owner = &search->seen[i / REFERENCES]->owners[i % REFERENCES];
        if (!*owner->uid || strcmp(owner->uid, search->uid) == 0 || map_get(&search->by_uid, owner->uid) ||
            owner_kinds_find(&search->listed, owner) || search->listed.count == KINDS ||
            !owner_kinds_add(&search->listed, owner, ""))
            continue;
        *found = true;
        struct error *error = list_kind(search, owner);
        if (error && error->code != ERROR_REFUSED && error->code != ERROR_NOT_FOUND)
            return error;
        if (error && !search->out->blind)
            search->out->blind = error_wrap(error, "owners of kind %s", owner->kind);
        else
            error_free(error);
    }
    return NULL;
}

// Each object is visited once, also where users made cyclic owner references.
static bool leads_to(const struct search *search, struct owned_object *seen, unsigned depth) {
    if (seen->verdict != NOT_VISITED || depth == 0)
        return seen->verdict == LEADS;
    seen->verdict = DOES_NOT_LEAD;
    for (size_t i = 0; i < REFERENCES && seen->verdict != LEADS; i++) {
        struct owned_object *owner = map_get(&search->by_uid, seen->owners[i].uid);
        if (strcmp(seen->owners[i].uid, search->uid) == 0 || (owner && leads_to(search, owner, depth - 1)))
            seen->verdict = LEADS;
    }
    return seen->verdict == LEADS;
}

static void mark_pods(struct search *search, size_t max) {
    for (size_t i = 0; i < search->n_seen; i++) {
        struct owned_object *seen = search->seen[i];
        // Names go into paths: skip invalid names from a worker.
        if (!seen->is_pod || !text_is_dns_subdomain(seen->self.name) || !leads_to(search, seen, DEPTH))
            continue;
        seen->found = search->n_found < max;
        search->n_found += seen->found;
        search->out->truncated |= !seen->found;
    }
}

// A pod that is gone meanwhile is left out.
static struct error *read_each(struct search *search) {
    for (size_t i = 0; i < search->n_seen; i++) {
        if (!search->seen[i]->found)
            continue;
        AUTO_JSON object = NULL;
        AUTO_TEXT path = text_format("/api/v1/namespaces/%s/pods/%s", search->namespace_, search->seen[i]->self.name);
        struct error *error = read_object(search, path, false, &object);
        bool gone = error && error->code == ERROR_NOT_FOUND;
        if (!error)
            error = pods_add(search->out, object);
        if (error && !gone)
            return error;
        error_free(error);
    }
    return NULL;
}

static struct error *add_found(struct search *search, const struct json *object) {
    const struct owned_object *seen = map_get(&search->by_uid, object_uid(object));
    return seen && seen->found && !is_full(search) ? pods_add(search->out, object) : NULL;
}

static struct error *run_search(struct search *search, size_t max) {
    AUTO_TEXT collection = text_format("/api/v1/namespaces/%s/pods", search->namespace_);
    if (!collection || !owner_kinds_add(&search->listed, &(struct owner_ref){.api_version = "v1", .kind = "Pod"}, ""))
        return error_no_memory();
    const char *select = search->source->select;
    TRY(read_pages(search, collection, select, see_object));
    search->pods_listed = true;
    bool found = true;
    for (unsigned round = 0; round < DEPTH && found; round++)
        TRY(list_owners(search, &found));
    mark_pods(search, max);
    search->whole = true;
    return search->n_found <= SINGLE ? read_each(search) : read_pages(search, collection, select, add_found);
}

static int newest_first(const void *a, const void *b) {
    const struct pod *one = a, *other = b;
    int order = strcmp(other->created, one->created);
    return order != 0 ? order : strcmp(one->name, other->name);
}

struct error *pods_find(const struct pods_source *source, const char *namespace_, const char *uid, size_t max,
                        struct pods *out) {
    struct search search = {.source = source, .namespace_ = namespace_, .uid = uid, .out = out};
    *out = (struct pods){0};
    if (!text_is_dns_label(namespace_))
        return error_new(ERROR_INVALID, "\"%.80s\" is no namespace", namespace_);
    map_init(&search.by_uid, random_system());
    struct error *error = run_search(&search, max);
    for (size_t i = 0; i < search.n_seen; i++)
        free(search.seen[i]);
    free(search.seen);
    map_free(&search.by_uid);
    owner_kinds_free(&search.listed);
    if (error)
        pods_clear(out);
    else if (out->count > 1)
        qsort(out->list, out->count, sizeof *out->list, newest_first);
    return error;
}
