// SPDX-License-Identifier: Apache-2.0
// workload.codeflare.dev AppWrapper: a list of objects that the worker's controller creates. Names in comments are from
// appwrapper_controller.go, appwrapper_webhook.go and utils.go.
#include <wharf/adapter.h>

#include <string.h>

static const wharf_host *host;

#define COMPONENTS "/spec/components"
#define TEMPLATE COMPONENTS "/*/template"
#define PHASE "/status/phase"

// Failed counts only after the deletion of all components, which may still run until then.
static wharf_result phase(const wharf_call *call, const wharf_value *wrapper, wharf_phase *out) {
    (void)call;
    const wharf_value *ended = host->condition(wrapper, "QuotaReserved", "False");
    const wharf_value *why = out->phase == WHARF_SUCCEEDED ? ended : host->condition(wrapper, "Unhealthy", "True");
    if (why && !host->is(wrapper, PHASE, "Suspended")) {
        out->reason = host->string(host->find(why, "/reason"));
        out->message = host->string(host->find(why, "/message"));
    }
    if (out->phase == WHARF_FAILED && host->condition(wrapper, "ResourcesDeployed", "True"))
        out->phase = WHARF_ACTIVE;
    if (out->phase == WHARF_SUCCEEDED || out->phase == WHARF_FAILED)
        host->parse_time(host->string(host->find(ended, "/lastTransitionTime")), &out->since_ns);
    return WHARF_OK;
}

// A missing component makes a running AppWrapper Failed ("MissingComponent"), and a component without pods never counts
// as succeeded: a wrapped Job that deletes itself too early would turn a success into a failure. The AppWrapper deletes
// the components without help. A RayJob's field of this name concerns the RayCluster.
static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    size_t count = host->count(host->find(workload, COMPONENTS));
    for (size_t i = 0; i < count; i++) {
        wharf_value *wrapped = host->edit(call, mirror, host->format(call, COMPONENTS "/%zu/template", i));
        if (!wrapped || host->is(wrapped, "/kind", "RayJob"))
            continue;
        host->remove(call, wrapped, "/spec/ttlSecondsAfterFinished");
        host->remove(call, wrapped, "/spec/runPolicy/ttlSecondsAfterFinished");
    }
    return WHARF_OK;
}

// "template.spec.workerGroupSpecs[0].template" as a JSON pointer into a component (getValueAtPath), or NULL.
static const char *to_pointer(const wharf_call *call, const char *path) {
    if (!path || strncmp(path, "template", strlen("template")) != 0)
        return NULL;
    char *pointer = host->memory(call, strlen(path) + 2), *end = pointer;
    if (end)
        *end++ = '/';
    for (; end && *path; path++)
        if (*path != ']')
            *end++ = *path == '.' || *path == '[' ? '/' : *path;
    return pointer;
}

static void add_set(const wharf_call *call, const wharf_value *component, const wharf_value *declared,
                    wharf_value *sets) {
    const char *pointer = to_pointer(call, host->string(host->find(declared, "/path")));
    const wharf_value *template = pointer ? host->find(component, pointer) : NULL;
    int64_t replicas = host->integer(host->find(declared, "/replicas"), 1);
    if (host->type(template) != WHARF_OBJECT)
        return;
    wharf_value *set = host->new_object(call);
    host->set(call, set, "/template", template);
    host->set_integer(call, set, "/count", replicas < 0 ? 0 : replicas);
    host->set(call, sets, "/-", set);
}

// A worker's controller infers the pod sets of a component that declares none (InferPodSets).
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    const wharf_value *found = host->first(host->find(workload, "/status/componentStatus"));
    const wharf_value *component = host->first(host->find(workload, COMPONENTS));
    for (; component; component = host->next(component), found = host->next(found)) {
        const wharf_value *declared = host->first(host->find(component, "/podSets"));
        if (!declared)
            declared = host->first(host->find(found, "/podSets"));
        for (; declared; declared = host->next(declared))
            add_set(call, component, declared, sets);
    }
    return WHARF_OK;
}

// The pods of the wrapped kinds that are known, also of components that declare none.
static const wharf_reference references[] = {
    {.name = TEMPLATE "/spec", .flags = WHARF_REFERENCE_POD_SPECS}, // Pod
    {.name = TEMPLATE "/spec/template", .flags = WHARF_REFERENCE_PODS},
    {.name = TEMPLATE "/spec/*/template", .flags = WHARF_REFERENCE_PODS},     // the head of a RayCluster
    {.name = TEMPLATE "/spec/*/*/template", .flags = WHARF_REFERENCE_PODS},   // PyTorchJob, the head of a RayJob
    {.name = TEMPLATE "/spec/*/*/*/template", .flags = WHARF_REFERENCE_PODS}, // workers of a RayJob
    {.name = TEMPLATE "/spec/replicatedJobs/*/template/spec/template", .flags = WHARF_REFERENCE_PODS},
    {.name = NULL},
};

