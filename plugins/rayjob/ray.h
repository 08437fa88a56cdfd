// SPDX-License-Identifier: Apache-2.0
// What RayJob, RayCluster and RayService share: who may manage them, and the RayCluster that each of them describes.
#ifndef WHARF_RAY_H
#define WHARF_RAY_H

#include <wharf/adapter.h>

#include <stdbool.h>

extern const wharf_host *host;
extern const wharf_kind rayjob, raycluster, rayservice;

// Rules of the three CRDs: no other value is accepted.
extern const char *const ray_managers[];

// A RayCluster's pods, for a spec that is found at `spec`.
#define RAY_WORKERS(spec) spec "/workerGroupSpecs/*"
#define RAY_PODS(spec)                                                                                                 \
    {spec "/headGroupSpec/template", {NULL}}, {                                                                        \
        RAY_WORKERS(spec) "/template", {                                                                               \
            RAY_WORKERS(spec) "/replicas", RAY_WORKERS(spec) "/numOfHosts"                                             \
        }                                                                                                              \
    }

// What Kueue writes into a pod template on admission. Pods are made anew after a suspension.
#define RAY_POD(template, key_)                                                                                        \
    {.pointer = template "/metadata/labels", .when = WHARF_CARRY_WHILE_SUSPENDED, .key = (key_)},                      \
        {.pointer = template "/metadata/annotations", .when = WHARF_CARRY_WHILE_SUSPENDED, .key = (key_)},             \
        {.pointer = template "/spec/nodeSelector", .when = WHARF_CARRY_WHILE_SUSPENDED, .key = (key_)},                \
        {.pointer = template "/spec/tolerations", .when = WHARF_CARRY_WHILE_SUSPENDED, .key = (key_)}, {               \
        .pointer = template "/spec/schedulingGates", .when = WHARF_CARRY_WHILE_SUSPENDED, .key = (key_)                \
    }
#define RAY_GROUPS(spec)                                                                                               \
    RAY_POD(spec "/headGroupSpec/template", NULL), RAY_POD(RAY_WORKERS(spec) "/template", "groupName")

#define RAY_KIND                                                                                                       \
    .group = "ray.io", .versions = (const char *const[]){"v1", NULL}, /* v1alpha1 has no managedBy */                  \
        .managed_by = "/spec/managedBy", .managed_by_builtin = "ray.io/kuberay-operator",                              \
    .managed_by_allowed = ray_managers, .suspend = "/spec/suspend"

bool ray_is(const wharf_value *object, const char *pointer, const char *text);
bool ray_is_suspended(const wharf_value *object);

// For wharf_kind.phase: the operator says "suspended" until it has seen that the object is resumed.
wharf_result ray_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out);

// Removes members of a status. The list ends with NULL.
void ray_remove(wharf_value *status, const char *const *pointers);

#endif
