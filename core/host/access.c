// SPDX-License-Identifier: Apache-2.0
#include "core/host/access.h"

#include <string.h>

static struct error *load(const struct config_cluster *cluster, struct endpoint **out) {
    if (!cluster->kubeconfig)
        return kubeconfig_in_cluster("", out);
    // A list, as in KUBECONFIG, skips files that are not there; a single file must be.
    if (strchr(cluster->kubeconfig, ':'))
        return kubeconfig_load_list(cluster->kubeconfig, cluster->context, out);
    return kubeconfig_load(cluster->kubeconfig, cluster->context, out);
}

struct error *access_load(const struct config_cluster *cluster, int64_t wall_ns, struct endpoint **out) {
    struct endpoint *endpoint = NULL;
    *out = NULL;
    struct error *error = load(cluster, &endpoint);
    if (!error)
        error = endpoint_check(endpoint, wall_ns);
    if (error)
        endpoint_free(endpoint);
    else
        *out = endpoint;
    return error;
}
