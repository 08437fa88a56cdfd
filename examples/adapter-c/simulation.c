// SPDX-License-Identifier: Apache-2.0
// An adapter for an in-house kind: Simulation (batch.example.com/v1, crd.yaml). Nearly all of it is data.
#include <wharf/adapter.h>

static const wharf_host *host;

#define CONDITIONS "/status/conditions"

// A simulation whose worker was lost continues where it was last seen, instead of from the start.
static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t steps = host->integer(host->find(workload, "/status/completedSteps"), 0);
    if (steps > 0)
        host->set_integer(call, mirror, "/spec/startAtStep", steps);
    return WHARF_OK;
}

static const wharf_carried carried[] = {
    {.pointer = "/spec/suspend"},
    {.pointer = "/spec/workers"},
    {.pointer = "/spec/template", .when = WHARF_CARRY_WHILE_SUSPENDED},
    {.pointer = NULL},
};

static const wharf_pods pods[] = {
    {.templates = "/spec/template", .counts = (const char *const[]){"/spec/workers", NULL}},
    {.templates = NULL},
};

// A simulation without a mirror has no controller that would say that it is suspended.
static const wharf_status_change suspended[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "True", "SuspendedBeforeStart", "Suspended before it was placed"},
    {.name = NULL},
};
static const wharf_status_change resumed[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "False", "Resumed", "Waits to be placed"},
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Complete", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {.pointer = NULL},
};

static const wharf_kind simulation = {
    WHARF_KIND_SIZES,
    .group = "batch.example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Simulation",
    .plural = "simulations",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "batch.example.com/simulation-controller",
    .suspend = "/spec/suspend",
    .carried = carried,
    .removed = (const char *const[]){"/spec/ttlSecondsAfterFinished", NULL}, // the host deletes mirrors
    .pods = pods,
    .status_removed = (const char *const[]){"/status/nodes", NULL}, // nodes of the worker cluster
    .observed_generation = "/status/observedGeneration",
    .suspended_status = suspended,
    .resumed_status = resumed,
    .phases = phases,
    .finished_at = "/status/completionTime",
    .mirror = mirror,
};

WHARF_MODULE(.name = "simulation", .version = "1.0.0", .kinds = WHARF_KINDS(&simulation), .host = &host);
