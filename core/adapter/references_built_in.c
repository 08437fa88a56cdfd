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
#define TRUST_BUNDLE                                                                                                   \
    .group = "certificates.k8s.io", .version = "v1", .resource = "clustertrustbundles", .kind = "ClusterTrustBundle",  \
    CLUSTER
#define DEVICE_CLASS                                                                                                   \
    .group = "resource.k8s.io", .version = "v1", .resource = "deviceclasses", .kind = "DeviceClass", CLUSTER

// The fields of a claim for a volume that name objects.
#define VOLUME_CLAIM_SPEC(object, spec)                                                                                \
    {.of = (object), .name = spec "/storageClassName", STORAGE_CLASS},                                                 \
        {.of = (object), .name = spec "/volumeAttributesClassName", ATTRIBUTES_CLASS}, {                               \
        .of = (object), .name = spec "/dataSource/name", .kind_at = spec "/dataSource/kind", VOLUME_CLAIM              \
    }

// The fields of a claim for devices.
#define DEVICES(object, spec)                                                                                          \
    {.of = (object), .name = spec "/devices/requests/*/exactly/deviceClassName", DEVICE_CLASS}, {                      \
        .of = (object), .name = spec "/devices/requests/*/firstAvailable/*/deviceClassName", DEVICE_CLASS              \
    }

#define ENVIRONMENT(path, what)                                                                                        \
    { .of = REFERENCES_OF_CONTAINER, .name = path "/name", .optional = path "/optional", what }
#define VOLUME(path, what)                                                                                             \
    { .of = REFERENCES_OF_VOLUME, .name = (path), what }
#define SOURCE(path, member, what)                                                                                     \
    { .of = REFERENCES_OF_VOLUME, .name = path "/" member, .optional = path "/optional", what }

const wharf_reference references_built_in[] = {
    {.of = REFERENCES_OF_POD, .name = "/spec", .flags = WHARF_REFERENCE_POD_SPECS},

    {.name = "/containers/*", .flags = WHARF_REFERENCE_CONTAINERS},
    {.name = "/initContainers/*", .flags = WHARF_REFERENCE_CONTAINERS},
    {.name = "/volumes/*", .flags = WHARF_REFERENCE_VOLUMES},
    {.name = "/imagePullSecrets/*/name", SECRET},
    {.name = "/serviceAccountName", ACCOUNT},
    {.name = "/serviceAccount", ACCOUNT},
    {.name = "/priorityClassName", PRIORITY_CLASS},
    {.name = "/runtimeClassName", RUNTIME_CLASS},
    {.name = "/resourceClaims/*/resourceClaimName", CLAIM},
    {.name = "/resourceClaims/*/resourceClaimTemplateName", CLAIM_TEMPLATE},
    {.name = "/schedulingGroup/podGroupName", POD_GROUP},

    ENVIRONMENT("/envFrom/*/configMapRef", CONFIG_MAP),
    ENVIRONMENT("/envFrom/*/secretRef", SECRET),
    ENVIRONMENT("/env/*/valueFrom/configMapKeyRef", CONFIG_MAP),
    ENVIRONMENT("/env/*/valueFrom/secretKeyRef", SECRET),

    SOURCE("/configMap", "name", CONFIG_MAP),
    SOURCE("/secret", "secretName", SECRET),
    SOURCE("/projected/sources/*/configMap", "name", CONFIG_MAP),
    SOURCE("/projected/sources/*/secret", "name", SECRET),
    SOURCE("/projected/sources/*/clusterTrustBundle", "name", TRUST_BUNDLE),
    VOLUME("/persistentVolumeClaim/claimName", VOLUME_CLAIM),
    VOLUME_CLAIM_SPEC(REFERENCES_OF_VOLUME, "/ephemeral/volumeClaimTemplate/spec"),
    VOLUME("/csi/nodePublishSecretRef/name", SECRET),
    VOLUME("/azureFile/secretName", SECRET),
    VOLUME("/cephfs/secretRef/name", SECRET),
    VOLUME("/cinder/secretRef/name", SECRET),
    VOLUME("/flexVolume/secretRef/name", SECRET),
    VOLUME("/iscsi/secretRef/name", SECRET),
    VOLUME("/rbd/secretRef/name", SECRET),
    VOLUME("/scaleIO/secretRef/name", SECRET),
    VOLUME("/storageos/secretRef/name", SECRET),

    // A kubelet starts a pod without an image pull secret of its ServiceAccount.
    {.of = "serviceaccounts",
     .name = "/imagePullSecrets/*/name",
     .group = "",
     .version = "v1",
     .resource = "secrets",
     .kind = "Secret",
     .flags = WHARF_REFERENCE_OPTIONAL},
    VOLUME_CLAIM_SPEC("persistentvolumeclaims", "/spec"),
    DEVICES("resourceclaims.resource.k8s.io", "/spec"),
    DEVICES("resourceclaimtemplates.resource.k8s.io", "/spec/spec"),
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
