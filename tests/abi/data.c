// SPDX-License-Identifier: Apache-2.0
// An adapter that is all data, as small as ABI 1.0 allows: it includes nothing but the header. What follows each struct
// in memory is garbage, which a host that reads further than `size` would take for fields.
#include <wharf/adapter.h>

static const struct {
    wharf_kind kind;
    uint64_t garbage[8];
} small = {
    .kind = {WHARF_KIND_SIZES, .group = "data.example.com", .versions = (const char *const[]){"v1", NULL},
             .kind = "Datum", .plural = "data", .managed_by = "/spec/managedBy",
             .phases =
                 (const wharf_phase_rule[]){{"/status/state", "done", .phase = WHARF_SUCCEEDED}, {.pointer = NULL}}},
    .garbage = {1, 1, 1, 1, 1, 1, 1, 1},
};

extern const struct whole {
    wharf_module module;
    uint64_t garbage[8];
} whole;

const struct whole whole = {
    .module = {.size = sizeof(wharf_module),
               .abi_major = WHARF_ABI_MAJOR,
               .name = "data",
               .version = "1.0.0",
               .kinds = WHARF_KINDS(&small.kind)},
    .garbage = {1, 1, 1, 1, 1, 1, 1, 1},
};

extern const wharf_module wharf_module_v1 __attribute__((alias("whole")));
