// SPDX-License-Identifier: Apache-2.0
// jobset.x-k8s.io JobSet. The webhook (ValidateUpdate) and the rules of the CRD define the fields that may change.
#include "jobset.h"

const wharf_host *host;

#define JOB "/spec/replicatedJobs/*/template/spec"
#define POD JOB "/template"

// Elastic JobSets: an Indexed job may be scaled if its completions stay equal to its parallelism.
static int may_scale(const wharf_value *mirror, const wharf_value *job) {
    const wharf_value *pods = host->find(job, "/parallelism");
    return !host->condition(mirror, "Completed", "True") && !host->condition(mirror, "Failed", "True") &&
           (!host->find(job, "/completionMode") || host->is(job, "/completionMode", "Indexed")) &&
           host->integer(pods, 1) >= 1 && host->equal(pods, host->find(job, "/completions"));
}

// A worker would reject the whole patch, including a change of suspend: the adapter leaves out changes that the worker
// does not accept.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    size_t count = host->count(host->find(mirror, "/spec/replicatedJobs"));
    for (size_t i = 0; i < count; i++) {
        const char *at = host->format(call, "/spec/replicatedJobs/%zu/template/spec", i);
        const wharf_value *before = host->find(mirror, at);
        wharf_value *after = host->edit(call, desired, at);
        int same = host->equal(host->find(before, "/parallelism"), host->find(after, "/parallelism")) &&
                   host->equal(host->find(before, "/completions"), host->find(after, "/completions"));
        if (same || may_scale(mirror, after))
            continue;
        host->take(call, after, before, "/parallelism");
        host->take(call, after, before, "/completions");
        call->answer->reason = "NotCarried";
        call->answer->message =
            host->format(call,
                         "%s: parallelism and completions can only be changed in an Indexed job, to the same number of "
                         "at least 1, and not once the JobSet is finished",
                         at);
    }
    return WHARF_OK;
}

// A Job creates no more pods than completions. Each set belongs to the job at the same position.
static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    size_t at = 0;
    const wharf_value *job = host->first(host->find(workload, "/spec/replicatedJobs"));
    for (; job; job = host->next(job)) {
        if (host->type(host->find(job, "/template/spec/template")) != WHARF_OBJECT)
            continue;
        int64_t pods = host->integer(host->find(job, "/template/spec/parallelism"), 1);
        int64_t completions = host->integer(host->find(job, "/template/spec/completions"), -1);
        const char *count = host->format(call, "/%zu/count", at++);
        if (completions >= 0 && pods > completions)
            host->set_integer(call, sets, count, host->integer(host->find(sets, count), 0) / pods * completions);
    }
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},    {.pointer = "/spec/coordinator"},      {.pointer = JOB "/parallelism"},
    {.pointer = JOB "/completions"}, WHARF_CARRIED_POD_TEMPLATE(POD, NULL), {.pointer = NULL},
};

static const wharf_status_change suspended[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "True", "SuspendedJobs", "jobset is suspended"),
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "RestartingJobSet", "False", "JobSetSuspended", "jobset is suspended"),
    WHARF_CHANGE_ZERO("/status/replicatedJobsStatus/*/active"),
    WHARF_CHANGE_ZERO("/status/replicatedJobsStatus/*/ready"),
    {.name = NULL},
};

// The workload failed before any pod ran.
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_TEXT(WHARF_ALWAYS, "/status/terminalState", "Failed"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Completed", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {CONDITIONS, "RestartingJobSet", .phase = WHARF_ACTIVE},
    {CONDITIONS, "StartupPolicyInProgress", .phase = WHARF_ACTIVE},
    {.pointer = NULL},
};

static const wharf_child children[] = {
    {.group = "batch", .version = "v1", .plural = "jobs", .label = "jobset.sigs.k8s.io/jobset-name"},
    {.plural = NULL},
};

// The claims that the controller makes.
static const wharf_reference references[] = {
    {.name = "/spec/volumeClaimPolicies/*/templates/*/spec/storageClassName",
     .group = "storage.k8s.io",
     .version = "v1",
     .resource = "storageclasses",
     .kind = "StorageClass",
     .flags = WHARF_REFERENCE_CLUSTER_SCOPED},
    {.name = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "jobset.x-k8s.io",
    .versions = (const char *const[]){"v1alpha2", NULL},
    .kind = "JobSet",
    .plural = "jobsets",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "jobset.sigs.k8s.io/jobset-controller",
    .suspend = "/spec/suspend",
    .carried = carried,
    // The Jobs that a worker's JobSet controller creates have their own managedBy.
    .removed = (const char *const[]){"/spec/ttlSecondsAfterFinished", JOB "/managedBy", NULL},
    .pods = (const wharf_pods[]){{.templates = POD,
                                  .counts = (const char *const[]){"/spec/replicatedJobs/*/replicas", JOB "/parallelism",
                                                                  NULL}},
                                 {.templates = NULL}},
    .status_removed = (const char *const[]){CONDITIONS "/*/observedGeneration", NULL},
    .suspended_status = suspended,
    .gave_up_status = gave_up,
    .resumed_status = (const wharf_status_change[]){WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "False",
                                                                           "ResumeJobs", "jobset is resumed"),
                                                    {.name = NULL}},
    .phases = phases,
    .mirror = jobset_note_restarts,
    .update = update,
    .status = jobset_status,
    .pod_sets = pod_sets,
    WHARF_REFERENCES(references),
    WHARF_CHILDREN(children),
    .child_progress = jobset_child_progress,
};

WHARF_MODULE(.name = "jobset", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
