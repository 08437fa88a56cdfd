// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/boundary.h"

#include "core/adapter/references.h"
#include "core/base/memory.h"
#include "core/base/sensitive.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#define POINTERS_MAX ((size_t)1 << 20)
#define SEGMENT "/namespaces/"

static bool is_mapped(const struct cluster_scope *scope) {
    return scope->namespace_map && *scope->namespace_map;
}

bool boundary_there(const struct cluster_scope *scope, const char *here, char out[NAMESPACE_SIZE]) {
    return namespace_there(scope->namespace_map, scope->origin, here, out);
}

bool boundary_here(const struct cluster_scope *scope, const char *there, char out[NAMESPACE_SIZE]) {
    return namespace_here(scope->namespace_map, scope->origin, there, out);
}

static struct error *no_name(const struct cluster_scope *scope, const char *here) {
    AUTO_BUFFER(text, 4096);
    namespace_describe_none(scope->namespace_map, scope->origin, here, &text);
    return error_new(ERROR_INVALID, "%s", text.data ? text.data : "out of memory");
}

// Namespaces in a spec ----------------------------------------------------------------------------------------------

// The kind of an object or a patch. Of an object, `plural` is NULL; of a patch, `kind`.
struct document_kind {
    const char *group, *plural, *kind;
    size_t group_len;
};

static bool is_subject(const struct document_kind *subject, const char *group, const char *plural, const char *kind) {
    return strlen(group) == subject->group_len && memcmp(group, subject->group, subject->group_len) == 0 &&
           (subject->plural ? strcmp(subject->plural, plural) == 0 : text_equal(subject->kind, kind));
}

// The resource "plural.group" of a reference's `of`, whose kind another reference of the list names.
static bool refers_to_subject(const wharf_reference *list, const char *of, const struct document_kind *subject) {
    struct reference_resource named;
    for (const wharf_reference *row = list; row->name; row++)
        if (row->resource && is_subject(subject, row->group, row->resource, row->kind) &&
            reference_resource(row, &named) && strcmp(named.resource, of) == 0)
            return true;
    return false;
}

static bool applies(const wharf_kind *kind, const wharf_reference *row, const struct document_kind *subject) {
    return row->of ? refers_to_subject(kind->references, row->of, subject)
                   : is_subject(subject, kind->group, kind->plural, kind->kind);
}

static bool add_pointer(void *ctx, const char *pointer, struct json *value) {
    struct buffer *pointers = ctx;
    if (json_is(value, JSON_STRING))
        buffer_append(pointers, pointer, strlen(pointer) + 1);
    return !pointers->failed;
}

// Whether documents of the subject may have such namespaces. Of a document also their pointers, NUL-terminated, perhaps
// some twice.
static bool find_namespaces(const struct cluster_scope *scope, const struct document_kind *subject,
                            const struct json *document, struct buffer *pointers) {
    bool found = false;
    for (size_t k = 0; k < scope->settings.n_kinds; k++) {
        const wharf_kind *kind = &scope->settings.kinds[k]->abi;
        for (const wharf_reference *row = kind->references; row && row->name; row++) {
            if (!row->namespace_ || !applies(kind, row, subject))
                continue;
            found = true;
            if (document)
                (void)pointer_each(document, row->namespace_, add_pointer, pointers);
        }
    }
    return found;
}

static bool is_repeated(const struct buffer *pointers, const char *pointer) {
    for (const char *at = pointers->data; at < pointer; at += strlen(at) + 1)
        if (strcmp(at, pointer) == 0)
            return true;
    return false;
}

// Replaces the namespaces. Of a request, each must have a name in the worker: the same name there may belong to
// somebody else.
static struct error *translate_all(const struct cluster_scope *scope, const struct buffer *pointers, bool to_worker,
                                   struct json *value) {
    for (const char *at = pointers->data, *end = at + pointers->len; at < end; at += strlen(at) + 1) {
        const char *name = json_string(pointer_find(value, at));
        char other[NAMESPACE_SIZE];
        if (!name || is_repeated(pointers, at))
            continue;
        bool found = (to_worker ? boundary_there : boundary_here)(scope, name, other);
        if (!found && to_worker)
            return no_name(scope, name);
        if (found && !pointer_set(value, at, json_new_string(other)))
            return error_no_memory();
    }
    return NULL;
}

