// SPDX-License-Identifier: Apache-2.0
// The second part of template.h: the kind, the module and the entry.
#include "tests/conformance/template.h"

#ifndef PHASE
#define PHASE NULL
#endif
#ifndef MIRROR
#define MIRROR NULL
#endif
#ifndef UPDATE
#define UPDATE NULL
#endif
#ifndef STATUS
#define STATUS NULL
#endif
#ifndef POD_SETS
#define POD_SETS NULL
#endif
#ifndef ENTRY_CODE
#define ENTRY_CODE
#endif
#ifndef PLURAL
#define PLURAL "things"
#endif
#ifndef CONSTANT
#define CONSTANT const
#endif

static const char *const versions[] = {"v1", NULL};
static const char *const removed[] = {"/spec/ttl", NULL};
static const wharf_carried carried[] = {{.pointer = "/spec/replicas"}, {.pointer = "/spec/suspend"}, {.pointer = NULL}};
static const wharf_pods pods[] = {{.templates = "/spec/template", .multiplier = {"/spec/replicas"}},
                                  {.templates = NULL}};
static const wharf_phase_rule phases[] = {
    {"/status/conditions", "Complete", NULL, WHARF_SUCCEEDED},
    {"/status/conditions", "Failed", NULL, WHARF_FAILED},
    {NULL, NULL, NULL, WHARF_PENDING},
};

static CONSTANT wharf_kind kind = {
    .size = sizeof(wharf_kind),
    .group = "example.com",
    .versions = versions,
    .kind = "Thing",
    .plural = PLURAL,
    .managed_by = "/spec/managedBy",
    .suspend = "/spec/suspend",
    .carried = carried,
    .removed = removed,
    .pods = pods,
    .observed_generation = "/status/observedGeneration",
    .phases = phases,
    .phase = PHASE,
    .mirror = MIRROR,
    .update = UPDATE,
    .status = STATUS,
    .pod_sets = POD_SETS,
};

static const wharf_kind *const kinds[] = {&kind, NULL};

static const wharf_module module = {
    .size = sizeof(wharf_module),
    .abi_major = WHARF_ABI_MAJOR,
    .abi_minor = WHARF_ABI_MINOR,
    .name = "thing",
    .version = "1.0.0",
    .kinds = kinds,
};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *from, UNUSED const wharf_value *settings,
                                                   UNUSED const char **problem) {
    host = from;
    ENTRY_CODE
    return &module;
}
