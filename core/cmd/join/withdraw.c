// SPDX-License-Identifier: Apache-2.0
// Takes the host's rights away from a worker.
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/kube/object.h"

#include <string.h>

#define ROLE "wharf-worker"

// In all namespaces: --namespaced made one in each.
static struct error *delete_everywhere(struct cluster *worker, const char *kind) {
    AUTO_TEXT path = cluster_path(kind, NULL, NULL);
    AUTO_TEXT query = path ? text_format("%s?fieldSelector=metadata.name%%3D" ROLE, path) : NULL;
    AUTO_JSON list = NULL;
    struct error *error = query ? cluster_get(worker, query, &list) : error_no_memory();
    for (const struct json *o = json_first(json_get(list, "items")); !error && o; o = json_next(o))
        error = cluster_delete(worker, kind, object_namespace(o), ROLE);
    return error;
}

struct error *join_withdraw(struct cluster *worker, const char *namespace_) {
    struct error *error = delete_everywhere(worker, "RoleBinding");
    if (!error)
        error = delete_everywhere(worker, "Role");
    if (!error)
        error = cluster_delete(worker, "ClusterRoleBinding", NULL, ROLE);
    if (!error)
        error = cluster_delete(worker, "ClusterRole", NULL, ROLE);
    if (!error)
        error = cluster_delete(worker, "RoleBinding", namespace_, RIGHTS_ACCOUNT);
    if (!error)
        error = cluster_delete(worker, "Role", namespace_, RIGHTS_ACCOUNT);
    return error ? error : cluster_delete(worker, "ServiceAccount", namespace_, RIGHTS_ACCOUNT);
}
