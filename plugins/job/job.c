// SPDX-License-Identifier: Apache-2.0
// batch/v1 Job. The rules of the API server are in kubernetes pkg/registry/batch/job/strategy.go and
// pkg/apis/batch/validation/validation.go; function names in comments are from there.
#include "job.h"

const wharf_host *host;

#define POD "/spec/template"
#define MANUAL "/spec/manualSelector"

// The fields that the API server sets in a Job without manualSelector (generateSelector): labels of the pod template
// with the Job's uid and name, and a selector for these labels. A mirror gets other values.
#define GENERATED(labels)                                                                                              \
    labels "/controller-uid", labels "/job-name", labels "/batch.kubernetes.io~1controller-uid",                       \
        labels "/batch.kubernetes.io~1job-name"
static const char *const generated[] = {"/spec/selector", GENERATED(POD "/metadata/labels"), NULL};

// Pods exist, but none has become ready or ended: maybe none has a node. An older Job controller does not count ready
// pods. Once the outcome is decided, nothing is to start.
static bool has_not_run(const wharf_value *job) {
    bool ended = job_count(job, SUCCEEDED) + job_count(job, FAILED) > job_earlier(job, GIVEN_PODS);
    return !ended && job_outcome(job) == UNDECIDED && host->find(job, "/status/ready") &&
           job_count(job, "/status/ready") == 0 &&
           host->count(host->find(job, "/status/uncountedTerminatedPods/succeeded")) == 0 &&
           host->count(host->find(job, "/status/uncountedTerminatedPods/failed")) == 0;
}

// The rules distinguish all phases; this function adds the difference between a Job with pods and one without.
static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    (void)call;
    bool has_pods = job_count(job, "/status/active") > 0 || job_count(job, "/status/terminating") > 0;
    if (job_is_finished(job) || (out->phase == WHARF_SUSPENDED && !has_pods))
        return WHARF_OK;
    out->phase = has_pods || host->find(job, "/status/startTime") ? WHARF_ACTIVE : WHARF_PENDING;
    out->reason = out->message = NULL;
    if (out->phase == WHARF_ACTIVE && WHARF_HAS(wharf_phase, out, not_started))
        out->not_started = has_not_run(job);
    return WHARF_OK;
}

// The worker was lost between SuccessCriteriaMet or FailureTarget and the end: nothing has to run again for an outcome
// that cannot change any more. The mirror only completes the status (see job_status). A finished workload still has a
// running mirror only if another writer set the end: then the mirror's work is not in vain.
static bool runs_in_vain(const wharf_value *workload) {
    return job_outcome(workload) != UNDECIDED && !job_is_finished(workload);
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    for (const char *const *field = generated; *field && !host->is(workload, MANUAL, "true"); field++)
        host->remove(call, mirror, *field);
    job_note_earlier(call, workload, mirror);
    job_fit_gang(call, workload, NULL, mirror);
    if (runs_in_vain(workload))
        host->set_boolean(call, mirror, SUSPEND, 1);
    return WHARF_OK;
}

// validateCompletions: only an Indexed Job may change completions, and only to a value equal to parallelism. A workload
// scaled twice may need two steps.
static void fix_completions(const wharf_call *call, const wharf_value *mirror, wharf_value *desired) {
    const wharf_value *completions = host->find(desired, "/spec/completions");
    bool changed = !host->equal(completions, host->find(mirror, "/spec/completions"));
    if (changed && completions && host->is(mirror, "/spec/completionMode", "Indexed"))
        host->set(call, desired, "/spec/parallelism", completions);
    else
        host->take(call, desired, mirror, "/spec/completions");
}

