// SPDX-License-Identifier: Apache-2.0
// Built against a later minor version, whose structs have grown, and content with a host of 1.0.
#include <wharf/adapter.h>

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

static const char *const versions[] = {"v1", NULL};

static const struct {
    wharf_kind kind;
    void *later[4];
} kind = {.kind = {.size = sizeof(kind),
                   .group = "example.com",
                   .versions = versions,
                   .kind = "Larger",
                   .plural = "largers",
                   .managed_by = "/spec/managedBy",
                   .phase = phase}};

static const wharf_kind *const kinds[] = {&kind.kind, NULL};

static const struct {
    wharf_module module;
    uint64_t later[3];
} module = {.module = {.size = sizeof(module), .abi_major = 1, .name = "larger", .version = "2", .kinds = kinds}};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *host, const wharf_value *settings,
                                                   const char **problem) {
    (void)host;
    (void)settings;
    (void)problem;
    return &module.module;
}
