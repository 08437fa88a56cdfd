// SPDX-License-Identifier: Apache-2.0
// Built against a later minor version, whose structs have grown, and content with a host of 1.0.
#include <wharf/adapter.h>

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

// The members of lists have grown too.
struct later_rule {
    wharf_phase_rule rule;
    uint64_t later;
};

static const struct later_rule rules[] = {
    {{"/status/state", "done", .phase = WHARF_SUCCEEDED}, 1},
    {{"/status/state", "broken", .phase = WHARF_FAILED}, 1},
    {{.pointer = NULL}, 0},
};

static const struct {
    wharf_kind kind;
    void *later[4];
} kind = {.kind = {.size = sizeof(kind),
                   .phase_rule_size = sizeof(struct later_rule),
                   .group = "example.com",
                   .versions = (const char *const[]){"v1", NULL},
                   .kind = "Larger",
                   .plural = "largers",
                   .managed_by = "/spec/managedBy",
                   .phases = &rules[0].rule,
                   .phase = phase}};

extern const struct larger {
    wharf_module module;
    uint64_t later[3];
} larger_module;

const struct larger larger_module = {.module = {.size = sizeof(larger_module),
                                                .abi_major = 1,
                                                .name = "larger",
                                                .version = "2",
                                                .kinds = WHARF_KINDS(&kind.kind)}};

extern const wharf_module wharf_module_v1 __attribute__((alias("larger_module")));
