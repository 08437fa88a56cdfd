// SPDX-License-Identifier: Apache-2.0
// Interprets the clusters and users of a kubeconfig (k8s.io/client-go/tools/clientcmd/api/v1).
#pragma once

#include "core/kube/kubeconfig/kubeconfig.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

// Fill in their part of `endpoint`, possibly in part on failure; endpoint_free frees all.
struct error *kubeconfig_read_cluster(const struct kubeconfig_entry *entry, struct endpoint *endpoint);
struct error *kubeconfig_read_user(const struct kubeconfig_entry *entry, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint);

// Parts of the latter. The endpoint already has the fields of the cluster (kubeconfig_exec.c, kubeconfig_as.c).
struct error *kubeconfig_read_exec(const struct kubeconfig_entry *user, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint);
struct error *kubeconfig_read_impersonation(const struct kubeconfig_entry *user, struct endpoint *endpoint);
