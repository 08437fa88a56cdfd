// SPDX-License-Identifier: Apache-2.0
// Dispatches requests to the parts of the API server.
#include "tests/world/server.h"
#include "core/json/pointer.h"
#include "tests/world/commit.h"
#include "tests/world/list.h"
#include "tests/world/patch_types.h"
#include "tests/world/protobuf.h"
#include "tests/world/view.h"
#include "tests/world/watch.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)3 << 20)   // apiserver: MaxRequestBodyBytes
#define STORED_MAX ((size_t)3 << 19) // etcd: --max-request-bytes
#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"
#define JSON_PATCH "application/json-patch+json"

static bool method_is(const struct world_request *request, const char *method) {
    return strcmp(request->method, method) == 0;
}

static const char *rbac_verb(const struct world_request *request, const struct op *op, bool watch) {
    if (method_is(request, "POST"))
        return "create";
    if (method_is(request, "PUT"))
        return "update";
    if (method_is(request, "PATCH"))
        return "patch";
    if (method_is(request, "DELETE"))
        return *op->name ? "delete" : "deletecollection";
    return watch ? "watch" : *op->name ? "get" : "list";
}

static bool check_allowed(const struct op *op, const char *verb) {
    if (!op->cluster->denials)
        return true;
    AUTO_TEXT resource = text_format("%s%s%s", op->kind->resource, *op->subresource ? "/" : "", op->subresource);
    if (!resource || world_allowed(op->cluster, op->user, verb, resource, op->named))
        return true;
    struct details details = {.name = op->name, .group = op->kind->group, .kind = op->kind->plural};
    answer_failure(op->response, 403, "Forbidden", &details,
                   "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s%s\" in API group \"%s\"%s%s%s",
                   op->kind->resource, *op->name ? " \"" : "", op->name, *op->name ? "\"" : "",
                   op->user ? op->user : "world", verb, op->kind->plural, *op->subresource ? "/" : "", op->subresource,
                   op->kind->group, *op->namespace_ ? " in the namespace \"" : " at the cluster scope", op->namespace_,
                   *op->namespace_ ? "\"" : "");
    if (strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0 && strcmp(verb, "watch") != 0)
        commit_refused(op);
    return false;
}

static bool group_is_served(const struct world_cluster *cluster, const struct route *route) {
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        if (strcmp(kind->group, route->group) == 0 && (kind->builtin || world_kind_serves(kind, route->version)))
            return true;
    return false;
}

static bool is_named(const struct route *route) {
    const char *fields = route_query(route, "fieldSelector");
    return *route->name || (fields && text_has_prefix(fields, "metadata.name="));
}

// Resolves the target of a path. False: an error was returned.
static bool find_target(struct op *op, const struct route *route) {
    op->kind = route->resource ? world_kind_find(op->cluster, route->group, route->plural) : NULL;
    op->version = route->version;
    op->namespace_ = route->namespace_;
    op->name = route->name;
    op->subresource = route->subresource;
    op->named = is_named(route);
    bool known = op->kind && world_kind_serves(op->kind, route->version);
    bool all = !*op->name && !*op->namespace_;
    if (known && op->kind->cluster_scoped ? *op->namespace_ != '\0' : known && !*op->namespace_ && !all)
        known = false;
    if (known && *op->subresource && (strcmp(op->subresource, "status") != 0 || !op->kind->has_status))
        known = false;
    if (!known && group_is_served(op->cluster, route))
        answer_unknown_resource(op->response);
    else if (!known)
        answer_not_served(op->response);
    return known;
}

static enum world_verb write_verb(const struct world_request *request, const struct op *op) {
    if (method_is(request, "POST"))
        return WORLD_CREATE;
    if (method_is(request, "DELETE"))
        return WORLD_DELETE;
    if (method_is(request, "GET"))
        return WORLD_READ;
    return *op->subresource ? WORLD_UPDATE_STATUS : WORLD_UPDATE;
}

static bool content_is(const struct world_request *request, const char *type) {
    const char *given = request->content_type ? request->content_type : "application/json";
    size_t len = strlen(type);
    return strncasecmp(given, type, len) == 0 && (given[len] == '\0' || given[len] == ';' || given[len] == ' ');
}

static bool check_body(const struct op *op, const struct world_request *request, const char *type) {
    if (request->body_len > BODY_MAX)
        answer_failure(op->response, 413, "RequestEntityTooLarge", NULL, "Request entity too large: limit is %zu",
                       BODY_MAX);
    else if (!content_is(request, type))
        answer_failure(op->response, 415, "UnsupportedMediaType", NULL,
                       "the body of the request was in an unknown format - accepted media types include: %s", type);
    else if (request->body_len > STORED_MAX)
        answer_failure(op->response, 500, NULL, NULL, "etcdserver: request is too large");
    else
        return true;
    return false;
}

static struct json *read_body(const struct op *op, const struct world_request *request) {
    struct json *body = NULL;
    struct error *error = json_parse(request->body ? request->body : "", request->body_len, &body);
    if (!error)
        return body;
    answer_bad_request(op->response, "%s in version \"%s\" cannot be handled as a %s: %s", op->kind->kind, op->version,
                       op->kind->kind, error_text(error));
    error_free(error);
    return NULL;
}

