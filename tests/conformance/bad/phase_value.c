// SPDX-License-Identifier: Apache-2.0
// Knows a phase that there is not.
// finds: phase-value phase
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    out->phase = 9;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
