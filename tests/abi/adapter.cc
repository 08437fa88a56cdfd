// SPDX-License-Identifier: Apache-2.0
// A small adapter in C++17, built by a C++ compiler with the public header alone. C++17 has no designated initializers,
// so the kind and the module are filled by hand.
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

constexpr wharf_kind make_kind() {
    wharf_kind kind{};
    kind.size = sizeof kind;
    kind.carried_size = sizeof(wharf_carried);
    kind.pods_size = sizeof(wharf_pods);
    kind.phase_rule_size = sizeof(wharf_phase_rule);
    kind.status_change_size = sizeof(wharf_status_change);
    kind.group = "example.com";
    kind.versions = versions;
    kind.kind = "Widget";
    kind.plural = "widgets";
    kind.managed_by = "/spec/managedBy";
    kind.removed = removed;
    kind.phase = phase;
    kind.mirror = mirror;
    return kind;
}

constexpr wharf_kind kind = make_kind();
constexpr const wharf_kind *kinds[] = {&kind, nullptr};

} // namespace

const wharf_module wharf_module_v1 = {
    sizeof(wharf_module), WHARF_ABI_MAJOR, 0, "widget", "1.0.0", kinds, &host, nullptr, nullptr, nullptr};
