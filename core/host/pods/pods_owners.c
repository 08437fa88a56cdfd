// SPDX-License-Identifier: Apache-2.0
// Follows owner references. Each kind between a pod and the topmost owner is unknown beforehand and may have a thousand
// objects, so one list reads all objects of a kind.
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/pods/pods.h"
#include "core/kube/api/api_resources.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

#define PAGE "500"
#define BYTES_MAX ((size_t)16 << 20) // of all kept objects
#define DEPTH 8                      // of owners
#define KINDS 24                     // different kinds of owners to list
#define REFERENCES 4                 // of one object

struct owned_object { // an object
    char *uid, *name;
    bool is_pod;
    enum { NOT_VISITED, DOES_NOT_LEAD, LEADS } verdict; // for leads_to
    size_t n_owners;
    struct {
        char *uid, *api_version, *kind;
    } owners[REFERENCES];
};

struct search {
    const struct pods_source *source;
    const char *namespace_, *uid;
    struct owned_object **seen;
    size_t n_seen;
    size_t bytes;
    struct map by_uid;
    char *listed[KINDS]; // "batch/v1 Job"
    size_t n_listed;
    bool truncated;
    struct error *blind;
};

static void seen_free(struct owned_object *seen) {
    for (size_t i = 0; i < seen->n_owners; i++) {
        free(seen->owners[i].uid);
        free(seen->owners[i].api_version);
        free(seen->owners[i].kind);
    }
    free(seen->uid);
    free(seen->name);
    free(seen);
}

static void search_free(struct search *search) {
    for (size_t i = 0; i < search->n_seen; i++)
        seen_free(search->seen[i]);
    for (size_t i = 0; i < search->n_listed; i++)
        free(search->listed[i]);
    free(search->seen);
    map_free(&search->by_uid);
}

static char *copy(struct search *search, const char *text) {
    search->bytes += strlen(text) + 1;
    return strdup(text);
}

static bool read_owners(struct search *search, const struct json *object, struct owned_object *seen) {
    const struct json *references = json_path(object, "metadata", "ownerReferences", NULL);
    bool ok = true;
    for (const struct json *r = json_first(references); r && seen->n_owners < REFERENCES && ok; r = json_next(r)) {
        size_t i = seen->n_owners++;
        seen->owners[i].uid = copy(search, json_string_or(json_get(r, "uid"), ""));
        seen->owners[i].api_version = copy(search, json_string_or(json_get(r, "apiVersion"), ""));
        seen->owners[i].kind = copy(search, json_string_or(json_get(r, "kind"), ""));
        ok = seen->owners[i].uid && seen->owners[i].api_version && seen->owners[i].kind;
    }
    return ok;
}

static bool is_full(const struct search *search) {
    return search->n_seen >= PODS_SEEN || search->bytes >= BYTES_MAX;
}

static struct error *add(struct search *search, const struct json *object, bool is_pod) {
    if (map_get(&search->by_uid, object_uid(object)) || is_full(search)) {
        search->truncated = search->truncated || is_full(search);
        return NULL;
    }
    struct owned_object *seen = calloc(1, sizeof *seen);
    struct owned_object **place = seen ? array_next(&search->seen, search->n_seen, sizeof *place) : NULL;
    if (!place) {
        free(seen);
        return error_no_memory();
    }
    *place = seen;
    search->n_seen++;
    seen->is_pod = is_pod;
    search->bytes += sizeof *seen;
    seen->uid = copy(search, object_uid(object));
    seen->name = copy(search, object_name(object));
    bool ok = seen->uid && seen->name && read_owners(search, object, seen) && map_put(&search->by_uid, seen->uid, seen);
    return ok ? NULL : error_no_memory();
}

// All pages of a list.
static struct error *list(struct search *search, const char *collection, bool are_pods) {
    AUTO_BUFFER(more, 16384);
    struct error *error = NULL;
    buffer_text(&more, "");
    do {
        AUTO_TEXT path = text_format("%s?limit=" PAGE "%s%s", collection, more.len > 0 ? "&continue=" : "",
                                     more.data ? more.data : "");
        AUTO_JSON page = NULL;
        error = path ? search->source->get(search->source->ctx, path, true, &page) : error_no_memory();
        buffer_reset(&more);
        const struct json *items = json_get(page, "items");
        for (const struct json *item = json_first(items); item && !error; item = json_next(item))
            error = add(search, item, are_pods);
        text_percent_encode(&more, json_string_or(json_path(page, "metadata", "continue", NULL), ""));
        if (!error && more.failed)
            error = error_no_memory();
    } while (!error && more.len > 0 && !is_full(search));
    search->truncated = search->truncated || more.len > 0;
    return error;
}

