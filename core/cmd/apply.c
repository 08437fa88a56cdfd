// SPDX-License-Identifier: Apache-2.0
// Objects that commands apply to clusters and delete from them.
#include "core/base/text.h"
#include "core/cmd/cluster.h"
#include "core/kube/client/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLY_QUERY "?fieldManager=wharf&force=true"

static const struct {
    const char *kind, *word, *root; // `word` as kubectl prints it
} kinds[] = {
    {"Namespace", "namespace", "/api/v1"},
    {"ServiceAccount", "serviceaccount", "/api/v1"},
    {"Secret", "secret", "/api/v1"},
    {"ClusterRole", "clusterrole.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"ClusterRoleBinding", "clusterrolebinding.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"Role", "role.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
    {"RoleBinding", "rolebinding.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"},
};

static size_t index_of(const char *kind) {
    size_t i = 0;
    while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].kind, kind) != 0)
        i++;
    return i;
}

char *cluster_path(const char *kind, const char *namespace_, const char *name) {
    size_t index = index_of(kind);
    AUTO_BUFFER(path, 4096);
    buffer_text(&path, kinds[index].root);
    if (namespace_) {
        buffer_text(&path, "/namespaces/");
        text_percent_encode(&path, namespace_);
    }
    buffer_printf(&path, "/%.*ss", (int)strcspn(kinds[index].word, "."), kinds[index].word);
    if (name) {
        buffer_char(&path, '/');
        text_percent_encode(&path, name);
    }
    return buffer_take(&path, NULL);
}

// The namespace follows, as kubectl does not print it but two clusters are written to here.
static void print_done(const struct cluster *cluster, const char *kind, const char *namespace_, const char *name,
                       const char *what) {
    printf("%s: %s/%s %s%s%s\n", cluster->role, kinds[index_of(kind)].word, name, what,
           namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "");
    fflush(stdout);
}

static struct error *send_apply(struct cluster *cluster, const char *path, const struct json *object,
                                struct response *response) {
    AUTO_TEXT query = text_format("%s" APPLY_QUERY, path);
    size_t len = 0;
    AUTO_TEXT body = json_text(object, &len);
    if (!query || !body)
        return error_no_memory();
    const struct http_request request = {.method = HTTP_PATCH,
                                         .path = query,
                                         .content_type = "application/apply-patch+yaml",
                                         .body = body,
                                         .body_len = len};
    struct error *error = cluster_call(cluster, &request, response);
    if (!error && response->reason != REASON_OK)
        error = cluster_refusal(cluster, &request, response);
    return error;
}

struct error *cluster_apply(struct cluster *cluster, const struct json *object) {
    const char *kind = json_string_or(json_get(object, "kind"), ""), *name = object_name(object);
    const char *space = json_string(json_path(object, "metadata", "namespace", NULL));
    AUTO_TEXT path = cluster_path(kind, space, name);
    if (!path)
        return error_no_memory();
    AUTO_JSON before = NULL;
    struct error *error = cluster_get(cluster, path, &before);
    if (error)
        return error;
    if (before && strcmp(kind, "Namespace") == 0) {
        print_done(cluster, kind, space, name, "unchanged");
        return NULL;
    }
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    error = send_apply(cluster, path, object, &response);
    if (error)
        return error;
    bool same = before && strcmp(object_version(before), object_version(response.value)) == 0;
    print_done(cluster, kind, space, name, !before ? "created" : same ? "unchanged" : "configured");
    return NULL;
}

struct error *cluster_delete(struct cluster *cluster, const char *kind, const char *namespace_, const char *name) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = cluster_path(kind, namespace_, name);
    if (!path)
        return error_no_memory();
    const struct http_request request = {.method = HTTP_DELETE, .path = path};
    struct error *error = cluster_call(cluster, &request, &response);
    if (error || response.code == 404)
        return error;
    if (response.reason != REASON_OK)
        return cluster_refusal(cluster, &request, &response);
    print_done(cluster, kind, namespace_, name, "deleted");
    return NULL;
}
