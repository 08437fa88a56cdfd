// SPDX-License-Identifier: Apache-2.0
// kubeflow.org MPIJob: v2beta1 of the MPI Operator, and v1 of the Training Operator, which has the same fields here.
#include <wharf/adapter.h>

#include <string.h>

static const wharf_host *host;

#define REPLICAS "/spec/mpiReplicaSpecs/*"
#define CONDITIONS "/status/conditions"

// In v2beta1 a job of which workers are evicted is called Failed while its launcher goes on, and may still succeed. It
// has failed once there is a completionTime.
static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    if (out->phase == WHARF_FAILED && strcmp(call->version, "v2beta1") == 0 &&
        !host->find(job, "/status/completionTime"))
        out->phase = WHARF_ACTIVE;
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
    .phases = phases,
    .finished_at = "/status/completionTime",
    .phase = phase,
};

WHARF_MODULE(.name = "mpijob", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
