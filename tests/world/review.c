// SPDX-License-Identifier: Apache-2.0
// Permissions: everything is allowed except what was denied.
#include "tests/world/server.h"

#include <stdlib.h>
#include <string.h>

void world_deny(struct world_cluster *cluster, const char *verb, const char *resource) {
    world_deny_user(cluster, NULL, verb, resource);
}

void world_deny_user(struct world_cluster *cluster, const char *user, const char *verb, const char *resource) {
    struct denial *denial = world_alloc(sizeof *denial);
    denial->user = user ? world_strdup(user) : NULL;
    denial->verb = world_strdup(verb);
    denial->resource = world_strdup(resource);
    denial->next = cluster->denials;
    cluster->denials = denial;
}

void world_deny_unnamed(struct world_cluster *cluster, const char *resource) {
    world_deny(cluster, "*", resource);
    cluster->denials->named_pass = true;
}

void world_allow_all(struct world_cluster *cluster) {
    while (cluster->denials) {
        struct denial *denial = cluster->denials;
        cluster->denials = denial->next;
        free(denial->user);
        free(denial->verb);
        free(denial->resource);
        free(denial);
    }
}

static bool covers(const char *pattern, const char *text) {
    return strcmp(pattern, "*") == 0 || strcmp(pattern, text) == 0;
}

// A user has the rights of the user alone, not those of the caller.
static bool is_of(const struct denial *denial, const char *user) {
    return denial->user ? user && covers(denial->user, user) : !user;
}

bool world_allowed(const struct world_cluster *cluster, const char *user, const char *verb, const char *resource,
                   bool named) {
    for (const struct denial *denial = cluster->denials; denial; denial = denial->next)
        if (is_of(denial, user) && covers(denial->verb, verb) && covers(denial->resource, resource) &&
            !(named && denial->named_pass))
            return false;
    return true;
}

// As an API server of 1.37 does: a group without a user is no impersonation.
bool world_impersonates(const struct world_cluster *cluster, const struct world_request *request,
                        struct world_response *response) {
    if (!request->user && request->group) {
        answer_failure(response, 400, "BadRequest", NULL, "requested impersonation without impersonating a user");
        return false;
    }
    if (!request->user || world_allowed(cluster, request->user, "impersonate", "users", false))
        return true;
    struct details details = {.name = request->user, .group = "", .kind = "users"};
    answer_failure(
        response, 403, "Forbidden", &details,
        "users \"%s\" is forbidden: User \"world\" cannot impersonate resource \"users\" in API group \"\" at "
        "the cluster scope",
        request->user);
    return false;
}

static const char *attribute(const struct json *review, const char *name) {
    return json_string_or(json_path(review, "spec", "resourceAttributes", name, NULL), "");
}

void world_review(struct world_cluster *cluster, const struct world_request *request, struct world_response *response) {
    AUTO_JSON review = NULL;
    struct error *error = json_parse(request->body ? request->body : "", request->body_len, &review);
    if (error || !json_is(review, JSON_OBJECT)) {
        error_free(error);
        answer_bad_request(response, "the body is not a SelfSubjectAccessReview");
        return;
    }
    const char *group = attribute(review, "group"), *subresource = attribute(review, "subresource");
    AUTO_TEXT resource = text_format("%s%s%s%s%s", attribute(review, "resource"), *group ? "." : "", group,
                                     *subresource ? "/" : "", subresource);
    struct json *status = json_new_object();
    if (!status || !resource)
        world_oom();
    bool allowed =
        world_allowed(cluster, request->user, attribute(review, "verb"), resource, *attribute(review, "name"));
    world_json_set(status, "allowed", json_new_bool(allowed));
    world_json_set(review, "status", status);
    answer_json(response, 201, review);
}
