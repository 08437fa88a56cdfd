// SPDX-License-Identifier: Apache-2.0
// Takes the host's rights away from a worker.
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/kube/object/object.h"

#include <string.h>

// In all namespaces: --namespaced made one in each.
static struct error *delete_everywhere(struct cluster *worker, const char *kind, const char *role) {
    AUTO_TEXT path = cluster_path(kind, NULL, NULL);
    AUTO_TEXT query = path ? text_format("%s?fieldSelector=metadata.name%%3D%s", path, role) : NULL;
    AUTO_JSON list = NULL;
    struct error *error = query ? cluster_get(worker, query, &list) : error_no_memory();
    for (const struct json *o = json_first(json_get(list, "items")); !error && o; o = json_next(o))
        error = cluster_delete(worker, kind, object_namespace(o), role);
    return error;
}

struct error *join_withdraw(struct cluster *worker, const struct rbac_options *rights) {
    char role[RBAC_NAME_MAX], own[RBAC_NAME_MAX];
    rbac_role_name(rights, RIGHT_WORK, role);
    rbac_role_name(rights, RIGHT_OWN, own);
    struct error *error = delete_everywhere(worker, "RoleBinding", role);
    if (!error)
        error = delete_everywhere(worker, "Role", role);
    if (!error)
        error = cluster_delete(worker, "ClusterRoleBinding", NULL, role);
    if (!error)
        error = cluster_delete(worker, "ClusterRole", NULL, role);
    if (!error)
        error = cluster_delete(worker, "RoleBinding", rights->namespace_, own);
    if (!error)
        error = cluster_delete(worker, "Role", rights->namespace_, own);
    return error ? error : cluster_delete(worker, "ServiceAccount", rights->namespace_, rights->account);
}
