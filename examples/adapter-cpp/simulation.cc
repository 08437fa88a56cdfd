// SPDX-License-Identifier: Apache-2.0
// The adapter of ../adapter-c in C++20. No exception may leave a function of it: the host is C.
#include <wharf/adapter.h>

namespace {

const wharf_host *host;

// A simulation whose worker was lost continues where it was last seen, instead of from the start.
wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) noexcept {
    const auto steps = host->integer(host->find(workload, "/status/completedSteps"), 0);
    if (steps > 0)
        host->set_integer(call, mirror, "/spec/startAtStep", steps);
    return WHARF_OK;
}

constexpr const char *versions[] = {"v1", nullptr};
constexpr const char *removed[] = {"/spec/ttlSecondsAfterFinished", nullptr}; // the host deletes mirrors
constexpr const char *status_removed[] = {"/status/nodes", nullptr};          // nodes of the worker cluster
constexpr const char *counts[] = {"/spec/workers", nullptr};

constexpr wharf_carried carried[] = {{"/spec/suspend", nullptr, WHARF_CARRY_ALWAYS},
                                     {"/spec/workers", nullptr, WHARF_CARRY_ALWAYS},
                                     {"/spec/template", nullptr, WHARF_CARRY_WHILE_SUSPENDED},
                                     {}};
constexpr wharf_pods pods[] = {{"/spec/template", counts}, {}};

// A simulation without a mirror has no controller that would say that it is suspended.
constexpr wharf_status_change suspended[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "True", "SuspendedBeforeStart", "Suspended before it was placed"},
    {}};
constexpr wharf_status_change resumed[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "False", "Resumed", "Waits to be placed"}, {}};

constexpr wharf_phase_rule phases[] = {
    {"/status/conditions", "Complete", nullptr, nullptr, WHARF_SUCCEEDED, 0},
    {"/status/conditions", "Failed", nullptr, nullptr, WHARF_FAILED, 0},
    {"/status/conditions", "Suspended", nullptr, nullptr, WHARF_SUSPENDED, 0},
    {},
};

constexpr wharf_kind simulation = {
    WHARF_KIND_SIZES,
    .group = "batch.example.com",
    .versions = versions,
    .kind = "Simulation",
    .plural = "simulations",
    .flags = 0,
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "batch.example.com/simulation-controller",
    .managed_by_allowed = nullptr,
    .managed_by_default = nullptr,
    .suspend = "/spec/suspend",
    .suspend_value = nullptr,
    .carried = carried,
    .removed = removed,
    .pods = pods,
    .status_removed = status_removed,
    .observed_generation = "/status/observedGeneration",
    .condition_time = nullptr,
    .suspended_status = suspended,
    .resumed_status = resumed,
    .phases = phases,
    .finished_at = "/status/completionTime",
    .phase = nullptr,
    .accept = nullptr,
    .mirror = mirror,
    .update = nullptr,
    .status = nullptr,
    .pod_sets = nullptr,
    .gave_up_status = nullptr,
};

constexpr const wharf_kind *kinds[] = {&simulation, nullptr};

} // namespace

WHARF_MODULE(.name = "simulation", .version = "1.0.0", .kinds = kinds, .host = &host, .settings = nullptr,
             .start = nullptr);
