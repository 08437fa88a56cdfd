// SPDX-License-Identifier: Apache-2.0
// trainer.kubeflow.org TrainJob. Its pods are described in the runtime that it names, which every worker must have.
#include <wharf/adapter.h>

#include <string.h>

static const wharf_host *host;

#define PATCHES "/spec/runtimePatches"

// The entry that Kueue writes on admission: where its flavors send the pods.
static int is_of_kueue(const wharf_value *patch) {
    const char *manager = host->string(host->find(patch, "/manager"));
    return manager && strcmp(manager, "kueue.x-k8s.io/manager") == 0;
}

static int is_suspended(const wharf_value *trainjob) {
    return host->boolean(host->find(trainjob, "/spec/suspend"), 0);
}

// Puts into `to` what `workload` asks for, and leaves what belongs to the mirror: the times, which its webhook sets,
// and the entry of its Kueue where none comes from the workload's.
static int set_patches(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                       wharf_value *to) {
    wharf_value *patches = host->new_array(call);
    int ok = 1, has_kueue = 0;
    for (const wharf_value *p = host->first(host->find(workload, PATCHES)); p; p = host->next(p)) {
        has_kueue |= is_of_kueue(p);
        const char *manager = host->string(host->find(p, "/manager"));
        const wharf_value *there = manager ? host->find_where(mirror, PATCHES, "manager", manager) : NULL;
        const char *time = host->string(host->find(there, "/time"));
        wharf_value *patch = host->copy(call, p);
        ok = (!time || host->set_string(patch, "/time", time)) && host->set(patches, "/-", patch) && ok;
    }
    for (const wharf_value *p = host->first(host->find(mirror, PATCHES)); p; p = host->next(p))
        ok = (!is_of_kueue(p) || has_kueue || host->set(patches, "/-", p)) && ok;
    host->remove(to, PATCHES);
    return (host->count(patches) == 0 || host->set(to, PATCHES, patches)) && patches && ok;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    return set_patches(call, workload, NULL, mirror) ? WHARF_OK : WHARF_RETRY;
}

static int has_active(const wharf_value *trainjob) {
    int64_t active = 0;
    for (const wharf_value *job = host->first(host->find(trainjob, "/status/jobsStatus")); job; job = host->next(job))
        active |= host->integer(host->find(job, "/active"), 0);
    return active != 0;
}

// The webhook takes other patches only while the TrainJob is suspended and its jobs are gone. Until then the mirror
// keeps those that it has, and is not resumed with them. It is resumed after it has the new ones, not together with
// them: older webhooks look at the new object alone.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    if (!is_suspended(mirror))
        return WHARF_OK; // the host has not touched them
    if (!set_patches(call, workload, mirror, desired))
        return WHARF_RETRY;
    const wharf_value *before = host->find(mirror, PATCHES);
    if (host->equal(before, host->find(desired, PATCHES)))
        return WHARF_OK;
    int ok = 1;
    if (has_active(mirror)) {
        host->remove(desired, PATCHES);
        ok = !before || host->set(desired, PATCHES, before);
    }
    return ok && host->set_boolean(desired, "/spec/suspend", 1) ? WHARF_OK : WHARF_RETRY;
}

static int clear(const wharf_call *call, wharf_value *status, size_t index, const char *count) {
    const char *at = host->format(call, "/jobsStatus/%zu/%s", index, count);
    return !host->find(status, at) || host->set_integer(status, at, 0);
}

// Without a mirror nobody else says that a TrainJob is suspended, or not any more, as the Trainer does.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    if (mirror || host->condition(workload, "Complete", "True") || host->condition(workload, "Failed", "True"))
        return WHARF_OK;
    int ok = 1;
    if (!is_suspended(workload)) {
        if (host->condition(workload, "Suspended", "True"))
            ok = host->set_condition(call, status, "Suspended", "False", "Resumed", "TrainJob is resumed");
        return ok ? WHARF_OK : WHARF_RETRY;
    }
    ok = host->set_condition(call, status, "Suspended", "True", "Suspended", "TrainJob is suspended");
    size_t count = host->count(host->find(status, "/jobsStatus"));
    for (size_t i = 0; i < count; i++)
        ok = clear(call, status, i, "active") && clear(call, status, i, "ready") && ok;
    return ok ? WHARF_OK : WHARF_RETRY;
}

// The nodes, as far as the TrainJob itself says what they need.
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    const wharf_value *resources = host->find(workload, "/spec/trainer/resourcesPerNode");
    wharf_value *container = host->new_object(call), *set = host->new_object(call), *list = host->new_array(call);
    int ok = host->set_string(container, "/name", "node") &&
             (!resources || host->set(container, "/resources", resources)) && host->set(list, "/-", container) &&
             host->set(set, "/template/spec/containers", list) &&
             host->set_integer(set, "/count", host->integer(host->find(workload, "/spec/trainer/numNodes"), 1)) &&
             host->set(sets, "/-", set);
    return ok ? WHARF_OK : WHARF_RETRY;
}

#define CONDITIONS "/status/conditions"

static const wharf_kind kind = {
    .size = sizeof kind,
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
    .phases = (const wharf_phase_rule[]){{CONDITIONS, "Complete", NULL, WHARF_SUCCEEDED},
                                         {CONDITIONS, "Failed", NULL, WHARF_FAILED},
                                         {CONDITIONS, "Suspended", NULL, WHARF_SUSPENDED},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .mirror = mirror,
    .update = update,
    .status = status,
    .pod_sets = pod_sets,
};

WHARF_MODULE(host, "trainjob", "0.1.0", &kind)
