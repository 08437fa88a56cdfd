// SPDX-License-Identifier: Apache-2.0
// kubeflow.org MPIJob: v2beta1 of the MPI Operator, and v1 of the Training Operator, which has the same fields here.
#define ADAPTER "mpijob"
#include "run_policy.h"

#include <string.h>

#define REPLICAS "/spec/mpiReplicaSpecs/*"

// In v2beta1 the controller sets Failed when workers are evicted, although the launcher continues and may succeed. The
// job has failed only with a completionTime.
static wharf_result phase(const wharf_call *call, const wharf_value *job, wharf_phase *out) {
    if (out->phase == WHARF_FAILED && strcmp(call->version, "v2beta1") == 0 &&
        !host->string(host->find(job, COMPLETION)))
        out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)mirror;
    return carry_deadline(call, workload, desired);
}

static const wharf_carried carried[] = {CARRIED(REPLICAS), {.pointer = NULL}};

#define JOB "MPIJob {namespace}/{name}"
static const wharf_status_change suspended[] = {
    WHARF_CHANGE_CONDITION(WHARF_IF_ABSENT, "Created", "True", "MPIJobCreated", JOB " is created."),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "True", "MPIJobSuspended", "MPIJob suspended"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Running", "False", "MPIJobSuspended", JOB " is suspended."),
    WHARF_CHANGE_REMOVE("/status/replicaStatuses/*/active"),
    {.name = NULL},
};

static const wharf_status_change resumed[] = {
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Suspended", "False", "MPIJobResumed", "MPIJob resumed"),
    {.name = NULL},
};

static const wharf_kind kind = {
    WHARF_KIND_SIZES,   RUN_POLICY_KIND(REPLICAS),     .versions = STRINGS("v2beta1", "v1"),
    .kind = "MPIJob",   .plural = "mpijobs",           .managed_by_builtin = "kubeflow.org/mpi-operator",
    .carried = carried, .suspended_status = suspended, .resumed_status = resumed,
    .phase = phase,
};

WHARF_MODULE(.name = "mpijob", .version = "0.1.0", .kinds = WHARF_KINDS(&kind), .host = &host);
