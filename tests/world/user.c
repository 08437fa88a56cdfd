// SPDX-License-Identifier: Apache-2.0
// Actions of users in tests, as the same requests that come over the network.
#include "tests/world/model.h"

#include <stdlib.h>
#include <string.h>

static char *path_to(const struct kind *kind, const char *namespace_, const char *name, const char *subresource) {
    struct buffer path;
    buffer_init(&path, 4096);
    buffer_printf(&path, "%s%s/%s", *kind->group ? "/apis/" : "/api", kind->group, kind->versions[0]);
    if (!kind->cluster_scoped)
        buffer_printf(&path, "/namespaces/%s", namespace_);
    buffer_printf(&path, "/%s", kind->plural);
    if (*name)
        buffer_printf(&path, "/%s", name);
    if (subresource && *subresource)
        buffer_printf(&path, "/%s", subresource);
    char *text = buffer_take(&path, NULL);
    if (!text)
        world_oom();
    return text;
}

static int ask(struct world_cluster *cluster, const char *method, const char *path, const char *content_type,
               const char *body, int64_t now_ns) {
    struct world_request request = {.method = method,
                                    .path = path,
                                    .content_type = content_type,
                                    .body = body,
                                    .body_len = body ? strlen(body) : 0};
    struct world_response response;
    world_request(cluster, &request, now_ns, &response);
    int status = response.status;
    world_response_clear(&response);
    return status;
}

// A merge patch that makes metadata.labels, metadata.annotations and spec what the object says, as far as it says.
static int update(struct world_cluster *cluster, const struct kind *kind, const char *namespace_, const char *name,
                  const struct json *object, int64_t now_ns) {
    static const char *const parts[] = {"labels", "annotations"};
    AUTO_JSON patch = json_new_object();
    struct json *metadata = world_json_child(patch, "metadata");
    for (size_t i = 0; i < 2; i++) {
        const struct json *part = json_path(object, "metadata", parts[i], NULL);
        if (part)
            world_json_set(metadata, parts[i], world_json_copy(part));
    }
    if (json_get(object, "spec"))
        world_json_set(patch, "spec", world_json_copy(json_get(object, "spec")));
    AUTO_TEXT text = json_text(patch, NULL);
    return world_patch(cluster, kind->group, kind->plural, namespace_, name, NULL, text, now_ns);
}

int world_apply(struct world_cluster *cluster, const char *group, const char *plural, const struct json *object,
                int64_t now_ns) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    const char *name = json_string_or(json_path(object, "metadata", "name", NULL), "");
    const char *namespace_ = json_string_or(json_path(object, "metadata", "namespace", NULL), "default");
    if (!kind)
        return 404;
    if (kind->cluster_scoped)
        namespace_ = "";
    if (*name && world_find(kind, namespace_, name))
        return update(cluster, kind, namespace_, name, object, now_ns);
    AUTO_JSON body = world_json_copy(object);
    AUTO_TEXT version = text_format("%s%s%s", kind->group, *kind->group ? "/" : "", kind->versions[0]);
    world_set_text(body, "apiVersion", version);
    world_set_text(body, "kind", kind->kind);
    AUTO_TEXT text = json_text(body, NULL);
    AUTO_TEXT path = path_to(kind, namespace_, "", NULL);
    return ask(cluster, "POST", path, "application/json", text, now_ns);
}

int world_delete(struct world_cluster *cluster, const char *group, const char *plural, const char *namespace_,
                 const char *name, const char *propagation, int64_t now_ns) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    if (!kind)
        return 404;
    AUTO_TEXT path = path_to(kind, namespace_, name, NULL);
    AUTO_TEXT body =
        propagation ? text_format("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"%s\"}",
                                  propagation)
                    : NULL;
    return ask(cluster, "DELETE", path, "application/json", body, now_ns);
}

int world_patch(struct world_cluster *cluster, const char *group, const char *plural, const char *namespace_,
                const char *name, const char *subresource, const char *patch, int64_t now_ns) {
    const struct kind *kind = world_kind_find(cluster, group, plural);
    if (!kind)
        return 404;
    AUTO_TEXT path = path_to(kind, namespace_, name, subresource);
    return ask(cluster, "PATCH", path, "application/merge-patch+json", patch, now_ns);
}