static void get(const struct op *op, const struct route *route) {
    if (!*op->name) {
        world_list(op, route);
        return;
    }
    op->cluster->counts.gets++;
    const struct stored *object = world_find(op->kind, op->namespace_, op->name);
    if (object)
        answer_blob(op, 200, object->blob);
    else
        answer_not_found(op);
}

static void delete_collection(struct op *op, const char *propagation) {
    struct kind *kind = op->kind;
    AUTO_TEXT prefix = text_format("%s%s", op->namespace_, *op->namespace_ ? "/" : "");
    if (!prefix)
        world_oom();
    for (struct stored *object = world_seek(kind, prefix), *next; object; object = next) {
        next = object->next[0];
        if (*op->namespace_ && strcmp(object->namespace_, op->namespace_) != 0)
            break;
        world_remove_stored(object, propagation, false);
    }
    AUTO_JSON status = answer_status(200, NULL, NULL, NULL);
    answer_json(op->response, 200, status);
}

static void remove_target(struct op *op, const struct world_request *request, const struct route *route) {
    const char *propagation = route_query(route, "propagationPolicy");
    AUTO_JSON options = NULL;
    if (request->body_len) {
        options = read_body(op, request);
        if (!options) {
            commit_refused(op);
            return;
        }
    }
    if (*op->name)
        world_remove(op, options, propagation ? propagation : "");
    else
        delete_collection(op, options       ? json_string_or(json_get(options, "propagationPolicy"), "")
                              : propagation ? propagation
                                            : "");
}

// Converts other patch types to an equivalent merge patch for the current object. NULL: an error was returned.
static struct json *as_merge_patch(const struct op *op, const struct world_request *request, struct json *patch) {
    bool strategic = content_is(request, STRATEGIC_PATCH), json = content_is(request, JSON_PATCH);
    const struct stored *object = world_find(op->kind, op->namespace_, op->name);
    if (!patch || !object || (!strategic && !json))
        return patch;
    char message[256];
    struct json *now = world_json_copy(object->value), *merge = NULL;
    if (strategic ? patch_strategic(now, patch, message) : patch_json(&now, patch, message)) {
        merge = patch_diff(object->value, now, NULL);
        if (!merge)
            world_oom();
    } else {
        answer_failure(op->response, 422, "Invalid", NULL, "%s", message);
    }
    json_free(now);
    json_free(patch);
    return merge;
}

static const char *patch_type(const struct op *op, const struct world_request *request) {
    if (op->kind->builtin && content_is(request, STRATEGIC_PATCH))
        return STRATEGIC_PATCH;
    return content_is(request, JSON_PATCH) ? JSON_PATCH : MERGE_PATCH;
}

static void write_target(struct op *op, const struct world_request *request) {
    bool patch = method_is(request, "PATCH");
    const char *type = patch ? patch_type(op, request) : "application/json";
    struct json *body = check_body(op, request, type) ? read_body(op, request) : NULL;
    if (patch)
        body = as_merge_patch(op, request, body);
    if (!body)
        commit_refused(op);
    else if (op->verb == WORLD_CREATE)
        world_create(op, body);
    else
        world_update(op, body, patch);
}

static bool method_allowed(const struct op *op, const struct world_request *request) {
    bool named = *op->name, placed = op->kind->cluster_scoped || *op->namespace_;
    if (method_is(request, "GET"))
        return true;
    if (method_is(request, "POST"))
        return !named && placed;
    if (method_is(request, "PUT") || method_is(request, "PATCH"))
        return named;
    return method_is(request, "DELETE") && placed && !*op->subresource;
}

// metav1 validation.ValidateDryRun: "All", or nothing.
static bool read_dry_run(struct op *op, const struct world_request *request, const struct route *route) {
    const char *given = route_query(route, "dryRun");
    op->dry_run = given && op->verb != WORLD_READ;
    if (!op->dry_run || strcmp(given, "All") == 0)
        return true;
    AUTO_PROBLEMS problems = {0};
    AUTO_JSON shown = json_new_string(given);
    problem_unsupported(&problems, "dryRun", shown, "\"All\"");
    const char *options = op->verb == WORLD_CREATE      ? "CreateOptions"
                          : op->verb == WORLD_DELETE    ? "DeleteOptions"
                          : method_is(request, "PATCH") ? "PatchOptions"
                                                        : "UpdateOptions";
    answer_invalid_as(op, options, "meta.k8s.io", "", &problems);
    return false;
}

static void serve(struct op *op, const struct world_request *request, const struct route *route) {
    op->verb = write_verb(request, op);
    const char *validation = route_query(route, "fieldValidation");
    op->manager = route_query(route, "fieldManager");
    op->strict = validation && strcmp(validation, "Strict") == 0;
    if (!method_allowed(op, request))
        answer_failure(op->response, 405, "MethodNotAllowed", NULL,
                       "the server does not allow this method on the requested resource");
    else if (!check_allowed(op, rbac_verb(request, op, false)) || !read_dry_run(op, request, route))
        return;
    else if (op->verb == WORLD_READ)
        get(op, route);
    else if (op->verb == WORLD_DELETE)
        remove_target(op, request, route);
    else
        write_target(op, request);
}