// shouldAllowMutablePodTemplate: a newly suspended mirror takes a new template only after the end of all pods. Until
// then the mirror keeps the old template and stays suspended: else a spec would run that the workload no longer has.
static void fix_template(const wharf_call *call, const wharf_value *mirror, wharf_value *desired) {
    for (const char *const *field = generated; *field && !host->is(mirror, MANUAL, "true"); field++)
        host->take(call, desired, mirror, *field);
    bool may_change = job_count(mirror, "/status/active") == 0 &&
                      (!host->find(mirror, "/status/startTime") || host->condition(mirror, "Suspended", "True"));
    if (may_change || host->equal(host->find(mirror, POD), host->find(desired, POD)))
        return;
    host->take(call, desired, mirror, POD);
    host->set_boolean(call, desired, SUSPEND, 1);
}

// Of scheduling, a server accepts only another minCount, of an existing gang that is not greater than parallelism
// (validateGangMinCount).
static void fix_gang(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                     wharf_value *desired) {
    if (!host->find(mirror, GANG) || !host->find(workload, GANG))
        host->take(call, desired, mirror, SCHEDULING);
    else
        job_fit_gang(call, workload, mirror, desired);
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    fix_completions(call, mirror, desired);
    fix_template(call, mirror, desired);
    fix_gang(call, workload, mirror, desired);
    job_keep_left(call, workload, mirror, desired);
    // Newer servers default the field; older ones would drop the field again and again.
    if (!host->find(mirror, "/spec/podReplacementPolicy"))
        host->remove(call, desired, "/spec/podReplacementPolicy");
    if (runs_in_vain(workload) && job_outcome(mirror) == UNDECIDED)
        host->set_boolean(call, desired, SUSPEND, 1);
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/parallelism"},
    {.pointer = "/spec/completions"},
    {.pointer = SUSPEND},
    {.pointer = "/spec/activeDeadlineSeconds"},
    {.pointer = "/spec/backoffLimit"},
    {.pointer = "/spec/maxFailedIndexes"},
    {.pointer = "/spec/podReplacementPolicy"},
    {.pointer = MIN_COUNT},
    WHARF_CARRIED_POD_TEMPLATE(POD, NULL),
    {.pointer = POD "/spec/affinity/nodeAffinity", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/spec/containers/*/resources", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = POD "/spec/initContainers/*/resources", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = NULL},
};

// A Job without labels gets the labels of the template (SetDefaults_Job), generated ones included.
static const char *const removed[] = {"/spec/ttlSecondsAfterFinished", GENERATED("/metadata/labels"), NULL};

// A server allows a change of the template of a started Job only with this condition.
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_REMOVE("/status/startTime"),
    WHARF_CHANGE_REMOVE("/status/active"),
    WHARF_CHANGE_ZERO("/status/ready"),
    WHARF_CHANGE_ZERO("/status/terminating"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "True", "JobSuspended", "Job suspended"),
    {.name = NULL},
};

// The Job controller's status for a Job that fails before any pod exists (trackJobStatusAndRemoveFinalizers,
// finishJob).
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_REMOVE("/status/active"),
    WHARF_CHANGE_ZERO("/status/ready"),
    WHARF_CHANGE_ZERO("/status/terminating"),
    WHARF_CHANGE_TEXT(WHARF_IF_ABSENT, "/status/startTime", "{now}"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "FailureTarget", "True", "NoClusterAccepts", "{message}"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"),
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Complete", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
    {.pointer = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "batch",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Job",
    .plural = "jobs",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "kubernetes.io/job-controller",
    .suspend = SUSPEND,
    .carried = carried,
    .removed = removed,
    .pods = (const wharf_pods[]){{.templates = POD, .counts = (const char *const[]){"/spec/parallelism", NULL}},
                                 {.templates = NULL}},
    .status_removed = (const char *const[]){"/status/uncountedTerminatedPods", NULL}, // uids of the worker's pods
    .condition_time = "lastProbeTime",
    .suspended_status = suspended,
    .gave_up_status = gave_up,
    .phases = phases,
    .finished_at = "/status/completionTime",
    .phase = phase,
    .mirror = mirror,
    .update = update,
    .status = job_status,
    .pod_sets = job_pod_sets,
    .progress = job_progress,
};

WHARF_MODULE(.name = "job", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
