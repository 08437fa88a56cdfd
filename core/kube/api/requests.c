// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/requests.h"

#include "core/base/clock.h"
#include "core/json/json.h"
#include "core/json/writer.h"

#define TOKEN_REQUEST_MAX ((size_t)16 << 10) // bytes of the body

struct request cluster_id_request(void) {
    return (struct request){.verb = VERB_GET,
                            .resource = {.group = "", .version = "v1", .plural = "namespaces", .cluster_scoped = true},
                            .namespace_ = "",
                            .name = "kube-system"};
}

static const struct json *namespace_of(const struct response *response) {
    return response->reason == REASON_OK && response->object ? response->object->value : NULL;
}

const char *cluster_id_uid(const struct response *response) {
    return object_uid(namespace_of(response));
}

const char *cluster_id_version(const struct response *response) {
    return object_version(namespace_of(response));
}

char *cluster_id_problem(const struct response *response) {
    return text_format("cannot read the cluster's identity from " CLUSTER_ID_PATH ": %s",
                       response->message ? response->message : "the response has no uid");
}

char *access_review_text(const struct access_review *review) {
    const char *quote = review->name ? "\"" : "";
    return text_format("%s %s%s%s%s%s%s%s%s%s%s%s", review->verb, review->resource, *review->group ? "." : "",
                       review->group, review->subresource ? "/" : "", review->subresource ? review->subresource : "",
                       review->name ? " " : "", quote, review->name ? review->name : "", quote,
                       review->namespace_ ? " in namespace " : "", review->namespace_ ? review->namespace_ : "");
}

bool access_review_write(const struct access_review *review, struct buffer *out) {
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_string(&writer, "apiVersion", "authorization.k8s.io/v1");
    writer_string(&writer, "kind", "SelfSubjectAccessReview");
    writer_object(&writer, "spec");
    writer_object(&writer, "resourceAttributes");
    writer_string(&writer, "group", review->group);
    writer_string(&writer, "resource", review->resource);
    if (review->subresource)
        writer_string(&writer, "subresource", review->subresource);
    writer_string(&writer, "verb", review->verb);
    if (review->name)
        writer_string(&writer, "name", review->name);
    if (review->namespace_)
        writer_string(&writer, "namespace", review->namespace_);
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    return !out->failed;
}

struct request access_review_request(const struct buffer *body) {
    return (struct request){.verb = VERB_CREATE,
                            .resource = {.group = "authorization.k8s.io",
                                         .version = "v1",
                                         .plural = "selfsubjectaccessreviews",
                                         .cluster_scoped = true},
                            .namespace_ = "",
                            .body = body->data,
                            .body_len = body->len};
}

struct error *token_request_make(const char *namespace_, const char *service_account, int64_t seconds,
                                 const char *audience, struct token_request *out) {
    size_t len = 0;
    AUTO_BUFFER(body, TOKEN_REQUEST_MAX);
    struct writer writer = {.out = &body};
    writer_object(&writer, NULL);
    writer_object(&writer, "spec");
    writer_int(&writer, "expirationSeconds", seconds);
    if (audience) {
        writer_array(&writer, "audiences");
        writer_string(&writer, NULL, audience);
        writer_end(&writer, ']');
    }
    writer_end(&writer, '}');
    writer_string(&writer, "apiVersion", "authentication.k8s.io/v1");
    writer_string(&writer, "kind", "TokenRequest");
    writer_end(&writer, '}');
    *out = (struct token_request){.body = buffer_take(&body, &len)};
    if (!out->body)
        return error_no_memory();
    out->request = (struct request){.verb = VERB_CREATE,
                                    .resource = {.group = "", .version = "v1", .plural = "serviceaccounts"},
                                    .namespace_ = namespace_,
                                    .name = service_account,
                                    .subresource = "token",
                                    .body = out->body,
                                    .body_len = len};
    return NULL;
}

void token_request_clear(struct token_request *request) {
    free(request->body);
    *request = (struct token_request){.body = NULL};
}

struct error *token_request_read(const struct response *response, char **token, int64_t *expires_wall_ns) {
    *token = NULL;
    *expires_wall_ns = 0;
    if (response->reason != REASON_OK)
        return error_new(ERROR_IO, "TokenRequest: %s", response->message);
    const char *text = json_string(json_path(response->value, "status", "token", NULL));
    const char *expires = json_string(json_path(response->value, "status", "expirationTimestamp", NULL));
    if (!text || !*text)
        return error_new(ERROR_INVALID, "TokenRequest: found no status.token in the answer, expected a token");
    if (expires && !clock_parse_rfc3339(expires, expires_wall_ns))
        return error_new(ERROR_INVALID, "TokenRequest: status.expirationTimestamp: found \"%s\", expected a time",
                         expires);
    *token = strdup(text);
    return *token ? NULL : error_no_memory();
}

char *api_resources_path(const char *group, const char *version) {
    return text_format("%s%s/%s", group[0] != '\0' ? "/apis/" : "/api", group, version);
}

char *api_resources_version_path(const char *api_version) {
    const char *slash = strchr(api_version, '/'), *version = slash ? slash + 1 : api_version;
    AUTO_TEXT group = strndup(api_version, slash ? (size_t)(slash - api_version) : 0);
    if (!group || (slash && !text_is_dns_subdomain(group)) || !text_is_dns_label(version))
        return NULL;
    return api_resources_path(group, version);
}

const char *api_resources_plural(const struct json *list, const char *kind) {
    for (const struct json *item = json_first(json_get(list, "resources")); item; item = json_next(item)) {
        const char *name = json_string(json_get(item, "name"));
        if (name && text_is_dns_subdomain(name) && json_bool(json_get(item, "namespaced"), false) &&
            text_equal(json_string(json_get(item, "kind")), kind))
            return name;
    }
    return NULL;
}

const struct json *api_resources_find(const struct json *list, const char *name) {
    return json_find_item(json_get(list, "resources"), "name", name);
}

bool api_resource_has_verb(const struct json *resource, const char *verb) {
    for (const struct json *item = json_first(json_get(resource, "verbs")); item; item = json_next(item))
        if (text_equal(json_string(item), verb))
            return true;
    return false;
}

struct request config_map_request(enum verb verb, const char *namespace_, const char *name, const char *body,
                                  size_t len) {
    return (struct request){.verb = verb,
                            .resource = {.group = "", .version = "v1", .plural = "configmaps"},
                            .namespace_ = namespace_,
                            .name = name,
                            .body = body,
                            .body_len = len};
}

bool config_map_write_empty(const char *name, const char *label, const char *label_value, const char *about,
                            struct buffer *out) {
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_string(&writer, "apiVersion", "v1");
    writer_string(&writer, "kind", "ConfigMap");
    writer_object(&writer, "metadata");
    writer_string(&writer, "name", name);
    writer_object(&writer, "labels");
    writer_string(&writer, "app.kubernetes.io/managed-by", "wharf");
    if (label)
        writer_string(&writer, label, label_value);
    writer_end(&writer, '}');
    writer_object(&writer, "annotations");
    writer_string(&writer, "wharf.dev/about", about);
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    return !out->failed;
}
