// SPDX-License-Identifier: Apache-2.0
// Has no end of its rules: other data follows.
// finds: load start
// says: phases: entry 2 is no readable text, expected a list that ends with NULL
#include "tests/conformance/template.h"

static const struct {
    wharf_phase_rule rules[1];
    uintptr_t after[100];
} own = {{{"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED}}, {0x4141, 0x4141, 0x4141, 0x4141, 0x4141}};

#define PHASES own.rules
#include "tests/conformance/adapter.h"