// Whether a component is the object with this name, of a resource that pods refer to.
static int is_component(const wharf_value *component, const char *resource, const char *name) {
    static const struct {
        const char *kind, *resource;
    } known[] = {
        {"ConfigMap", "configmaps"},
        {"Secret", "secrets"},
        {"ServiceAccount", "serviceaccounts"},
        {"PersistentVolumeClaim", "persistentvolumeclaims"},
        {"ResourceClaim", "resourceclaims.resource.k8s.io"},
        {"ResourceClaimTemplate", "resourceclaimtemplates.resource.k8s.io"},
    };
    int any = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        any |= resource && strcmp(resource, known[i].resource) == 0 &&
               host->is(component, "/template/kind", known[i].kind) &&
               host->is(component, "/template/metadata/name", name);
    return any;
}

// What the AppWrapper itself contains, the worker's controller makes.
static wharf_result dependencies(const wharf_call *call, const wharf_value *workload, wharf_value *list) {
    size_t index = 0;
    for (const wharf_value *item = host->first(list); item; item = host->next(item), index++) {
        const char *resource = host->string(host->find(item, "/resource"));
        const char *name = host->string(host->find(item, "/name"));
        const wharf_value *component = host->first(host->find(workload, COMPONENTS));
        while (component && !is_component(component, resource, name))
            component = host->next(component);
        if (component)
            host->set_boolean(call, list, host->format(call, "/%zu/made", index), 1);
    }
    return WHARF_OK;
}

// Deletion; the user that the worker's webhook records in an immutable label, which is the host there; and managers of
// the wrapped objects, which would leave the objects unmanaged: in the kinds themselves, and in kinds that contain
// another kind's spec.
static const char *const removed[] = {
    "/metadata/annotations/workload.codeflare.dev.appwrapper~1successTTLDuration",
    "/metadata/labels/workload.codeflare.dev~1user",
    "/metadata/labels/workload.codeflare.dev~1userid",
    TEMPLATE "/spec/managedBy",
    TEMPLATE "/spec/runPolicy/managedBy",
    TEMPLATE "/spec/rayClusterSpec/managedBy",
    TEMPLATE "/spec/rayClusterConfig/managedBy",
    TEMPLATE "/spec/replicatedJobs/*/template/spec/managedBy",
    TEMPLATE "/spec/jobTemplate/managedBy",
    TEMPLATE "/spec/jobTemplate/rayClusterSpec/managedBy",
    TEMPLATE "/spec/jobTemplate/spec/managedBy",
    NULL,
};

// The controller's changes after the deletion of all components. Conditions exist only after a first resume.
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, PHASE, "Suspended"),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "QuotaReserved", "False", "Suspended", "Suspend is true"),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "ResourcesDeployed", "False", "Suspended", "Suspend is true"),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "PodsReady", "False", "Suspended", ""),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "Unhealthy", "False", "Suspended", ""),
    {.name = NULL},
};

// The workload failed before any pod ran, as after a permanent error (fatal in createComponents).
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, PHASE, "Failed"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "QuotaReserved", "False", "Failed", "No resources deployed"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "ResourcesDeployed", "False", "Failed", "No resources deployed"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "PodsReady", "False", "Failed", "No resources deployed"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Unhealthy", "True", "NoClusterAccepts", "{message}"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {PHASE, "Succeeded", .phase = WHARF_SUCCEEDED},
    {PHASE, "Failed", .phase = WHARF_FAILED},
    {PHASE, "Suspended", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
    {PHASE, "Suspended", .phase = WHARF_PENDING}, // the first phase
    {PHASE, "Suspending", .phase = WHARF_ACTIVE},
    {PHASE, "Resuming", .phase = WHARF_ACTIVE},
    {PHASE, "Running", .phase = WHARF_ACTIVE},
    {PHASE, "Resetting", .phase = WHARF_ACTIVE},
    {PHASE, "Terminating", .phase = WHARF_ACTIVE},
    {.pointer = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "workload.codeflare.dev",
    .versions = (const char *const[]){"v1beta2", NULL},
    .kind = "AppWrapper",
    .plural = "appwrappers",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "workload.codeflare.dev/appwrapper-controller",
    .suspend = "/spec/suspend",
    // podSetInfos: scheduling of the pods by Kueue's flavors.
    .carried = (const wharf_carried[]){{.pointer = "/spec/suspend"},
                                       {.pointer = COMPONENTS "/*/podSetInfos", .when = WHARF_CARRY_WHILE_SUSPENDED},
                                       {.pointer = NULL}},
    .removed = removed,
    .suspended_status = suspended,
    .gave_up_status = gave_up,
    .phases = phases,
    .phase = phase,
    .mirror = mirror,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(references),
    .dependencies = dependencies,
};

WHARF_MODULE(.name = "appwrapper", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
