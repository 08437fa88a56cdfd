// SPDX-License-Identifier: Apache-2.0
// trainer.kubeflow.org TrainJob. The runtime named in the spec describes the pods and must exist on every worker.
#include <wharf/adapter.h>

static const wharf_host *host;

#define PATCHES "/spec/runtimePatches"
#define KUEUE "kueue.x-k8s.io/manager" // of Kueue's entry at admission: scheduling of the pods by flavor
// The manager of the entry from the management cluster's Kueue on the mirror. A worker's Kueue adds another entry to a
// new mirror, and an API server accepts one entry of each manager.
#define FLAVORS "wharf.dev/kueue"
#define CONDITIONS "/status/conditions"

// Sets the fields of `workload` in `to`, and keeps the mirror's: the times from the webhook and the entry of the
// worker's Kueue.
static void set_patches(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *to) {
    wharf_value *patches = host->new_array(call);
    for (const wharf_value *p = host->first(host->find(workload, PATCHES)); p; p = host->next(p)) {
        wharf_value *patch = host->copy(call, p);
        if (host->is(p, "/manager", KUEUE))
            host->set_string(call, patch, "/manager", FLAVORS);
        const char *manager = host->string(host->find(patch, "/manager"));
        const wharf_value *there = host->find_where(mirror, PATCHES, "manager", manager);
        if (host->find(there, "/time"))
            host->take(call, patch, there, "/time");
        host->set(call, patches, "/-", patch);
    }
    const wharf_value *kueue = host->find_where(mirror, PATCHES, "manager", KUEUE);
    if (kueue)
        host->set(call, patches, "/-", kueue);
    host->remove(call, to, PATCHES);
    if (host->count(patches) > 0)
        host->set(call, to, PATCHES, patches);
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    set_patches(call, workload, NULL, mirror);
    return WHARF_OK;
}

static int has_active(const wharf_value *trainjob) {
    for (const wharf_value *job = host->first(host->find(trainjob, "/status/jobsStatus")); job; job = host->next(job))
        if (host->integer(host->find(job, "/active"), 0) != 0)
            return 1;
    return 0;
}

// The webhook accepts other patches only while the TrainJob is suspended and has no jobs. Until then the mirror keeps
// the old patches and stays suspended. The host writes the new patches first and resumes in a second write: older
// webhooks check only the new object.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    if (!host->is(mirror, "/spec/suspend", "true"))
        return WHARF_OK; // the host changed no patch
    set_patches(call, workload, mirror, desired);
    if (host->equal(host->find(mirror, PATCHES), host->find(desired, PATCHES)))
        return WHARF_OK;
    if (has_active(mirror))
        host->take(call, desired, mirror, PATCHES);
    host->set_boolean(call, desired, "/spec/suspend", 1);
    return WHARF_OK;
}

// The nodes, if the TrainJob itself has their resources.
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    const wharf_value *resources = host->find(workload, "/spec/trainer/resourcesPerNode");
    static const char node[] = "{\"template\":{\"spec\":{\"containers\":[{\"name\":\"node\"}]}}}";
    wharf_value *set = host->parse(call, node, sizeof node - 1);
    if (resources)
        host->set(call, set, "/template/spec/containers/0/resources", resources);
    host->set_integer(call, set, "/count", host->integer(host->find(workload, "/spec/trainer/numNodes"), 1));
    host->set(call, sets, "/-", set);
    return WHARF_OK;
}

static const wharf_status_change suspended[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "True", "Suspended", "TrainJob is suspended"),
    WHARF_CHANGE_ZERO("/status/jobsStatus/*/active"),
    WHARF_CHANGE_ZERO("/status/jobsStatus/*/ready"),
    {.name = NULL},
};

// The workload failed before any pod ran.
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Complete", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {.pointer = NULL},
};

#define TRAINER .group = "trainer.kubeflow.org", .version = "v1alpha1"
#define RUNTIME TRAINER, .resource = "trainingruntimes", .kind = "TrainingRuntime"
#define CLUSTER_RUNTIME TRAINER, .resource = "clustertrainingruntimes", .kind = "ClusterTrainingRuntime"
#define SECRET .group = "", .version = "v1", .resource = "secrets", .kind = "Secret"
#define STORAGE_CLASS                                                                                                  \
    .group = "storage.k8s.io", .version = "v1", .resource = "storageclasses", .kind = "StorageClass",                  \
    .flags = WHARF_REFERENCE_CLUSTER_SCOPED
#define JOBS "/template/spec/replicatedJobs/*/template/spec/template"
#define CLAIMS "/spec/template/spec/volumeClaimPolicies/*/templates/*/spec/storageClassName"
#define OF_RUNTIME(resource)                                                                                           \
    {.of = (resource), .name = "/spec" JOBS, .flags = WHARF_REFERENCE_PODS}, {                                         \
        .of = (resource), .name = CLAIMS, STORAGE_CLASS                                                                \
    }

#define INITIALIZER(path)                                                                                              \
    {.name = path "/secretRef/name", SECRET}, {                                                                        \
        .name = (path), .flags = WHARF_REFERENCE_CONTAINERS                                                            \
    }

static const wharf_reference references[] = {
    {.name = "/spec/runtimeRef/name",
     .kind_at = "/spec/runtimeRef/kind",
     CLUSTER_RUNTIME,
     .flags = WHARF_REFERENCE_CLUSTER_SCOPED | WHARF_REFERENCE_KIND_DEFAULT},
    {.name = "/spec/runtimeRef/name", .kind_at = "/spec/runtimeRef/kind", RUNTIME},
    OF_RUNTIME("clustertrainingruntimes.trainer.kubeflow.org"),
    OF_RUNTIME("trainingruntimes.trainer.kubeflow.org"),
    {.name = PATCHES "/*/trainingRuntimeSpec" JOBS, .flags = WHARF_REFERENCE_PODS},
    INITIALIZER("/spec/initializer/dataset"),
    INITIALIZER("/spec/initializer/model"),
    {.name = "/spec/trainer", .flags = WHARF_REFERENCE_CONTAINERS},
    {.name = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "trainer.kubeflow.org",
    .versions = (const char *const[]){"v1alpha1", NULL},
    .kind = "TrainJob",
    .plural = "trainjobs",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "trainer.kubeflow.org/trainjob-controller",
    .managed_by_allowed = (const char *const[]){"kueue.x-k8s.io/multikueue", NULL},
    .suspend = "/spec/suspend",
    .carried = (const wharf_carried[]){{.pointer = "/spec/suspend"},
                                       {.pointer = PATCHES, .when = WHARF_CARRY_WHILE_SUSPENDED},
                                       {.pointer = NULL}},
    .status_removed = (const char *const[]){CONDITIONS "/*/observedGeneration", NULL},
    .suspended_status = suspended,
    .gave_up_status = gave_up,
    .resumed_status = (const wharf_status_change[]){WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "False",
                                                                           "Resumed", "TrainJob is resumed"),
                                                    {.name = NULL}},
    .phases = phases,
    .mirror = mirror,
    .update = update,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(references),
};

WHARF_MODULE(.name = "trainjob", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
