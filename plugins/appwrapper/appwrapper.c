// SPDX-License-Identifier: Apache-2.0
// workload.codeflare.dev AppWrapper: a list of objects that its controller makes in the worker. Names in comments are
// from its appwrapper_controller.go, appwrapper_webhook.go and utils.go.
#include <wharf/adapter.h>

#include <stdbool.h>
#include <string.h>

static const wharf_host *host;

#define COMPONENTS "/spec/components"
#define TEMPLATE COMPONENTS "/*/template"
#define POINTER_MAX 1024

static bool is_text(const wharf_value *object, const char *pointer, const char *text) {
    const char *found = host->string(host->find(object, pointer));
    return found && strcmp(found, text) == 0;
}

static bool is_suspended(const wharf_value *wrapper) {
    return host->boolean(host->find(wrapper, "/spec/suspend"), 0);
}

// Failed: its components may still run, until they are deleted.
static bool is_finished(const wharf_value *wrapper) {
    return is_text(wrapper, "/status/phase", "Succeeded") ||
           (is_text(wrapper, "/status/phase", "Failed") && !host->condition(wrapper, "ResourcesDeployed", "True"));
}

static wharf_result phase(const wharf_call *call, const wharf_value *wrapper, wharf_phase *out) {
    (void)call;
    const wharf_value *ended = host->condition(wrapper, "QuotaReserved", "False");
    const wharf_value *trouble = host->condition(wrapper, "Unhealthy", "True");
    const wharf_value *why = out->phase == WHARF_SUCCEEDED ? ended : trouble;
    if (why && out->phase != WHARF_SUSPENDED) {
        out->reason = host->string(host->find(why, "/reason"));
        out->message = host->string(host->find(why, "/message"));
    }
    if (is_finished(wrapper))
        host->parse_time(host->string(host->find(ended, "/lastTransitionTime")), &out->since_ns);
    else if (out->phase == WHARF_FAILED)
        out->phase = WHARF_ACTIVE;
    else if (out->phase == WHARF_SUSPENDED && !is_suspended(wrapper))
        out->phase = WHARF_PENDING; // where each one begins
    return WHARF_OK;
}

// A component that is gone makes a running AppWrapper Failed ("MissingComponent"), and one whose pods are gone is never
// counted as succeeded: a wrapped Job that deletes itself before that was seen would turn a success into a failure.
// The AppWrapper deletes its components by itself. A RayJob's field of this name is about its RayCluster.
static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    size_t count = host->count(host->find(workload, COMPONENTS));
    for (size_t i = 0; i < count; i++) {
        const char *at = host->format(call, COMPONENTS "/%zu/template", i);
        const char *ttl = host->format(call, "%s/spec/ttlSecondsAfterFinished", at);
        const char *run_policy_ttl = host->format(call, "%s/spec/runPolicy/ttlSecondsAfterFinished", at);
        if (!at || !ttl || !run_policy_ttl)
            return WHARF_RETRY;
        if (is_text(host->find(mirror, at), "/kind", "RayJob"))
            continue;
        host->remove(mirror, ttl);
        host->remove(mirror, run_policy_ttl);
    }
    return WHARF_OK;
}

// Without a mirror: what the controller writes once all components of a suspended AppWrapper are deleted. Conditions
// are there only if it was resumed once.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    static const struct {
        const char *type, *message;
    } conditions[] = {{"QuotaReserved", "Suspend is true"},
                      {"ResourcesDeployed", "Suspend is true"},
                      {"PodsReady", ""},
                      {"Unhealthy", ""}};
    if (mirror || is_finished(workload) || !is_suspended(workload))
        return WHARF_OK;
    bool ok = host->set_string(status, "/phase", "Suspended");
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (host->condition(workload, conditions[i].type, "True"))
            ok = host->set_condition(call, status, conditions[i].type, "False", "Suspended", conditions[i].message) &&
                 ok;
    }
    return ok ? WHARF_OK : WHARF_RETRY;
}

// "template.spec.workerGroupSpecs[0].template" as a JSON pointer into a component (getValueAtPath). False if it is
// none.
static bool to_pointer(const char *path, char *out) {
    size_t length = 0;
    if (!path || strncmp(path, "template", strlen("template")) != 0)
        return false;
    out[length++] = '/';
    for (; *path; path++) {
        if (length + 2 > POINTER_MAX)
            return false;
        if (*path == '.' || *path == '[')
            out[length++] = '/';
        else if (*path != ']')
            out[length++] = *path;
    }
    out[length] = '\0';
    return true;
}

static bool add_set(const wharf_call *call, wharf_value *sets, const wharf_value *template, int64_t count) {
    if (host->type(template) != WHARF_OBJECT)
        return true;
    wharf_value *set = host->new_object(call);
    return host->set(set, "/template", template) && host->set_integer(set, "/count", count < 0 ? 0 : count) &&
           host->set(sets, "/-", set);
}

// The pod sets of a component that declares none are known once a worker's controller has found them (InferPodSets).
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    bool ok = true;
    const wharf_value *found = host->first(host->find(workload, "/status/componentStatus"));
    const wharf_value *component = host->first(host->find(workload, COMPONENTS));
    for (; component && ok; component = host->next(component), found = host->next(found)) {
        const wharf_value *set = host->first(host->find(component, "/podSets"));
        for (set = set ? set : host->first(host->find(found, "/podSets")); set && ok; set = host->next(set)) {
            char pointer[POINTER_MAX];
            if (to_pointer(host->string(host->find(set, "/path")), pointer))
                ok =
                    add_set(call, sets, host->find(component, pointer), host->integer(host->find(set, "/replicas"), 1));
        }
    }
    return ok ? WHARF_OK : WHARF_RETRY;
}

// Deletion; whom the worker's webhook names, who is the host there (a label that may not be changed); and managers of
// what is wrapped, which would leave it to nobody: in the kinds themselves, and in those that have another one's spec
// inside.
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

#define PHASE "/status/phase"

static const wharf_kind kind = {
    .size = sizeof kind,
    .group = "workload.codeflare.dev",
    .versions = (const char *const[]){"v1beta2", NULL},
    .kind = "AppWrapper",
    .plural = "appwrappers",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "workload.codeflare.dev/appwrapper-controller",
    .suspend = "/spec/suspend",
    // podSetInfos: where Kueue's flavors send the pods.
    .carried = (const wharf_carried[]){{.pointer = "/spec/suspend"},
                                       {.pointer = COMPONENTS "/*/podSetInfos", .when = WHARF_CARRY_WHILE_SUSPENDED},
                                       {.pointer = NULL}},
    .removed = removed,
    .phases = (const wharf_phase_rule[]){{PHASE, "Succeeded", NULL, WHARF_SUCCEEDED},
                                         {PHASE, "Failed", NULL, WHARF_FAILED},
                                         {PHASE, "Suspended", NULL, WHARF_SUSPENDED},
                                         {PHASE, "Suspending", NULL, WHARF_ACTIVE},
                                         {PHASE, "Resuming", NULL, WHARF_ACTIVE},
                                         {PHASE, "Running", NULL, WHARF_ACTIVE},
                                         {PHASE, "Resetting", NULL, WHARF_ACTIVE},
                                         {PHASE, "Terminating", NULL, WHARF_ACTIVE},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .phase = phase,
    .mirror = mirror,
    .status = status,
    .pod_sets = pod_sets,
};

WHARF_MODULE(host, "appwrapper", "0.1.0", &kind)
