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

// The objects that the RayCluster needs besides those of its pods: the operator copies these values into the head's
// pod.
#define RAY_VALUE(value, from, ...)                                                                                    \
    { .name = value "/valueFrom/" from "/name", .optional = value "/valueFrom/" from "/optional", __VA_ARGS__ }
#define RAY_REDIS(value)                                                                                               \
    RAY_VALUE(value, "secretKeyRef", RAY_SECRET), RAY_VALUE(value, "configMapKeyRef", RAY_CONFIG_MAP)
#define RAY_SECRET .group = "", .version = "v1", .resource = "secrets", .kind = "Secret"
#define RAY_CONFIG_MAP .group = "", .version = "v1", .resource = "configmaps", .kind = "ConfigMap"
#define RAY_STORAGE(spec) spec "/gcsFaultToleranceOptions/storage"
#define RAY_REFERENCES(spec)                                                                                           \
    (const wharf_reference[]) {                                                                                        \
        {.name = spec "/authOptions/secretName", RAY_SECRET},                                                          \
            RAY_REDIS(spec "/gcsFaultToleranceOptions/redisUsername"),                                                 \
            RAY_REDIS(spec "/gcsFaultToleranceOptions/redisPassword"),                                                 \
            {.name = RAY_STORAGE(spec) "/claimName",                                                                   \
             .group = "",                                                                                              \
             .version = "v1",                                                                                          \
             .resource = "persistentvolumeclaims",                                                                     \
             .kind = "PersistentVolumeClaim"},                                                                         \
            {.name = RAY_STORAGE(spec) "/storageClassName",                                                            \
             .group = "storage.k8s.io",                                                                                \
             .version = "v1",                                                                                          \
             .resource = "storageclasses",                                                                             \
             .kind = "StorageClass",                                                                                   \
             .flags = WHARF_REFERENCE_CLUSTER_SCOPED},                                                                 \
            {.name = spec "/autoscalerOptions", .flags = WHARF_REFERENCE_CONTAINERS},                                  \
            {.name = spec "/historyServerOptions/collectorOptions", .flags = WHARF_REFERENCE_CONTAINERS}, {            \
            .name = NULL                                                                                               \
        }                                                                                                              \
    }

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