// *changed: there are such namespaces.
static struct error *translate_spec(const struct cluster_scope *scope, const struct document_kind *subject,
                                    bool to_worker, struct json *value, bool *changed) {
    AUTO_BUFFER(pointers, POINTERS_MAX);
    (void)find_namespaces(scope, subject, value, &pointers);
    *changed = pointers.len > 0;
    if (pointers.failed)
        return error_no_memory();
    return *changed ? translate_all(scope, &pointers, to_worker, value) : NULL;
}

// Events -------------------------------------------------------------------------------------------------------------

static bool print_again(struct object *object) {
    size_t len = 0;
    char *text = json_text(object->value, &len);
    if (!text)
        return false;
    free(object->text);
    object->text = text;
    object->len = len;
    return true;
}

// The namespaces in the spec. *changed: there are such.
static bool translate_back(const struct cluster_scope *scope, struct json *value, bool *changed) {
    const char *version = json_string_or(json_get(value, "apiVersion"), ""), *slash = strchr(version, '/');
    const struct document_kind subject = {.group = version,
                                          .kind = json_string_or(json_get(value, "kind"), ""),
                                          .group_len = slash ? (size_t)(slash - version) : 0};
    struct error *error = translate_spec(scope, &subject, false, value, changed);
    bool good = !error;
    error_free(error);
    return good;
}

static bool translate_object(const struct cluster_scope *scope, struct object *object) {
    char here[NAMESPACE_SIZE];
    const char *there = object_namespace(object->value);
    bool changed = false;
    if (!is_mapped(scope) || !*there) // cluster-scoped
        return true;
    return boundary_here(scope, there, here) && object_move(object, here) &&
           translate_back(scope, object->value, &changed) && (!changed || print_again(object));
}

static bool translate_value(const struct cluster_scope *scope, struct json *value) {
    char here[NAMESPACE_SIZE];
    const char *there = object_namespace(value);
    bool changed = false;
    if (!is_mapped(scope) || !*there)
        return true;
    return boundary_here(scope, there, here) &&
           json_set(json_get(value, "metadata"), "namespace", json_new_string(here)) &&
           translate_back(scope, value, &changed);
}

// NULL: the event has none.
static const char **namespace_of(struct engine_event *event) {
    switch ((int)event->type) {
    case EVENT_POD_REPORT:
        return &event->pod_report.namespace_;
    case EVENT_NAMESPACE:
        return &event->namespace_.name;
    case EVENT_QUEUED:
        return &event->queued.namespace_;
    case EVENT_DEPENDENCY:
        return &event->dependency.namespace_;
    case EVENT_CAUSES:
        return &event->causes.namespace_;
    case EVENT_TENANT:
        return &event->tenant.name;
    default:
        return NULL;
    }
}

static struct object *object_of(const struct engine_event *event) {
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        return event->object;
    return event->type == EVENT_DEPENDENCY ? event->dependency.metadata : NULL;
}

bool boundary_response(const struct cluster_scope *scope, struct response *response) {
    bool object = !response->object || translate_object(scope, response->object);
    return (!response->value || translate_value(scope, response->value)) && object;
}

bool boundary_event(const struct cluster_scope *scope, struct engine_event *event, char name[NAMESPACE_SIZE]) {
    if (!is_mapped(scope))
        return true;
    struct object *object = object_of(event);
    const char **text = namespace_of(event);
    if (text && *text && **text) { // before the object, whose name this may be
        if (!boundary_here(scope, *text, name))
            return false;
        *text = name;
    }
    if (event->type == EVENT_ANSWER) // in the namespace of the request, which has a name
        (void)boundary_response(scope, event->answer.response);
    return !object || translate_object(scope, object);
}

// Requests -----------------------------------------------------------------------------------------------------------

