// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig.h" // moved
