// SPDX-License-Identifier: Apache-2.0
// A small adapter in C++17, built by a C++ compiler with the public header alone.
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
    return host->set_string(mirror, "/metadata/annotations/example.com~1note", note) ? WHARF_OK : WHARF_RETRY;
}

wharf_kind make_kind() {
    static const char *const versions[] = {"v1", nullptr};
    static const char *const removed[] = {"/spec/ttl", nullptr};
    wharf_kind kind{};
    kind.size = sizeof kind;
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

} // namespace

extern "C" WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *services, const wharf_value *,
                                                              const char **problem) {
    if (!WHARF_HAS(wharf_host, services, log)) {
        *problem = "the host is too old";
        return nullptr;
    }
    host = services;
    static const wharf_kind kind = make_kind();
    static const wharf_kind *const kinds[] = {&kind, nullptr};
    static const wharf_module module = {sizeof(wharf_module), WHARF_ABI_MAJOR, 0, "widget", "1.0.0", kinds, nullptr};
    return &module;
}
