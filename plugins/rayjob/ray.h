// SPDX-License-Identifier: Apache-2.0
// The common part of RayJob, RayCluster and RayService: the allowed managers, and the RayCluster in each object.
//
// RayCluster and RayService never finish and have no gave_up_status. The operator no longer writes the deprecated state
// "failed" of a RayCluster (raycluster_types.go); a False condition may become True again.
#pragma once

#include <wharf/adapter.h>

extern const wharf_host *host;
extern const wharf_kind raycluster, rayservice;

// A rule of the three CRDs rejects other managers.
#define RAY_KIND                                                                                                       \
    .group = "ray.io", .versions = (const char *const[]){"v1", NULL}, /* v1alpha1 has no managedBy */                  \
        .managed_by = "/spec/managedBy", .managed_by_builtin = "ray.io/kuberay-operator",                              \
    .managed_by_allowed = (const char *const[]){"kueue.x-k8s.io/multikueue", NULL}, .suspend = "/spec/suspend"

// The pods of the RayCluster whose spec has the pointer `spec`.
#define RAY_HEAD(spec) spec "/headGroupSpec/template"
#define RAY_WORKERS(spec) spec "/workerGroupSpecs/*"
#define RAY_PODS(spec)                                                                                                 \
    {.templates = RAY_HEAD(spec)}, {                                                                                   \
        .templates = RAY_WORKERS(spec) "/template", .counts = (const char *const[]) {                                  \
            RAY_WORKERS(spec) "/replicas", RAY_WORKERS(spec) "/numOfHosts", NULL                                       \
        }                                                                                                              \
    }
#define RAY_CARRIED_PODS(spec)                                                                                         \
    WHARF_CARRIED_POD_TEMPLATE(RAY_HEAD(spec), NULL),                                                                  \
        WHARF_CARRIED_POD_TEMPLATE(RAY_WORKERS(spec) "/template", "groupName")

// Corrects `sets`, which begins with the pods of RAY_PODS(spec), to the number of workers that the operator starts.
// Returns the number of these items.
size_t ray_count_workers(const wharf_call *call, const wharf_value *spec, wharf_value *sets);

// Keep the form in which KubeRay writes a mirror (rewritten.c): a zero value that KubeRay omits, and the empty
// scaleStrategy of a RayCluster's group. The host itself leaves empty structs within a carried object.
void ray_leave_omitted(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *pointer);
void ray_leave_empty(const wharf_call *call, const wharf_value *mirror, wharf_value *desired);

// The operator's status remains "suspended" until the operator handles a resumed object.
#define RAY_SUSPENDED(pointer, value)                                                                                  \
    {pointer, value, .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED}, {                                 \
        pointer, value, .phase = WHARF_PENDING                                                                         \
    }