// Reads another form of what is stored.
static void show(const struct op *op, const struct view *view) {
    struct world_response *response = op->response;
    struct json *value = NULL;
    if (!view_changes(view) || response->status != 200 || op->verb != WORLD_READ)
        return;
    if (!view_fits(view->form, !*op->name)) {
        world_response_clear(response);
        answer_failure(response, 406, "NotAcceptable", NULL, "only the following media types are accepted: %s",
                       "application/json");
        return;
    }
    error_free(json_parse(response->body, response->body_len, &value));
    if (!value)
        world_oom();
    value = *op->name ? view_object(view, op->kind, op->version, value) : view_list(view, op->kind, op->version, value);
    answer_json(response, 200, value);
    json_free(value);
}

static void count_refusal(struct world_cluster *cluster, const struct world_response *response) {
    if (response->status >= 400 && response->status < 600)
        cluster->counts.refused[response->status]++;
}

static void set_now(struct world_cluster *cluster, int64_t now_ns) {
    if (now_ns > cluster->now_ns)
        cluster->now_ns = now_ns;
}

static bool is_review(const struct world_request *request, const struct route *route) {
    return method_is(request, "POST") && route->resource && strcmp(route->group, "authorization.k8s.io") == 0 &&
           strcmp(route->plural, "selfsubjectaccessreviews") == 0;
}

// A request with an object as protobuf is that with the object as JSON. False: answered.
static bool as_json(const struct world_request *request, struct world_request *out, char **text,
                    struct world_response *response) {
    char message[256];
    *out = *request;
    if (!content_is(request, "application/vnd.kubernetes.protobuf") || request->body_len == 0)
        return true;
    AUTO_JSON object = protobuf_read(request->body, request->body_len, message);
    if (!object) {
        answer_failure(response, 415, "UnsupportedMediaType", NULL, "%s", message);
        return false;
    }
    *text = json_text(object, &out->body_len);
    if (!*text)
        world_oom();
    out->body = *text;
    out->content_type = "application/json";
    return true;
}

static bool is_answered(struct world_cluster *cluster, const struct world_request *request, const struct route *route,
                        struct world_response *response) {
    return !world_impersonates(cluster, request, response) ||
           (method_is(request, "GET") &&
            (world_discover(cluster, route, response) || world_openapi(cluster, route, response)));
}

static void answer(struct world_cluster *cluster, const struct world_request *request,
                   struct world_response *response) {
    struct route route;
    struct op op = {.cluster = cluster, .user = request->user, .response = response};
    bool readable = route_read(&route, request->path), core_event = readable && view_redirect(&route);
    if (!readable)
        answer_bad_request(response, "the path cannot be read");
    else if (is_answered(cluster, request, &route, response))
        ;
    else if (is_review(request, &route))
        world_review(cluster, request, response);
    else if (route_flag(&route, "watch") && method_is(request, "GET"))
        answer_bad_request(response, "a watch is not a single request");
    else if (find_target(&op, &route)) {
        struct view view = {.core_event = core_event, .form = view_form(request->accept)};
        if (core_event && !method_is(request, "GET"))
            answer_failure(response, 405, "MethodNotAllowed", NULL, "core Events can only be read here");
        else
            serve(&op, request, &route);
        show(&op, &view);
    }
    route_free(&route);
}

void world_request(struct world_cluster *cluster, const struct world_request *request, int64_t now_ns,
                   struct world_response *response) {
    struct world_request read;
    AUTO_TEXT text = NULL;
    *response = (struct world_response){0};
    set_now(cluster, now_ns);
    if (as_json(request, &read, &text, response))
        answer(cluster, &read, response);
    count_refusal(cluster, response);
}

bool world_is_watch(const struct world_request *request) {
    struct route route;
    bool watch = method_is(request, "GET") && strstr(request->path, "watch=") && route_read(&route, request->path);
    if (!watch)
        return false;
    watch = route_flag(&route, "watch");
    route_free(&route);
    return watch;
}

struct world_watch *world_watch(struct world_cluster *cluster, const char *path, int64_t now_ns,
                                void (*notify)(void *ctx), void *ctx, struct world_response *refused) {
    struct route route;
    struct op op = {.cluster = cluster, .response = refused, .verb = WORLD_READ};
    struct world_watch *watch = NULL;
    *refused = (struct world_response){0};
    set_now(cluster, now_ns);
    bool readable = route_read(&route, path), core_event = readable && view_redirect(&route);
    if (!readable) {
        answer_bad_request(refused, "the path cannot be read");
    } else if (find_target(&op, &route) && check_allowed(&op, "watch")) {
        // Watching one object by its path is the old way to say fieldSelector=metadata.name.
        if (*op.name)
            answer_bad_request(refused, "a watch of a single object needs a fieldSelector");
        else
            watch = world_watch_open(&op, &route, notify, ctx);
        if (watch && core_event)
            world_watch_core(watch);
    }
    count_refusal(cluster, refused);
    route_free(&route);
    return watch;
}
