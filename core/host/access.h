// SPDX-License-Identifier: Apache-2.0
// How a cluster of the configuration is reached: its kubeconfig, or several merged, or the credentials of the pod.
#ifndef WHARF_HOST_ACCESS_H
#define WHARF_HOST_ACCESS_H

#include "core/config/config.h"
#include "core/kube/kubeconfig.h"

// Reads it and checks the certificates at `wall_ns`. Errors do not name the cluster; *out is NULL then.
struct error *access_load(const struct config_cluster *cluster, int64_t wall_ns, struct endpoint **out);

#endif
