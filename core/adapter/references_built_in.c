// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/references_built_in.h"

#define CONFIG_MAP .group = "", .version = "v1", .resource = "configmaps", .kind = "ConfigMap"
#define SECRET .group = "", .version = "v1", .resource = "secrets", .kind = "Secret"
#define ACCOUNT .group = "", .version = "v1", .resource = "serviceaccounts", .kind = "ServiceAccount"
#define VOLUME_CLAIM .group = "", .version = "v1", .resource = "persistentvolumeclaims", .kind = "PersistentVolumeClaim"
#define CLAIM .group = "resource.k8s.io", .version = "v1", .resource = "resourceclaims", .kind = "ResourceClaim"
#define CLAIM_TEMPLATE                                                                                                 \
    .group = "resource.k8s.io", .version = "v1", .resource = "resourceclaimtemplates", .kind = "ResourceClaimTemplate"
#define POD_GROUP .group = "scheduling.k8s.io", .version = "v1beta1", .resource = "podgroups", .kind = "PodGroup"
#define GANG .group = "scheduling.k8s.io", .version = "v1beta1", .resource = "workloads", .kind = "Workload"

#define CLUSTER .flags = WHARF_REFERENCE_CLUSTER_SCOPED
#define PRIORITY_CLASS                                                                                                 \
    .group = "scheduling.k8s.io", .version = "v1", .resource = "priorityclasses", .kind = "PriorityClass", CLUSTER
#define RUNTIME_CLASS                                                                                                  \
    .group = "node.k8s.io", .version = "v1", .resource = "runtimeclasses", .kind = "RuntimeClass", CLUSTER
#define STORAGE_CLASS                                                                                                  \
    .group = "storage.k8s.io", .version = "v1", .resource = "storageclasses", .kind = "StorageClass", CLUSTER
#define ATTRIBUTES_CLASS                                                                                               \
    .group = "storage.k8s.io", .version = "v1", .resource = "volumeattributesclasses",                                 \
    .kind = "VolumeAttributesClass", CLUSTER
#define DEVICE_CLASS                                                                                                   \
    .group = "resource.k8s.io", .version = "v1", .resource = "deviceclasses", .kind = "DeviceClass", CLUSTER

#define VOLUMES "/volumes/*"
#define SOURCES VOLUMES "/projected/sources/*"
#define EPHEMERAL VOLUMES "/ephemeral/volumeClaimTemplate/spec"

// In the environment of a list of containers.
#define CONTAINERS(list)                                                                                               \
    {.name = list "/*/envFrom/*/configMapRef/name",                                                                    \
     .optional = list "/*/envFrom/*/configMapRef/optional",                                                            \
     CONFIG_MAP},                                                                                                      \
        {.name = list "/*/envFrom/*/secretRef/name", .optional = list "/*/envFrom/*/secretRef/optional", SECRET},      \
        {.name = list "/*/env/*/valueFrom/configMapKeyRef/name",                                                       \
         .optional = list "/*/env/*/valueFrom/configMapKeyRef/optional",                                               \
         CONFIG_MAP},                                                                                                  \
    {                                                                                                                  \
        .name = list "/*/env/*/valueFrom/secretKeyRef/name",                                                           \
        .optional = list "/*/env/*/valueFrom/secretKeyRef/optional", SECRET                                            \
    }

// The fields of a claim for a volume that name objects.
#define VOLUME_CLAIM_SPEC(spec, object)                                                                                \
    {.of = (object), .name = spec "/storageClassName", STORAGE_CLASS},                                                 \
        {.of = (object), .name = spec "/volumeAttributesClassName", ATTRIBUTES_CLASS}, {                               \
        .of = (object), .name = spec "/dataSource/name", .kind_at = spec "/dataSource/kind", VOLUME_CLAIM              \
    }

// The fields of a claim for devices.
#define DEVICES(spec, object)                                                                                          \
    {.of = (object), .name = spec "/devices/requests/*/exactly/deviceClassName", DEVICE_CLASS}, {                      \
        .of = (object), .name = spec "/devices/requests/*/firstAvailable/*/deviceClassName", DEVICE_CLASS              \
    }

// `of` NULL is a PodSpec here. A kubelet starts a pod without an image pull secret of its ServiceAccount, and in the
// tree of Kubernetes are more volumes with secrets than an API server still accepts.
const wharf_reference references_built_in[] = {
    CONTAINERS("/initContainers"),
    CONTAINERS("/containers"),
    {.name = VOLUMES "/configMap/name", .optional = VOLUMES "/configMap/optional", CONFIG_MAP},
    {.name = SOURCES "/configMap/name", .optional = SOURCES "/configMap/optional", CONFIG_MAP},
    {.name = VOLUMES "/secret/secretName", .optional = VOLUMES "/secret/optional", SECRET},
    {.name = SOURCES "/secret/name", .optional = SOURCES "/secret/optional", SECRET},
    {.name = VOLUMES "/csi/nodePublishSecretRef/name", SECRET},
    {.name = VOLUMES "/azureFile/secretName", SECRET},
    {.name = VOLUMES "/cephfs/secretRef/name", SECRET},
    {.name = VOLUMES "/cinder/secretRef/name", SECRET},
    {.name = VOLUMES "/flexVolume/secretRef/name", SECRET},
    {.name = VOLUMES "/iscsi/secretRef/name", SECRET},
    {.name = VOLUMES "/rbd/secretRef/name", SECRET},
    {.name = VOLUMES "/scaleIO/secretRef/name", SECRET},
    {.name = VOLUMES "/storageos/secretRef/name", SECRET},
    {.name = "/imagePullSecrets/*/name", SECRET},
    {.name = VOLUMES "/persistentVolumeClaim/claimName", VOLUME_CLAIM},
    VOLUME_CLAIM_SPEC(EPHEMERAL, NULL),
    {.name = "/serviceAccountName", ACCOUNT},
    {.name = "/serviceAccount", ACCOUNT},
    {.name = "/priorityClassName", PRIORITY_CLASS},
    {.name = "/runtimeClassName", RUNTIME_CLASS},
    {.name = "/resourceClaims/*/resourceClaimName", CLAIM},
    {.name = "/resourceClaims/*/resourceClaimTemplateName", CLAIM_TEMPLATE},
    {.name = "/schedulingGroup/podGroupName", POD_GROUP},

    {.of = "serviceaccounts",
     .name = "/imagePullSecrets/*/name",
     .group = "",
     .version = "v1",
     .resource = "secrets",
     .kind = "Secret",
     .flags = WHARF_REFERENCE_OPTIONAL},
    VOLUME_CLAIM_SPEC("/spec", "persistentvolumeclaims"),
    DEVICES("/spec", "resourceclaims.resource.k8s.io"),
    DEVICES("/spec/spec", "resourceclaimtemplates.resource.k8s.io"),
    {.of = "podgroups.scheduling.k8s.io", .name = "/spec/workloadRef/workloadName", GANG},
    {.of = "podgroups.scheduling.k8s.io", .name = "/spec/priorityClassName", PRIORITY_CLASS},
    {.name = NULL},
};

const struct everywhere references_everywhere[] = {
    {"serviceaccounts", "default"},
    {"configmaps", "kube-root-ca.crt"},
    {"priorityclasses.scheduling.k8s.io", "system-cluster-critical"},
    {"priorityclasses.scheduling.k8s.io", "system-node-critical"},
    {NULL, NULL},
};
