// SPDX-License-Identifier: Apache-2.0
// An adapter for a kind of one's own: Simulation (batch.example.com/v1, crd.yaml). Nearly all of it is data.
#include <wharf/adapter.h>

static const wharf_host *host;

// A simulation whose worker was lost goes on where it was last seen, instead of from the start.
static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    (void)call;
    int64_t steps = host->integer(host->find(workload, "/status/completedSteps"), 0);
    if (steps <= 0)
        return WHARF_OK;
    return host->set_integer(mirror, "/spec/startAtStep", steps) ? WHARF_OK : WHARF_RETRY;
}

// One that is suspended before it was ever placed has no mirror whose controller would say so.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    int suspended = host->boolean(host->find(workload, "/spec/suspend"), 0);
    if (mirror || call->attempt > 0 || (!suspended && !host->condition(workload, "Suspended", NULL)))
        return WHARF_OK;
    int done = host->set_condition(call, status, "Suspended", suspended ? "True" : "False",
                                   suspended ? "SuspendedBeforeStart" : "Resumed",
                                   suspended ? "Suspended before it was placed" : "Waits to be placed");
    return done ? WHARF_OK : WHARF_RETRY;
}

static const wharf_kind simulation = {
    .size = sizeof simulation,
    .group = "batch.example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Simulation",
    .plural = "simulations",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "batch.example.com/simulation-controller",
    .suspend = "/spec/suspend",
    .carried = (const wharf_carried[]){{"/spec/suspend", WHARF_CARRY_ALWAYS, NULL},
                                       {"/spec/workers", WHARF_CARRY_ALWAYS, NULL},
                                       {"/spec/template", WHARF_CARRY_WHILE_SUSPENDED, NULL},
                                       {NULL, WHARF_CARRY_ALWAYS, NULL}},
    .removed = (const char *const[]){"/spec/ttlSecondsAfterFinished", NULL}, // the host deletes mirrors
    .pods = (const wharf_pods[]){{"/spec/template", {"/spec/workers", NULL, NULL}}, {NULL, {NULL, NULL, NULL}}},
    .status_removed = (const char *const[]){"/status/nodes", NULL}, // nodes of the worker cluster
    .observed_generation = "/status/observedGeneration",
    .phases = (const wharf_phase_rule[]){{"/status/conditions", "Complete", NULL, WHARF_SUCCEEDED},
                                         {"/status/conditions", "Failed", NULL, WHARF_FAILED},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .finished_at = "/status/completionTime",
    .mirror = mirror,
    .status = status,
};

WHARF_MODULE(host, "simulation", "1.0.0", &simulation)
