// SPDX-License-Identifier: Apache-2.0
// An adapter that is all data, as small as ABI 1.0 allows: it includes nothing but the header. What follows each struct
// in memory is garbage, which a host that reads further than `size` would take for fields.
#include <wharf/adapter.h>

static const struct {
    wharf_kind kind;
    uint64_t garbage[8];
} small = {
    .kind = {.size = sizeof(wharf_kind),
             .group = "data.example.com",
             .versions = (const char *const[]){"v1", NULL},
             .kind = "Datum",
             .plural = "data",
             .managed_by = "/spec/managedBy",
             .phases = (const wharf_phase_rule[]){{"/status/state", "done", NULL, WHARF_SUCCEEDED},
                                                  {NULL, NULL, NULL, WHARF_PENDING}}},
    .garbage = {1, 1, 1, 1, 1, 1, 1, 1},
};

static const struct {
    wharf_module module;
    uint64_t garbage[8];
} whole = {
    .module = {.size = sizeof(wharf_module),
               .abi_major = WHARF_ABI_MAJOR,
               .name = "data",
               .version = "1.0.0",
               .kinds = (const wharf_kind *const[]){&small.kind, NULL}},
    .garbage = {1, 1, 1, 1, 1, 1, 1, 1},
};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *host, const wharf_value *settings,
                                                   const char **problem) {
    (void)host;
    (void)settings;
    (void)problem;
    return &whole.module;
}
