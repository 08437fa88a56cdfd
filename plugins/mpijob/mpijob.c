// SPDX-License-Identifier: Apache-2.0
// kubeflow.org MPIJob: v2beta1 of the MPI Operator, and v1 of the Training Operator, which has the same fields here.
#include <wharf/adapter.h>

#include <stdlib.h>
#include <string.h>

static const wharf_host *host;

#define REPLICAS "/spec/mpiReplicaSpecs/*"
#define CONDITIONS "/status/conditions"
#define DEADLINE "/spec/runPolicy/activeDeadlineSeconds"
#define SUSPEND "/spec/runPolicy/suspend"
#define START "/status/startTime"
#define EARLIER "/metadata/annotations/mpijob.wharf.dev~1earlier-seconds"

// In v2beta1 a job of which workers are evicted is called Failed while its launcher goes on, and may still succeed. It
// has failed once there is a completionTime.
static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    if (out->phase == WHARF_FAILED && strcmp(call->version, "v2beta1") == 0 &&
        !host->find(job, "/status/completionTime"))
        out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

// What is left of activeDeadlineSeconds for a further attempt: the launcher's Job, or in v1 the operator, counts it
// from its start. As long as it is not suspended, that is the one of its first attempt, and a mirror has the rest. What
// had passed when it was made is in its annotation.
static int64_t seconds_passed(const wharf_value *mirror) {
    const char *text = host->string(host->find(mirror, EARLIER));
    int64_t seconds = text ? strtol(text, NULL, 10) : 0;
    return seconds < 0 ? 0 : seconds < INT32_MAX ? seconds : INT32_MAX;
}

static void lower_deadline(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t whole = host->integer(host->find(workload, DEADLINE), 0), passed = seconds_passed(mirror);
    if (whole > 0 && passed > 0)
        host->set_integer(call, mirror, DEADLINE, whole > passed ? whole - passed : 1);
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t start_ns = 0;
    host->remove(call, mirror, EARLIER);
    if (host->is(workload, SUSPEND, "true") || host->integer(host->find(workload, DEADLINE), 0) <= 0 ||
        !host->parse_time(host->string(host->find(workload, START)), &start_ns) || call->now_ns < start_ns)
        return WHARF_OK;
    int64_t seconds = (call->now_ns - start_ns) / 1000000000;
    host->set_string(call, mirror, EARLIER, host->format(call, "%lld", (long long)seconds));
    lower_deadline(call, workload, mirror);
    return WHARF_OK;
}

// All of it again once it is resumed.
static void keep_deadline(const wharf_call *call, const wharf_value *workload, wharf_value *desired) {
    if (host->is(workload, SUSPEND, "true"))
        host->remove(call, desired, EARLIER);
    lower_deadline(call, workload, desired);
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    if (host->find(mirror, EARLIER) && host->find(workload, START) && host->find(object, START))
        host->take(call, object, workload, START);
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)mirror;
    keep_deadline(call, workload, desired);
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/runPolicy/suspend"},
    {.pointer = "/spec/runPolicy/activeDeadlineSeconds"},
    {.pointer = "/spec/runPolicy/backoffLimit"},
    {.pointer = "/spec/runPolicy/cleanPodPolicy"},
    {.pointer = REPLICAS "/replicas"},
    WHARF_CARRIED_POD_TEMPLATE(REPLICAS "/template", NULL),
    {.pointer = NULL},
};

#define JOB "MPIJob {namespace}/{name}"
static const wharf_status_change suspended[] = {
    {WHARF_SET_CONDITION, WHARF_IF_ABSENT, "Created", "True", "MPIJobCreated", JOB " is created."},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "True", "MPIJobSuspended", "MPIJob suspended"},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Running", "False", "MPIJobSuspended", JOB " is suspended."},
    {WHARF_REMOVE, .name = "/status/replicaStatuses/*/active"},
    {.name = NULL},
};

// It fails before anything of it ran.
static const wharf_status_change gave_up[] = {
    {WHARF_SET_CONDITION, WHARF_IF_TRUE, "Running", "False", "NoClusterAccepts", "{message}"},
    {WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/completionTime", "{now}", NULL, NULL},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"},
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Succeeded", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {CONDITIONS, "Restarting", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Running", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Created", .phase = WHARF_PENDING},
    {.pointer = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "kubeflow.org",
    .versions = (const char *const[]){"v2beta1", "v1", NULL},
    .kind = "MPIJob",
    .plural = "mpijobs",
    .managed_by = "/spec/runPolicy/managedBy",
    .managed_by_builtin = "kubeflow.org/mpi-operator",
    .managed_by_allowed = (const char *const[]){"kueue.x-k8s.io/multikueue", NULL},
    .suspend = "/spec/runPolicy/suspend",
    .carried = carried,
    .removed = (const char *const[]){"/spec/runPolicy/ttlSecondsAfterFinished", NULL},
    .pods = (const wharf_pods[]){{REPLICAS "/template", (const char *const[]){REPLICAS "/replicas", NULL}},
                                 {.templates = NULL}},
    .status_removed =
        (const char *const[]){"/status/replicaStatuses/*/selector", "/status/replicaStatuses/*/labelSelector", NULL},
    .condition_time = "lastUpdateTime",
    .suspended_status = suspended,
    .resumed_status = (const wharf_status_change[]){{WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "False",
                                                     "MPIJobResumed", "MPIJob resumed"},
                                                    {.name = NULL}},
    .gave_up_status = gave_up,
    .phases = phases,
    .finished_at = "/status/completionTime",
    .phase = phase,
    .mirror = mirror,
    .update = update,
    .status = status,
};

WHARF_MODULE(.name = "mpijob", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
