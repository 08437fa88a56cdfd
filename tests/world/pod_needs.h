// SPDX-License-Identifier: Apache-2.0
// The objects that a pod names, and what a cluster does with a pod while one of them is missing.
#pragma once

#include "core/json/json.h"

#include <stdbool.h>

struct world_cluster;

#define CLAIM_FINALIZER "kubernetes.io/pvc-protection"

enum need_effect {
    NEED_NONE,   // the pod starts all the same: image pull secrets
    NEED_START,  // it is created and does not start: CreateContainerConfigError, or no volume
    NEED_REFUSED // admission refuses to create it
};

struct need {
    const char *group, *plural, *name;
    bool cluster_scoped, optional;
    enum need_effect effect;
};

// Makes the call for every object that a PodSpec names; some may come twice. `spec` NULL: none.
void pod_needs_each(const struct json *spec, void (*call)(void *ctx, const struct need *need), void *ctx);

// The greatest effect of what is missing for a pod in that namespace; NEED_NONE: it starts.
enum need_effect pod_needs_missing(struct world_cluster *cluster, const char *namespace_, const struct json *spec);
