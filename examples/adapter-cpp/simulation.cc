// SPDX-License-Identifier: Apache-2.0
// The adapter of ../adapter-c in C++17. No exception may leave a function of it: the host is C.
#include <wharf/adapter.h>

namespace {

const wharf_host *host;

// A simulation whose worker was lost goes on where it was last seen, instead of from the start.
wharf_result mirror(const wharf_call *, const wharf_value *workload, wharf_value *mirror) noexcept {
    const auto steps = host->integer(host->find(workload, "/status/completedSteps"), 0);
    if (steps <= 0)
        return WHARF_OK;
    return host->set_integer(mirror, "/spec/startAtStep", steps) ? WHARF_OK : WHARF_RETRY;
}

// One that is suspended before it was ever placed has no mirror whose controller would say so.
wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                    wharf_value *status) noexcept {
    const bool suspended = host->boolean(host->find(workload, "/spec/suspend"), 0) != 0;
    if (mirror || call->attempt > 0 || (!suspended && !host->condition(workload, "Suspended", nullptr)))
        return WHARF_OK;
    const int done = suspended
                         ? host->set_condition(call, status, "Suspended", "True", "SuspendedBeforeStart",
                                               "Suspended before it was placed")
                         : host->set_condition(call, status, "Suspended", "False", "Resumed", "Waits to be placed");
    return done ? WHARF_OK : WHARF_RETRY;
}

constexpr const char *versions[] = {"v1", nullptr};
constexpr const char *removed[] = {"/spec/ttlSecondsAfterFinished", nullptr}; // the host deletes mirrors
constexpr const char *status_removed[] = {"/status/nodes", nullptr};          // nodes of the worker cluster

constexpr wharf_carried carried[] = {{"/spec/suspend", WHARF_CARRY_ALWAYS, nullptr},
                                     {"/spec/workers", WHARF_CARRY_ALWAYS, nullptr},
                                     {"/spec/template", WHARF_CARRY_WHILE_SUSPENDED, nullptr},
                                     {nullptr, WHARF_CARRY_ALWAYS, nullptr}};
constexpr wharf_pods pods[] = {{"/spec/template", {"/spec/workers", nullptr, nullptr}},
                               {nullptr, {nullptr, nullptr, nullptr}}};
constexpr wharf_phase_rule phases[] = {{"/status/conditions", "Complete", nullptr, WHARF_SUCCEEDED},
                                       {"/status/conditions", "Failed", nullptr, WHARF_FAILED},
                                       {nullptr, nullptr, nullptr, WHARF_PENDING}};

// C++17 has no designated initializers; what is not set here is zero.
constexpr wharf_kind make_kind() {
    wharf_kind kind{};
    kind.size = sizeof kind;
    kind.group = "batch.example.com";
    kind.versions = versions;
    kind.kind = "Simulation";
    kind.plural = "simulations";
    kind.managed_by = "/spec/managedBy";
    kind.managed_by_builtin = "batch.example.com/simulation-controller";
    kind.suspend = "/spec/suspend";
    kind.carried = carried;
    kind.removed = removed;
    kind.pods = pods;
    kind.status_removed = status_removed;
    kind.observed_generation = "/status/observedGeneration";
    kind.phases = phases;
    kind.finished_at = "/status/completionTime";
    kind.mirror = mirror;
    kind.status = status;
    return kind;
}

constexpr wharf_kind simulation = make_kind();
} // namespace

WHARF_MODULE(host, "simulation", "1.0.0", &simulation)
