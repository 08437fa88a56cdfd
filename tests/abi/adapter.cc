// SPDX-License-Identifier: Apache-2.0
// A small adapter in C++, built by C++ compilers with the public header alone, without a warning: in C++20 with the
// header's macros and designated initializers that leave fields out; in C++17, which has none, field by field.
#include <wharf/adapter.h>

#include <cstring>

namespace {

const wharf_host *host;

wharf_result phase(const wharf_call *, const wharf_value *object, wharf_phase *out) {
    const char *text = host->string(host->find(object, "/status/state"));
    if (!text)
        out->phase = WHARF_PENDING;
    else if (std::strcmp(text, "done") == 0)
        out->phase = WHARF_SUCCEEDED;
    else
        out->phase = WHARF_ACTIVE;
    out->reason = "Told";
    return WHARF_OK;
}

wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    const auto replicas = host->integer(host->find(workload, "/spec/replicas"), 1);
    const char *note = host->format(call, "%lld of %s", static_cast<long long>(replicas), call->version);
    host->set_string(call, mirror, "/metadata/annotations/example.com~1note", note);
    return WHARF_OK;
}

constexpr const char *versions[] = {"v1", nullptr};
constexpr const char *removed[] = {"/spec/ttl", nullptr};

constexpr const char *counts[] = {"/spec/replicas", nullptr};
constexpr wharf_carried carried[] = {WHARF_CARRIED_POD_TEMPLATE("/spec/template", nullptr), {}};

#if __cplusplus >= 202002L
constexpr wharf_pods pods[] = {{.templates = "/spec/template", .counts = counts}, {}};
constexpr wharf_phase_rule phases[] = {{.pointer = "/status/state", .value = "broken", .phase = WHARF_FAILED}, {}};
constexpr wharf_status_change suspended[] = {{.name = "Held", .value = "True"}, {}};
constexpr wharf_reference references[] = {
    {.name = "/spec/plan", .group = "example.com", .version = "v1", .resource = "plans", .kind = "Plan"}, {}};
constexpr wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "example.com",
    .versions = versions,
    .kind = "Widget",
    .plural = "widgets",
    .managed_by = "/spec/managedBy",
    .suspend = "/metadata/annotations/held",
    .carried = carried,
    .removed = removed,
    .pods = pods,
    .suspended_status = suspended,
    .phases = phases,
    .phase = phase,
    .mirror = mirror,
    WHARF_REFERENCES(references),
};
constexpr const wharf_kind *kinds[] = {&kind, nullptr};

} // namespace

WHARF_MODULE(.name = "widget", .version = "1.0.0", .kinds = kinds, .host = &host);
#else
constexpr wharf_pods pods[] = {{"/spec/template", counts}, {}};
constexpr wharf_phase_rule phases[] = {{"/status/state", "broken", nullptr, nullptr, WHARF_FAILED}, {}};
constexpr wharf_status_change suspended[] = {WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Held", "True", nullptr, nullptr),
                                             {}};
constexpr wharf_reference references[] = {{"/spec/plan", nullptr, "example.com", "v1", "plans", "Plan"}, {}};

constexpr wharf_kind make_kind() {
    wharf_kind kind = wharf_new_kind();
    kind.group = "example.com";
    kind.versions = versions;
    kind.kind = "Widget";
    kind.plural = "widgets";
    kind.managed_by = "/spec/managedBy";
    kind.suspend = "/metadata/annotations/held";
    kind.carried = carried;
    kind.removed = removed;
    kind.pods = pods;
    kind.suspended_status = suspended;
    kind.phases = phases;
    kind.phase = phase;
    kind.mirror = mirror;
    kind.references = references;
    return kind;
}

constexpr wharf_kind kind = make_kind();
constexpr const wharf_kind *kinds[] = {&kind, nullptr};

constexpr wharf_module make_module() {
    wharf_module module = wharf_new_module();
    module.name = "widget";
    module.version = "1.0.0";
    module.kinds = kinds;
    module.host = &host;
    return module;
}

} // namespace

const wharf_module wharf_module_v1 = make_module();
#endif