// Lists the objects of an owner's kind, unless the worker does not serve the kind.
static struct error *list_kind(struct search *search, const char *api_version, const char *kind) {
    AUTO_TEXT root = api_resources_version_path(api_version);
    AUTO_JSON resources = NULL;
    if (!root)
        return NULL;
    struct error *error = search->source->get(search->source->ctx, root, false, &resources);
    const char *plural = error ? NULL : api_resources_plural(resources, kind);
    if (!plural)
        return error;
    AUTO_TEXT collection = text_format("%s/namespaces/%s/%s", root, search->namespace_, plural);
    return collection ? list(search, collection, false) : error_no_memory();
}

// True: the kind was not requested before.
static bool is_new_kind(struct search *search, const char *api_version, const char *kind) {
    AUTO_TEXT name = text_format("%s %s", api_version, kind);
    if (!name || search->n_listed == KINDS)
        return false;
    for (size_t i = 0; i < search->n_listed; i++)
        if (strcmp(search->listed[i], name) == 0)
            return false;
    search->listed[search->n_listed++] = TAKE(name);
    return true;
}

// Lists the kinds of owners that were not listed yet. A kind that cannot be read is left out, and remembered.
static struct error *list_owners(struct search *search, bool *found) {
    size_t count = search->n_seen; // the loop adds objects
    *found = false;
    for (size_t i = 0; i < count; i++)
        for (size_t o = 0; o < search->seen[i]->n_owners; o++) {
            const char *api_version = search->seen[i]->owners[o].api_version, *kind = search->seen[i]->owners[o].kind;
            const char *uid = search->seen[i]->owners[o].uid;
            if (strcmp(uid, search->uid) == 0 || map_get(&search->by_uid, uid) ||
                !is_new_kind(search, api_version, kind))
                continue;
            struct error *error = list_kind(search, api_version, kind);
            *found = true;
            if (error && error->code != ERROR_REFUSED && error->code != ERROR_NOT_FOUND)
                return error;
            if (error && !search->blind)
                search->blind = error_wrap(error, "owners of kind %s", kind);
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
    for (size_t i = 0; i < seen->n_owners && seen->verdict != LEADS; i++) {
        struct owned_object *owner = map_get(&search->by_uid, seen->owners[i].uid);
        if (strcmp(seen->owners[i].uid, search->uid) == 0 || (owner && leads_to(search, owner, depth - 1)))
            seen->verdict = LEADS;
    }
    return seen->verdict == LEADS;
}

static struct error *run(struct search *search) {
    AUTO_TEXT collection = text_format("/api/v1/namespaces/%s/pods", search->namespace_);
    struct error *error = collection ? list(search, collection, true) : error_no_memory();
    if (!error && search->n_listed < KINDS)
        search->listed[search->n_listed++] = strdup("v1 Pod");
    if (!error && !search->listed[0])
        error = error_no_memory();
    bool found = true;
    for (unsigned round = 0; round < DEPTH && found && !error; round++)
        error = list_owners(search, &found);
    return error;
}

struct error *pods_names(const struct pods_source *source, const char *namespace_, const char *uid, size_t max,
                         struct buffer *names, size_t *count, bool *truncated, struct error **blind) {
    struct search search = {.source = source, .namespace_ = namespace_, .uid = uid};
    map_init(&search.by_uid, random_system());
    *count = 0;
    *blind = NULL;
    if (!text_is_dns_label(namespace_))
        return error_new(ERROR_INVALID, "\"%.80s\" is no namespace", namespace_);
    struct error *error = run(&search);
    for (size_t i = 0; i < search.n_seen && !error; i++) {
        struct owned_object *seen = search.seen[i];
        // Names go into paths: skip invalid names from a worker.
        if (!seen->is_pod || !text_is_dns_subdomain(seen->name) || !leads_to(&search, seen, DEPTH))
            continue;
        search.truncated = search.truncated || *count == max;
        if (*count == max)
            break;
        *count += 1;
        buffer_append(names, seen->name, strlen(seen->name) + 1);
    }
    if (!error && names->failed)
        error = error_no_memory();
    *truncated = search.truncated;
    if (error)
        error_free(search.blind);
    else
        *blind = search.blind;
    search_free(&search);
    return error;
}