// "/api/v1/namespaces/NAME/...", perhaps with a query.
static struct error *translate_path(const struct cluster_scope *scope, const char *path, char **out) {
    const char *at = strstr(path, SEGMENT), *query = strchr(path, '?');
    if (!at || (query && query < at))
        return (*out = strdup(path)) ? NULL : error_no_memory();
    const char *name = at + strlen(SEGMENT);
    size_t len = strcspn(name, "/?");
    AUTO_TEXT here = strndup(name, len);
    char there[NAMESPACE_SIZE];
    if (!here)
        return error_no_memory();
    if (!boundary_there(scope, here, there))
        return no_name(scope, here);
    *out = text_format("%.*s%s%s", (int)(name - path), path, there, name + len);
    return *out ? NULL : error_no_memory();
}

static bool is_of_namespaces(const struct request *request) {
    return *request->resource.group == '\0' && strcmp(request->resource.plural, "namespaces") == 0;
}

static struct document_kind subject_of(const struct resource *resource) {
    return (struct document_kind){
        .group = resource->group, .plural = resource->plural, .group_len = strlen(resource->group)};
}

// The whole body: of a Namespace, or with namespaces in the spec.
static struct error *print_body(const struct cluster_scope *scope, const struct request *request,
                                struct boundary_request *out) {
    const struct document_kind subject = subject_of(&request->resource);
    struct json *parsed = NULL;
    TRY(json_parse(request->body, request->body_len, &parsed));
    AUTO_JSON value = parsed;
    struct json *metadata = json_get(value, "metadata");
    const char *key = is_of_namespaces(request) ? "name" : "namespace";
    bool changed = false;
    TRY(translate_spec(scope, &subject, true, value, &changed));
    if (json_get(metadata, key) &&
        !json_set(metadata, key, json_new_string(is_of_namespaces(request) ? out->name : out->namespace_)))
        return error_no_memory();
    out->body = json_text(value, &out->request.body_len);
    return out->body ? NULL : error_no_memory();
}

static struct error *translate_body(const struct cluster_scope *scope, const struct request *request,
                                    struct boundary_request *out) {
    const struct document_kind subject = subject_of(&request->resource);
    struct error *error = NULL;
    if (is_of_namespaces(request) || find_namespaces(scope, &subject, NULL, NULL)) // only then parsed and printed again
        error = print_body(scope, request, out);
    else if (!(out->body = object_text_in(request->body, request->body_len, out->namespace_, &out->request.body_len)))
        error = error_no_memory();
    out->request.body = out->body;
    return error;
}

static struct error *translate_request(const struct cluster_scope *scope, const struct request *request,
                                       struct boundary_request *out) {
    bool writes =
        request->verb == VERB_CREATE || request->verb == VERB_MERGE_PATCH || request->verb == VERB_STATUS_PATCH;
    if (request->verb == VERB_RAW_GET) {
        TRY(translate_path(scope, request->name, &out->path));
        out->request.name = out->path;
        return NULL;
    }
    if (is_of_namespaces(request)) {
        if (!boundary_there(scope, request->name, out->name))
            return no_name(scope, request->name);
        out->request.name = out->name;
    } else if (*request->namespace_) {
        if (!boundary_there(scope, request->namespace_, out->namespace_))
            return no_name(scope, request->namespace_);
        out->request.namespace_ = out->namespace_;
    } else {
        return NULL; // cluster-scoped
    }
    return request->body && writes ? translate_body(scope, request, out) : NULL;
}

struct error *boundary_request(const struct cluster_scope *scope, const struct request *request,
                               struct boundary_request *out) {
    SENSITIVE_WHILE(request->sensitive);
    *out = (struct boundary_request){.request = *request, .sensitive = request->sensitive};
    return is_mapped(scope) ? translate_request(scope, request, out) : NULL;
}

void boundary_request_clear(struct boundary_request *request) {
    free(request->path);
    (request->sensitive ? sensitive_free : free)(request->body);
    *request = (struct boundary_request){.path = NULL};
}
