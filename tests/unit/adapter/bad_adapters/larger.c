// SPDX-License-Identifier: Apache-2.0
// Built against a later minor version, whose structs have grown, and compatible with a host of 1.0.
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
    {{"/status/state", "Failed", .phase = WHARF_FAILED}, 1},
    {{.pointer = NULL}, 0},
};

static const struct {
    wharf_carried carried;
    uint64_t later[2];
} fields[] = {{{.pointer = "/spec/suspend"}, {1, 2}},
              {{.pointer = "/spec/jobs/*/replicas", .key = "title"}, {1, 2}},
              {{.pointer = NULL}, {0, 0}}};

static const struct {
    wharf_pods pods;
    const char *later;
} templates[] = {{{.templates = "/spec/jobs/*/template"}, "later"},
                 {{.templates = "/spec/head"}, "later"},
                 {{.templates = NULL}, NULL}};

static const struct {
    wharf_status_change change;
    const char *later;
} changes[] = {{{.change = WHARF_SET_TEXT, .name = "/status/state", .value = "held"}, "later"},
               {{.change = WHARF_SET_ZERO, .name = "/status/active"}, "later"},
               {{.name = NULL}, NULL}};

static const struct {
    wharf_kind kind;
    void *later[4];
} kind = {.kind = {.size = sizeof(kind),
                   .carried_size = sizeof(fields[0]),
                   .pods_size = sizeof(templates[0]),
                   .phase_rule_size = sizeof(struct later_rule),
                   .status_change_size = sizeof(changes[0]),
                   .group = "example.com",
                   .versions = (const char *const[]){"v1", NULL},
                   .kind = "Larger",
                   .plural = "largers",
                   .managed_by = "/spec/managedBy",
                   .suspend = "/spec/suspend",
                   .carried = &fields[0].carried,
                   .pods = &templates[0].pods,
                   .suspended_status = &changes[0].change,
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
