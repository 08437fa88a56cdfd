// SPDX-License-Identifier: Apache-2.0
// Counts its calls.
// finds: repeat phase, restart phase
#include "tests/conformance/template.h"

static char text[2] = "A";

PHASE_FUNCTION(phase) {
    text[0] = (char)('A' + (text[0] - 'A' + 1) % 26);
    out->reason = text;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
